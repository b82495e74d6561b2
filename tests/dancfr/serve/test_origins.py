"""Pages of other sites cannot play at a server of this machine; programs can."""

import asyncio
import socket

import aiohttp
import pytest

from dancfr.errors import UsageError
from dancfr.serve.geister import Client
from dancfr.serve.geister.hosted_game import GameRules
from dancfr.serve.geister.referee import DISCONNECTED, ILLEGAL
from dancfr.serve.guandan.hosted_table import TableRules
from dancfr.serve.guandan.server import ServerSettings, run_server
from dancfr.serve.origins import read_public_url
from tests.dancfr.serve.browser.pages import TOKEN, Pages, with_pages
from tests.dancfr.serve.geister.games import RULES, bot
from tests.dancfr.serve.geister.sockets import User, play_out, serving
from tests.dancfr.serve.guandan.servers import ROUND, THREE_AGENTS
from tests.dancfr.serve.in_process import serve_while

PUBLIC = "https://Games.example.org/cards/"

FOREIGN = (
    "null",
    "",
    "file://",
    "http://elsewhere.example",
    "http://127.0.0.1:9",  # another program of this machine
    "http://127.0.0.1",
    "chrome-extension://abcdef",
    "http://127.0.0.1:PORT@elsewhere.example",
    "http://127.0.0.1:PORT.elsewhere.example",
    "http://127.0.0.1:PORT/path",
)
"""Origins that are refused whatever the server; PORT is the one of the server."""


async def admitted(url: str, *origins: str, **more: str) -> bool:
    """Whether a WebSocket is opened by a page with these headers."""
    headers = [
        *(("Origin", origin) for origin in origins),
        *((key.replace("_", "-"), each) for key, each in more.items()),
    ]
    async with aiohttp.ClientSession() as session:
        try:
            connection = await session.ws_connect(url, headers=headers)
        except aiohttp.WSServerHandshakeError as error:
            if error.status == 403:
                return False
            raise
        await connection.close()
    return True


async def check_common(url: str, port: int) -> None:
    """Checks that hold for every server."""
    assert await admitted(url), "a program"
    assert await admitted(url, f"http://127.0.0.1:{port}"), "a program that names the server as its origin"
    assert await admitted(url, f"http://localhost:{port}", Host=f"localhost:{port}")
    assert await admitted(url, f"https://[::1]:{port}", Host=f"[::1]:{port}")
    for origin in FOREIGN:
        assert not await admitted(url, origin.replace("PORT", str(port))), origin
        assert not await admitted(url, origin, X_Forwarded_Host=f"127.0.0.1:{port}"), origin
    assert not await admitted(url, f"http://127.0.0.1:{port}", "http://elsewhere.example")
    assert not await admitted(url, "null", Host="")


GAME = "https://games.example.org/game"
"""A public address whose path is also one of the servers' own."""


def test_the_path_game_may_be_public_for_guandan() -> None:
    async def use(url: str, stop: asyncio.Event) -> None:
        for seat in (f"{url}me", f"{url}game/me"):  # of a proxy that strips the path, and of one that keeps it
            assert await admitted(seat, "https://games.example.org")

    settings = ServerSettings(port=0, public=read_public_url(GAME))
    rules = TableRules(ROUND, clock=20.0)
    serve_while(use, lambda stop, tell: run_server(settings, rules, THREE_AGENTS, stop, tell), ends_by_itself=False)


def test_the_path_game_may_be_public_for_the_browser() -> None:
    async def use(pages: Pages) -> None:
        found = []
        for path in ("/main.js", "/game/leduc.js", "/game/rules.html"):
            for asked in (path, f"/game{path}"):  # of a proxy that strips the path, and of one that keeps it
                async with pages.session.get(f"{pages.address}{asked}") as answer:
                    found.append((answer.status, await answer.text()))
        assert found[0::2] == found[1::2]
        assert {status for status, _ in found} == {200}
        assert len(set(found)) == 3

    with_pages(use, server={"public": read_public_url(GAME)})


def test_foreign_pages_cannot_play_guandan() -> None:
    """A host name other than this machine's may have been made to point here."""

    async def use(url: str, stop: asyncio.Event) -> None:
        port, seat = int(url.split(":")[2].split("/")[0]), f"{url}me"
        await check_common(seat, port)
        rebound = f"elsewhere.example:{port}"
        assert not await admitted(seat, f"http://{rebound}", Host=rebound)
        assert not await admitted(seat, f"http://{rebound}", X_Forwarded_Host=rebound)
        assert await admitted(seat, f"http://{socket.gethostname()}:{port}", Host=f"{socket.gethostname()}:{port}")
        assert await admitted(seat, "https://games.example.org")
        assert await admitted(seat.replace("/game/", "/cards/game/"), "https://games.example.org")
        assert not await admitted(seat, "http://games.example.org")

    settings = ServerSettings(port=0, public=read_public_url(PUBLIC))
    rules = TableRules(ROUND, clock=20.0)
    serve_while(use, lambda stop, tell: run_server(settings, rules, THREE_AGENTS, stop, tell), ends_by_itself=False)


