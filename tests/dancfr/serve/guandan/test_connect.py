"""The GuanDan client at servers that end, drop connections, or speak another protocol."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any

import psutil
import pytest
from aiohttp import ClientConnectorCertificateError, web

from actors.addresses import is_nearby
from dancfr.errors import RunError, UsageError
from dancfr.serve.guandan import Client
from dancfr.serve.guandan.connect import GuanDanResult, check_url, describe_failure, play_at
from tests.dancfr.serve.guandan.conversations import RandomPlayer
from tests.dancfr.serve.guandan.servers import serving
from tests.proxies import proxied


def play_until_end(url: str, patience: float = 0.5) -> Coroutine[Any, Any, GuanDanResult]:
    return play_at(url, Client(RandomPlayer()), patience, asyncio.Event())


@asynccontextmanager
async def answering(
    handle: Callable[[web.Request], Awaitable[web.StreamResponse]], host: str = "127.0.0.1"
) -> AsyncIterator[str]:
    """A server whose requests are answered by a function, and the address of a seat."""
    runner = web.ServerRunner(web.Server(handle), shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, host, 0)
    await site.start()
    yield f"ws://{host}:{runner.addresses[0][1]}/game/me"
    await runner.cleanup()


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
    async def busy(request: web.BaseRequest) -> web.Response:
        return web.Response(status=503, text="all tables\nare taken\n")

    async def run() -> None:
        async with answering(busy) as url:
            with pytest.raises(RunError, match=r"HTTP 503, all tables are taken; try again later$"):
                await play_until_end(url)

    asyncio.run(run())
    untrusted = ssl.SSLCertVerificationError(1, "certificate verify failed")
    untrusted.verify_message = "self-signed certificate"
    key: Any = None
    found = describe_failure("wss://x/game/me", ClientConnectorCertificateError(key, untrusted))
    assert isinstance(found, RunError)
    assert "(self-signed certificate)" in str(found)


def test_proxy_is_not_asked_for_a_server_of_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [each.address for entries in psutil.net_if_addrs().values() for each in entries if "." in each.address]
    host = next((each for each in found if is_nearby(each) and not each.startswith("127.")), "127.0.0.1")

    async def refuse(request: web.BaseRequest) -> web.Response:
        return web.Response(status=404)

    async def run() -> None:
        async with answering(refuse, host) as url:
            with pytest.raises(UsageError, match="the server has no seat"):
                await play_until_end(url)

    with proxied(monkeypatch) as asked:
        asyncio.run(run())
    assert asked == []


@pytest.mark.parametrize("url", ["ws://1.1.1.1/game/me", "wss://1.1.1.1/game/me"])
def test_proxy_that_refuses_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with proxied(monkeypatch) as asked, pytest.raises(RunError, match=r"proxy of this environment .* no_proxy"):
        asyncio.run(play_until_end(url))
    assert len(asked) == 1


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
        async def once(request: web.Request) -> web.WebSocketResponse:
            connection = web.WebSocketResponse()
            await connection.prepare(request)
            assert request.transport is not None
            request.transport.abort()
            return connection

        async with answering(once) as url:
            with pytest.raises(RunError, match=r"gave up after 0\.5 s"):
                await play_until_end(url)

    asyncio.run(run())


def test_a_request_that_cannot_be_read_is_answered_with_the_first_action(capfd: pytest.CaptureFixture[str]) -> None:
    """The table of an unknown kind of server should continue."""
    answers: list[str] = []

    async def strange(request: web.Request) -> web.WebSocketResponse:
        connection = web.WebSocketResponse()
        await connection.prepare(request)
        for text in ('{"type": "act", "stage": "play"}', '{"type": "notify", "stage": "play"}', "nonsense"):
            await connection.send_str(text)
        answers.append(await connection.receive_str())
        return connection

    async def run() -> GuanDanResult:
        async with answering(strange) as url:
            return await play_until_end(url)

    result = asyncio.run(run())
    assert answers == ['{"actIndex":0}']
    assert (result.status, result.unreadable, result.decisions) == ("ended", 3, 1)
    assert "curRank: missing" in capfd.readouterr().err
