"""The GuanDan server with real sockets: users who play, drop, flood or stay silent."""

import asyncio
import json
import re
import socket
import threading
import time
from contextlib import suppress
from typing import Any

import pytest
from aiohttp import ClientSession, web

from dancfr.errors import RunError, UsageError
from dancfr.serve.guandan import Client
from dancfr.serve.guandan.connect import GuanDanResult
from dancfr.serve.guandan.hosted_table import TableRules
from dancfr.serve.guandan.lobby import MakeClient
from dancfr.serve.guandan.server import ServerSettings, run_server, user_of
from dancfr.serve.web import WebServer
from dancfr.serve.websocket import BREACH, DONE, FAILED, GOING_AWAY, MAX_UNREADABLE, NAME_TAKEN, NO_SEAT, WebSocketLink
from tests.dancfr.serve.guandan.conversations import RandomPlayer
from tests.dancfr.serve.guandan.servers import ROUND, USERS, closing, connect, ours, play, request_of, serving

PASS = '{"actIndex":0}'


def test_four_users_play_matches_and_get_the_result() -> None:
    results: list[GuanDanResult] = []

    async def use(url: str, stop: asyncio.Event) -> None:
        joining = []
        for seat in range(4):
            joining.append(asyncio.ensure_future(play(url, f"user{seat}", seat)))
            await asyncio.sleep(0.05)
        results.extend(await asyncio.gather(*joining))

    (record,) = serving(use, USERS, matches=3, tables=1)
    assert record.status == "finished"
    assert record.names == ["user0", "user1", "user2", "user3"]
    assert record.matches == 3
    assert [result.seat for result in results] == [0, 1, 2, 3], "seats in the order of coming"
    assert all(result.status == "finished" and result.victories == record.victories for result in results)
    assert record.victories[:2] == record.victories[2:]
    assert sum(record.victories) == 6
    assert sum(result.decisions for result in results) == record.decisions
    assert record.timeouts == [0] * 4


def test_the_scheme_of_an_address_may_be_in_capitals() -> None:
    async def use(url: str, stop: asyncio.Event) -> None:
        assert (await play(url.replace("ws:", "WS:"), "me")).status == "finished"

    assert [record.status for record in serving(use, tables=1)] == ["finished"]


def test_several_tables_at_once_are_filled_in_order() -> None:
    async def use(url: str, stop: asyncio.Event) -> None:
        joining = []
        for seat in range(8):
            joining.append(asyncio.ensure_future(play(url, f"user{seat}", seat)))
            await asyncio.sleep(0.02)
        await asyncio.gather(*joining)

    first, second = serving(use, USERS, tables=2)
    assert (first.table, second.table) == (1, 2)
    assert first.names == ["user0", "user1", "user2", "user3"]
    assert second.names == ["user4", "user5", "user6", "user7"]
    assert first.status == second.status == "finished"


def test_a_user_who_reconnects_gets_the_round_and_the_request_again() -> None:
    async def use(url: str, stop: asyncio.Event) -> None:
        for _ in range(6):
            async with connect(f"{url}me") as connection:
                received = []
                while True:
                    message = await connection.receive_json()
                    received.append(message)
                    if message["type"] == "act":
                        break
                assert received[0]["stage"] == "beginning"
                played = [m for m in received if m["stage"] == "play" and m["type"] == "notify" and m["curPos"] == 0]
                gone = [card for m in played if m["curAction"][0] != "PASS" for card in m["curAction"][2]]
                if not any(m["stage"] in ("tribute", "back") for m in received):
                    assert sorted(gone + message["handCards"]) == sorted(received[0]["handCards"])
                assert message["handCards"] == received[-1]["handCards"]
                if _ % 2:
                    await connection.send_str(json.dumps({"actIndex": message["indexRange"]}))
                    await connection.receive()
        assert (await play(url, "me")).status == "finished"

    (record,) = serving(use, tables=1)
    assert (record.status, record.timeouts) == ("finished", [0] * 4)