@pytest.mark.parametrize("public", [None, PUBLIC])
def test_foreign_pages_cannot_play_in_the_browser(public: str | None) -> None:
    """Here a token guards against names that were made to point to this machine, so that a proxy may have any name."""

    async def use(pages: Pages) -> None:
        port, play = int(pages.address.split(":")[2]), f"{pages.address}/play?token={TOKEN}"
        await check_common(play, port)
        assert await admitted(play, "https://some.example.org", X_Forwarded_Host="some.example.org:443")
        assert await admitted(play, "https://some.example.org:8443", X_Forwarded_Host="x, SOME.example.org:8443")
        assert await admitted(play, f"http://localhost:{port}", Host="some.example.org"), "as a proxy may write it"
        assert await admitted(play, "https://games.example.org") == (public is not None)
        for rebound in (f"elsewhere.example:{port}", "games.example.org"):
            for wrong in (pages.address + "/play", play + "x"):
                assert not await admitted(wrong, f"http://{rebound}", Host=rebound)
        for asked, status in (("https://elsewhere.example", 403), (pages.address, 200)):
            async with pages.session.get(f"{pages.address}/?token={TOKEN}&origin={asked}") as answer:
                assert answer.status == status, "a page may ask why its WebSocket was refused"
                assert ("--public-url" in await answer.text()) == (status == 403)

    with_pages(use, server={"public": read_public_url(public)})


@pytest.mark.parametrize(
    "text", ["games.example.org", "ftp://x", "http://", "https://x?y=1", "https://a@x/", "https://x#y", ""]
)
def test_a_public_url_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--public-url"):
        read_public_url(text)


def test_a_browser_that_meets_an_agent_of_geister_ends_no_game() -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        user = await User.come(ports[0])
        user.send(REQUESTS[0])
        await user.rest()
        player = await User.seated(ports[0])
        await player.asked()
        player.say("MOV:A,N")
        assert await player.hear() == "OK "
        await player.asked()
        await player.go()

    (record,) = serving(use, agents=(None, ("rush", Client(bot("rush"), RULES))), games=1)
    assert (record.game, record.plies, record.ending) == (1, 2, DISCONNECTED)


REQUESTS = (
    b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nSET:ABCD\r\nMOV:A,N\r\n",
    b"GET /" + 200 * b"a" + b" HTTP/1.1\r\n\r\n",
    b"\x16\x03\x01" + 200 * b"\x00",
)


@pytest.mark.parametrize("request_", REQUESTS, ids=["short", "long", "TLS"])
def test_a_browser_takes_no_seat_at_geister(request_: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    """Whether it comes first or second: the player who is there keeps the seat, and plays whoever comes next."""

    async def browse(port: int) -> None:
        user = await User.come(port)
        user.send(request_)
        assert set(await user.rest()) <= {"SET?"}

    async def use(ports: list[int], stop: asyncio.Event) -> None:
        await browse(ports[0])
        first = await User.seated(ports[0])
        await browse(ports[1])
        second = await User.seated(ports[1], "EFGH")
        await first.asked()
        await second.go()
        assert [line[:4] for line in await first.rest()] == ["WON:"]
        await play_out(ports)

    records = serving(use, games=2)
    assert [(record.game, record.winner) for record in records] == [(1, 0), (2, 0)]
    assert records[1].ending == ILLEGAL
    assert capfd.readouterr().err.count("turned away") == 2


def test_a_browser_takes_no_time_from_players_of_geister() -> None:
    """A browser may open a connection long before it sends a request."""

    async def use(ports: list[int], stop: asyncio.Event) -> None:
        first, browser = await User.come(ports[0]), await User.come(ports[1])
        await asyncio.sleep(1.0)
        browser.send(REQUESTS[0])
        await browser.rest()
        await (await User.seated(ports[1])).go()
        await first.rest()

    (record,) = serving(use, rules=GameRules(reserve=2.0, per_answer=60.0), games=1)
    assert record.ending == DISCONNECTED
    assert min(record.reserves) > 1.0
