"""Files that the server of pages serves, and requests that it refuses."""

import asyncio
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from dancfr.errors import UsageError
from dancfr.games.registry import GAMES, all_games, make_game
from dancfr.serve.browser.displays import page_of
from dancfr.serve.browser.rules_page import rules_page
from dancfr.serve.browser.server import PAGE
from tests.dancfr.serve.browser.pages import LIMIT_S, TOKEN, Pages, with_pages

GAME_PAGES = {name: record.page.parent for name, record in GAMES.items() if record.page is not None}


def test_requests_that_are_no_http_are_refused_in_silence(capfd: pytest.CaptureFixture[str]) -> None:
    async def use(pages: Pages) -> None:
        host, port = pages.address.removeprefix("http://").split(":")
        for request in (b"\0\1\2\r\n\r\n", b"GET /" + 9000 * b"a" + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(request)
            assert b" 400 " in await asyncio.wait_for(reader.readline(), LIMIT_S)
            writer.close()
        assert (await pages.open()).received[0]["type"] == "hello"

    with_pages(use)
    assert capfd.readouterr().err == ""


def test_the_page_needs_its_token_and_origin() -> None:
    async def use(pages: Pages) -> None:
        for query in ("", "?token=", "?token=wrong", f"?token={TOKEN}x"):
            async with pages.session.get(f"{pages.address}/{query}") as answer:
                assert answer.status == 403
                assert "the address lacks the right token" in await answer.text()
            with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                await pages.session.ws_connect(f"{pages.address}/play{query}")
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await pages.open(origin="http://elsewhere.example")
        await pages.open(origin=pages.address)
        async with pages.session.get(f"{pages.address}/?token={TOKEN}") as answer:
            assert (answer.status, answer.content_type) == (200, "text/html")
            assert "default-src 'self'" in answer.headers["Content-Security-Policy"]

    with_pages(use)


def test_a_page_learns_why_its_socket_was_refused() -> None:
    """Browsers do not tell it, so the page asks by its origin."""

    async def use(pages: Pages) -> None:
        question = f"{pages.address}/?token={TOKEN}&origin="
        async with pages.session.get(f"{question}{pages.address}") as answer:
            assert answer.status == 200
        async with pages.session.get(f"{question}http://elsewhere.example") as answer:
            assert (answer.status, "must not play here" in await answer.text()) == (403, True)
        clients = [await pages.open() for _ in range(2)]
        async with pages.session.get(f"{question}{pages.address}") as answer:
            assert (answer.status, await answer.text()) == (503, "dancfr: 2 pages are open: close one\n")
        async with pages.session.get(f"{pages.address}/?token={TOKEN}") as answer:
            assert answer.status == 200
        assert not any(client.socket.closed for client in clients)

    with_pages(use, server={"pages": 2})


def test_only_files_of_the_page_are_served() -> None:
    async def use(pages: Pages) -> None:
        for prefix, folder in (("", PAGE), ("game/", GAME_PAGES["leduc"])):
            for file in folder.iterdir():
                async with pages.session.get(f"{pages.address}/{prefix}{file.name}") as answer:
                    assert (answer.status, await answer.read()) == (200, file.read_bytes())
        outside = ("none.js", "..%2fserver.py", "%2e%2e/room.py", "../../errors.py", "page/main.js", ".", "%00")
        for path in (*outside, "game", "game/", "game/none.js", "game/..%2fgame.py", "game/%2e%2e/__init__.py"):
            async with pages.session.get(f"{pages.address}/{path}") as answer:
                assert answer.status in (403, 404), path

    with_pages(use)


def test_game_without_a_page_gets_the_general_one() -> None:
    async def use(pages: Pages) -> None:
        page = await pages.open()
        assert page.received[0]["page"] == "general.js"
        async with pages.session.get(f"{pages.address}/game/leduc.js") as answer:
            assert answer.status == 404

    with_pages(use, game="pettingzoo:pettingzoo.classic.tictactoe_v3")


@pytest.mark.parametrize("game", ["leduc", "phantom_ttt_abrupt"])
def test_page_leads_to_the_rules_of_its_game(game: str) -> None:
    async def use(pages: Pages) -> None:
        rules = (await pages.open()).received[0]["rules"]
        async with pages.session.get(f"{pages.address}/{rules}") as answer:
            assert (answer.status, answer.content_type) == (200, "text/html")
            folder = all_games()[game].page
            assert folder is not None
            assert await answer.text() == rules_page(folder.parents[1] / "README.md")
        async with pages.session.get(f"{pages.address}/game/{folder.name}") as other:
            for name in ("Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "Cache-Control"):
                assert answer.headers[name] == other.headers[name]

    with_pages(use, game=game)


def test_game_of_another_package_has_no_rules() -> None:
    async def use(pages: Pages) -> None:
        assert (await pages.open()).received[0]["rules"] is None
        async with pages.session.get(f"{pages.address}/game/rules.html") as answer:
            assert answer.status == 404

    with_pages(use, game="pettingzoo:classic/tictactoe-v3")


def test_page_that_does_not_exist_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kuhn = replace(all_games()["kuhn"], page=tmp_path / "kuhn.js")
    monkeypatch.setitem(all_games(), "kuhn", kuhn)
    with pytest.raises(UsageError, match=r"the page of kuhn, .*kuhn\.js, does not exist"):
        page_of(make_game("kuhn"))


@pytest.mark.parametrize("page", ["frame", *GAME_PAGES])
def test_all_files_of_a_page_are_small_and_fetch_nothing(page: str) -> None:
    files = sorted((GAME_PAGES | {"frame": PAGE})[page].iterdir())
    assert sum(file.stat().st_size for file in files) < 50_000
    for file in files:
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text.replace("${", ""), file
        assert "https://" not in text, file