def test_a_silent_user_runs_out_of_time(capfd: pytest.CaptureFixture[str]) -> None:
    async def use(url: str, stop: asyncio.Event) -> None:
        async with connect(f"{url}silent") as connection:
            assert (await closing(connection))[0] == DONE

    (record,) = serving(use, clock=0.05, tables=1)
    assert record.status == "finished"
    assert record.timeouts[0] > 10
    assert record.timeouts[1:] == [0] * 3
    assert re.search(r"silent .*1 in all", capfd.readouterr().err)


def test_a_disconnected_user_is_waited_for_once_while_another_plays() -> None:
    async def use(url: str, stop: asyncio.Event) -> None:
        async with connect(f"{url}gone"):
            playing = asyncio.ensure_future(play(url, "stays"))
            await asyncio.sleep(0.2)
        assert (await playing).status == "finished"

    agents: list[tuple[str, MakeClient] | None] = [None, ("random", ours), None, ("random", ours)]
    (record,) = serving(use, agents, clock=0.5, tables=1)
    assert record.names == ["gone", "random", "stays", "random"]
    assert record.timeouts[0] > 5
    assert record.seconds < 10


def test_a_table_without_users_is_closed_and_others_go_on(capfd: pytest.CaptureFixture[str]) -> None:
    async def use(url: str, stop: asyncio.Event) -> None:
        async with connect(f"{url}first") as connection:
            await request_of(connection)
        assert (await play(url, "second")).status == "finished"
        await asyncio.sleep(0.3)

    first, second = serving(use, clock=0.2, tables=2)
    assert (first.status, second.status) == ("abandoned", "finished")
    assert "table 1: no user is left" in capfd.readouterr().err


def test_a_table_whose_agent_cannot_be_made_lets_its_user_go(capfd: pytest.CaptureFixture[str]) -> None:
    made: list[int] = []

    def fails_once(table: int, seat: int) -> Client:
        made.append(seat)
        if len(made) == 1:
            raise RuntimeError("its files are gone")
        return ours(table, seat)

    async def use(url: str, stop: asyncio.Event) -> None:
        async with connect(f"{url}bob") as connection:
            assert await closing(connection) == (FAILED, "the table has failed")
        assert (await play(url, "bob")).status == "finished"

    (record,) = serving(use, [None, *[("random", fails_once)] * 3], tables=1)
    assert (record.table, record.status) == (1, "finished")
    assert "table 1 cannot start: RuntimeError: its files are gone" in capfd.readouterr().err


@pytest.mark.parametrize("index", [10**6, -1, 2**70, "10", 1.0, True, None])
def test_wrong_answers_are_ignored_and_the_request_stays_open(index: object) -> None:
    async def use(url: str, stop: asyncio.Event) -> None:
        async with connect(f"{url}me") as connection:
            request = await request_of(connection)
            for text in (json.dumps({"actIndex": index}), "{}", "[1]", '{"actIndex":'):
                await connection.send_str(text)
            await connection.send_bytes(b"\xff")
            await connection.send_str(json.dumps({"actIndex": request["indexRange"], "more": 1}))
            message = await connection.receive_json()
            assert message["type"] == "notify"
            if message["stage"] == "play":
                assert message["curPos"] == 0
                assert message["curAction"] == request["actionList"][-1]

    (record,) = serving(use)
    assert record.status == "stopped"


@pytest.mark.parametrize(
    ("messages", "code", "reason"),
    [
        (["x"] * MAX_UNREADABLE, BREACH, f"{MAX_UNREADABLE} messages that are not answers"),
        (['{"actIndex": 99999}'] * 100, BREACH, "more than 20 messages a second"),
        (["[" * 5000], 1009, ""),
        ([b"\x00" * 100_000], 1009, ""),
    ],
    ids=["garbage", "flood", "long", "huge"],
)
def test_limits_close_the_connection_and_not_the_table(messages: list[str | bytes], code: int, reason: str) -> None:
    async def use(url: str, stop: asyncio.Event) -> None:
        async with connect(f"{url}me") as connection:
            await request_of(connection)
            with suppress(ConnectionError):
                for message in messages:
                    await (connection.send_str if isinstance(message, str) else connection.send_bytes)(message)
            got, why = await closing(connection)
            assert got == code
            assert why.startswith(reason)
        assert (await play(url, "me")).status == "finished", "the seat is still there"

    (record,) = serving(use, tables=1)
    assert record.status == "finished"


