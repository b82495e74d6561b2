"""The GuanDan client at servers that end, drop connections, or speak another protocol."""

import asyncio
import http
import socket
import ssl
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from dancfr.errors import RunError, UsageError
from dancfr.serve.guandan import Client
from dancfr.serve.guandan.connect import GuanDanResult, check_url, describe_failure, play_at
from tests.dancfr.serve.guandan.conversations import RandomPlayer
from tests.dancfr.serve.guandan.servers import serving


def play_until_end(url: str, patience: float = 0.5) -> Coroutine[Any, Any, GuanDanResult]:
    return play_at(url, Client(RandomPlayer()), patience, asyncio.Event())


def test_no_server_a_mute_one_and_one_of_another_kind() -> None:
    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example ESMTP\r\n")
        await writer.drain()
        writer.close()

    async def run() -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with pytest.raises(RunError, match="`dancfr serve guandan`"):
            await play_until_end(f"ws://127.0.0.1:{port}/game/me")
        server = await asyncio.start_server(other, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(RunError, match="no WebSocket server"):
            await play_until_end(f"ws://127.0.0.1:{port}/game/me")
        server.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    "url",
    [
        "",
        "me",
        "http://x/game/me",
        "ws://",
        "ws://x:99999/",
        "ws://x:y/",
        "ws://:1/game/me",
        "ws://a..b/",
        "ws://x/#me",
    ],
)
def test_a_malformed_address_is_wrong_use(url: str) -> None:
    with pytest.raises(UsageError, match="--url"):
        check_url(url)


def test_a_wrong_path_or_host_or_tls_is_wrong_use_and_says_what_to_write() -> None:
    async def use(url: str, stop: asyncio.Event) -> None:
        server = url.removesuffix("/game/")
        for wrong, says in (
            (f"{server}/gane/me", r".* /gane/me \(HTTP 404, .*\): write ws://HOST:PORT/game/NAME"),
            (server, r".* / \(HTTP 404, .*\): write ws://HOST:PORT/game/NAME"),
            (f"{server.replace('ws:', 'wss:')}/game/me", r".* write ws:// in place of wss://"),
            ("ws://nowhere.invalid/game/me", r".* nowhere.invalid \([^()]+\): .*"),
        ):
            with pytest.raises(UsageError, match=rf"^--url '{wrong}': {says}$") as caught:
                await play_until_end(wrong)
            assert "\n" not in str(caught.value)

    assert serving(use) == []


def test_a_busy_server_and_a_certificate_are_no_wrong_use() -> None:
    async def busy(connection: ServerConnection, request: Request) -> Response:
        return connection.respond(http.HTTPStatus.SERVICE_UNAVAILABLE, "all tables\nare taken\n")

    async def unused(connection: ServerConnection) -> None:
        raise AssertionError("nobody gets so far")

    async def run() -> None:
        async with serve(unused, "127.0.0.1", 0, process_request=busy) as server:
            url = f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/game/me"
            with pytest.raises(RunError, match=r"HTTP 503, all tables are taken; try again later$"):
                await play_until_end(url)

    asyncio.run(run())
    untrusted = ssl.SSLCertVerificationError(1, "certificate verify failed")
    untrusted.verify_message = "self-signed certificate"
    found = describe_failure("wss://x/game/me", untrusted)
    assert isinstance(found, RunError)
    assert "(self-signed certificate)" in str(found)


def test_the_client_reconnects_after_a_drop() -> None:
    """Through a proxy that aborts the first three connections after some chunks."""

    async def use(url: str, stop: asyncio.Event) -> None:
        host, port = url.removeprefix("ws://").removesuffix("/game/").split(":")
        cut: list[int] = []

        async def between(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            inner, outer = await asyncio.open_connection(host, int(port))
            left = 20 if len(cut) < 3 else 10**9

            async def forward(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
                nonlocal left
                with suppress(ConnectionError):
                    while left > 0 and (data := await source.read(65536)):
                        left -= 1
                        sink.write(data)
                for each in (writer, outer):
                    each.transport.abort()

            await asyncio.gather(forward(reader, outer), forward(inner, writer))
            cut.append(left)

        proxy = await asyncio.start_server(between, "127.0.0.1", 0)
        result = await play_until_end(f"ws://127.0.0.1:{proxy.sockets[0].getsockname()[1]}/game/me", 5.0)
        assert result.status == "finished"
        assert result.reconnects == 3
        proxy.close()

    (record,) = serving(use, matches=3, tables=1)
    assert (record.status, record.timeouts) == ("finished", [0] * 4)


def test_the_client_gives_up_on_a_server_that_does_not_come_back() -> None:
    async def run() -> None:
        async def once(connection: Any) -> None:
            connection.transport.abort()

        async with serve(once, "127.0.0.1", 0) as server:
            url = f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/game/me"
            with pytest.raises(RunError, match=r"gave up after 0\.5 s"):
                await play_until_end(url)

    asyncio.run(run())


def test_a_request_that_cannot_be_read_is_answered_with_the_first_action(capfd: pytest.CaptureFixture[str]) -> None:
    """The table of an unknown kind of server should go on."""
    answers: list[str | bytes] = []

    async def strange(connection: ServerConnection) -> None:
        for text in ('{"type": "act", "stage": "play"}', '{"type": "notify", "stage": "play"}', "nonsense"):
            await connection.send(text)
        answers.append(await connection.recv())

    async def run() -> GuanDanResult:
        async with serve(strange, "127.0.0.1", 0) as server:
            return await play_until_end(f"ws://127.0.0.1:{next(iter(server.sockets)).getsockname()[1]}/game/me")

    result = asyncio.run(run())
    assert answers == ['{"actIndex":0}']
    assert (result.status, result.unreadable, result.decisions) == ("ended", 3, 1)
    assert "handCards: missing" in capfd.readouterr().err
