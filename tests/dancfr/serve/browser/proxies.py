"""A reverse proxy in a thread of its own, with a path before those of the server, that can be cut and come back."""

import asyncio
import socket
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Self

import aiohttp
from aiohttp import web

PREFIX = "/games/leduc"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Proxy:
    """Passes on requests and WebSockets below `PREFIX`.

    Args:
        strips: The server gets paths without the prefix.
        tells: The header that has the public host: ``Host``, ``X-Forwarded-Host``, or neither.

    Attributes:
        address: What people open, without a slash at its end.
        target: The server; is set after the start.
    """

    def __init__(self, strips: bool = True, tells: str = "") -> None:
        self._strips, self._tells = strips, tells
        self.target = ""
        self._port = free_port()
        self.address = f"http://127.0.0.1:{self._port}{PREFIX}"
        self._loop = asyncio.new_event_loop()
        self._pumps: set[asyncio.Task[None]] = set()
        self._runner: web.AppRunner | None = None

    def __enter__(self) -> Self:
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._wait(self._open())
        return self

    def __exit__(self, *error: object) -> None:
        self.cut()
        self._wait(self._session.close())
        self._loop.call_soon_threadsafe(self._loop.stop)

    def cut(self) -> None:
        """Ends all connections, and accepts no others."""
        self._wait(self._close())

    def restore(self) -> None:
        """Accepts connections again."""
        self._wait(self._listen())

    def mute(self) -> None:
        """Passes nothing on any more over the WebSockets that are open, which stay open."""
        self._loop.call_soon_threadsafe(lambda: [pump.cancel() for pump in self._pumps])

    def _wait(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _open(self) -> None:
        self._session = aiohttp.ClientSession(auto_decompress=False)
        await self._listen()

    async def _listen(self) -> None:
        app = web.Application()
        app.router.add_get(PREFIX + "/{path:.*}", self._pass_on)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()

    async def _close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        path = request.raw_path.removeprefix(PREFIX) if self._strips else request.raw_path
        headers = {key: request.headers[key] for key in ("Origin", "User-Agent") if key in request.headers}
        if self._tells:
            headers[self._tells] = request.host
        if request.headers.get("Upgrade") != "websocket":
            async with self._session.get(self.target + path, headers=headers) as answer:
                kind = {"Content-Type": answer.headers["Content-Type"]}
                return web.Response(status=answer.status, body=await answer.read(), headers=kind)
        try:
            server = await self._session.ws_connect(self.target + path, headers=headers, max_msg_size=0)
        except aiohttp.WSServerHandshakeError as error:
            return web.Response(status=error.status)
        client = web.WebSocketResponse()
        await client.prepare(request)
        ways = ((client, server), (server, client))
        pumps = [asyncio.ensure_future(self._pump(*way)) for way in ways]
        self._pumps |= set(pumps)
        with suppress(asyncio.CancelledError):
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        if any(pump.cancelled() for pump in pumps):
            await asyncio.sleep(600)  # muted
        await server.close()
        await client.close()
        return client

    async def _pump(self, source: Any, sink: Any) -> None:
        async for message in source:
            await sink.send_str(message.data)