def test_a_user_who_does_not_read_is_disconnected_and_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dancfr.serve.websocket.CLOSE_S", 0.3)

    async def run() -> WebSocketLink:
        links: list[WebSocketLink] = []
        ended = asyncio.Event()
        server = WebServer("127.0.0.1", 0)

        async def use(link: WebSocketLink) -> None:
            links.append(link)
            started = time.monotonic()
            for _ in range(40):
                link.send("x" * 2**20)
                await asyncio.sleep(0)
            assert time.monotonic() - started < 1, "sending waits for no client"
            await link.run(lambda message: None)
            await link.finish()
            ended.set()

        async def handle(request: web.Request) -> web.StreamResponse:
            return await server.serve_socket(request, use, 20, 20, 100, 100)

        server.route("/game/lazy", handle)
        async with server.listening() as port:
            with socket.socket() as lazy:
                lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                lazy.connect(("127.0.0.1", port))
                lazy.sendall(
                    b"GET /game/lazy HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
                )
                await asyncio.wait_for(ended.wait(), 10)
        return links[0]

    assert asyncio.run(run()).breach == "reads too slowly"


def test_the_name_of_a_connected_user_is_refused() -> None:
    async def use(url: str, stop: asyncio.Event) -> None:
        async with connect(f"{url}me") as first:
            await request_of(first)
            async with connect(f"{url}me") as second:
                assert (await closing(second))[0] == NAME_TAKEN
            with pytest.raises(RunError, match="me is connected already"):
                await play(url, "me")
            await first.send_str(PASS)
            await first.receive()

    assert serving(use)[0].decisions > 0


def test_a_seat_left_before_the_table_is_full_is_free_again() -> None:
    async def use(url: str, stop: asyncio.Event) -> None:
        async with connect(f"{url}early"):
            await asyncio.sleep(0.1)
        playing = []
        for name in "abcd":
            playing.append(asyncio.ensure_future(play(url, name)))
            await asyncio.sleep(0.02)
        await asyncio.gather(*playing)

    (record,) = serving(use, USERS, tables=1)
    assert record.names == ["a", "b", "c", "d"]


def test_no_user_is_seated_after_the_last_table() -> None:
    async def use(url: str, stop: asyncio.Event) -> None:
        async with connect(f"{url}one") as one:
            await request_of(one)
            async with connect(f"{url}two") as two:
                assert (await closing(two))[0] == NO_SEAT
        with pytest.raises(RunError, match="no further table"):
            await play(url, "two")

    assert len(serving(use, clock=0.2, tables=1)) == 1


@pytest.mark.parametrize("error", [ZeroDivisionError, StopIteration])
def test_an_agent_that_fails_ends_its_own_table_only(error: type[Exception], capfd: pytest.CaptureFixture[str]) -> None:
    class Failing(RandomPlayer):
        def act(self, *arguments: Any) -> Any:
            raise error("nothing left")

    def make(table: int, seat: int) -> Client:
        return Client(Failing() if table == 1 else RandomPlayer())

    async def use(url: str, stop: asyncio.Event) -> None:
        with pytest.raises(RunError, match="the table has failed"):
            await play(url, "first")
        assert (await play(url, "second")).status == "finished"

    first, second = serving(use, [None, ("failing", make), ("random", ours), ("random", ours)], tables=2)
    assert (first.status, second.status) == ("failed", "finished")
    assert re.search(f"table 1 failed .*{error.__name__}: nothing left", capfd.readouterr().err)


def test_an_agent_that_thinks_takes_no_time_from_users_at_other_tables() -> None:
    thinking, released, thought = threading.Event(), threading.Event(), threading.Event()

    class Slow(RandomPlayer):
        def act(self, *arguments: Any) -> Any:
            thinking.set()
            released.wait(30)  # a server that waits for the agent continues after this time
            thought.set()
            released.set()
            return super().act(*arguments)

    def make(table: int, seat: int) -> Client:
        return Client(Slow()) if table == 2 else ours(table, seat)

    async def use(url: str, stop: asyncio.Event) -> None:
        try:
            async with connect(f"{url}bob") as connection:
                request = await request_of(connection)
                other = asyncio.ensure_future(play(url, "ann"))
                assert await asyncio.to_thread(thinking.wait, 30)
                await connection.send_str(json.dumps({"actIndex": request["indexRange"]}))
                assert (await connection.receive_json())["type"] == "notify"
                stop.set()
                assert (await other).status == "ended"
                assert not thought.is_set(), "neither a user nor the end waits for the agent"
        finally:
            released.set()

    records = serving(use, [None, *[("slow", make)] * 3])
    assert [(record.status, record.timeouts) for record in records] == [("stopped", [0] * 4)] * 2


def test_all_users_learn_of_the_end_of_the_server() -> None:
    async def use(url: str, stop: asyncio.Event) -> None:
        playing = asyncio.ensure_future(play(url, "me"))
        async with connect(f"{url}watching") as connection:
            await asyncio.sleep(0.3)
            stop.set()
            code, _ = await closing(connection)
            assert code == GOING_AWAY
        result = await playing
        assert result.status in ("ended", "finished")

    assert {record.status for record in serving(use, matches=1000)} == {"stopped"}


@pytest.mark.parametrize(
    "path", ["", "game/", "game/%20", "game/a/b", "play/me", "game/" + "x" * 65, "game/a%00", "game/a%0Ab"]
)
def test_other_paths_are_refused_before_a_connection_is_made(path: str) -> None:
    async def use(url: str, stop: asyncio.Event) -> None:
        async with ClientSession() as session, session.get(f"http{url[2:].removesuffix('game/')}{path}") as response:
            assert response.status == 404
            assert "connect to /game/NAME" in await response.text()

    assert serving(use) == []


def test_names_of_users() -> None:
    assert user_of("/game/client1") == "client1"
    assert user_of("/game/client1/?x=1") == "client1"
    assert user_of("/game/%E6%8E%BC%E8%9B%8B") == "掼蛋"
    assert user_of("/game/" + "x" * 64) == "x" * 64


def test_other_protocols_are_closed_silently(capfd: pytest.CaptureFixture[str]) -> None:
    async def use(url: str, stop: asyncio.Event) -> None:
        host, port = url.removeprefix("ws://").removesuffix("/game/").split(":")
        for bad in (b"\x00" * 50 + b"\r\n\r\n", b"GET /game/me HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /" + b"x" * 20_000):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(bad)
            with suppress(ConnectionError):
                await asyncio.wait_for(reader.read(), 10)
            writer.close()
        assert (await play(url, "me")).status == "finished"

    assert [record.status for record in serving(use, tables=1)] == ["finished"]
    assert "Traceback" not in capfd.readouterr().err


def test_an_address_that_cannot_be_used_is_named() -> None:
    async def listen(host: str, port: int) -> None:
        await run_server(ServerSettings(host, port), TableRules(ROUND), USERS, asyncio.Event())

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} of 127.0.0.1 is in use"):
            asyncio.run(listen("127.0.0.1", port))
    with pytest.raises(UsageError, match=r"--host 192\.0\.2\.1"):
        asyncio.run(listen("192.0.2.1", 0))
    with pytest.raises(UsageError, match=r"--host nowhere\.invalid"):
        asyncio.run(listen("nowhere.invalid", 0))
