"""The HTTP server below all WebSockets of this program: whom it admits, for how long, and how it ends."""

import asyncio
import logging
import resource
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler

from dancfr.errors import UsageError, one_line, warn
from dancfr.serve.network import BURST, describe_listen_error, lengthen_queue
from dancfr.serve.origins import Origins, PublicUrl
from dancfr.serve.websocket import GOING_AWAY, WebSocketLink

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

MOST_WAITING = 64
"""Connections at the same time that are not WebSockets; a new one takes the place of the oldest."""

REQUEST_S = 15.0
"""Longest time from a connection to its first request, and from one request to the next."""

_LINGER_S = 2.0
"""Longest time for a client to take the messages sent to it, once its WebSocket is closed."""

_SHUTDOWN_S = 3.0
"""Longest time for all clients to agree to the end."""


class WebServer:
    """Serves requests and WebSockets.

    Connections that ask for nothing, in any number, neither keep others out nor use memory: only `MOST_WAITING` of them
    stay open, the newest ones. The application limits WebSockets, by refusing them.

    Args:
        host, port: Where to listen; port 0 is any free one.
        public: Where a reverse proxy shows the server. Routes exist with and without its prefix, since some proxies
            strip it.
        secret: See `Origins`.

    Attributes:
        prefix: The path before the server's own paths, where the proxy does not strip it.
        origins: Which pages may use the server.
        links: The WebSockets that are open.
    """

    def __init__(self, host: str, port: int, public: PublicUrl | None = None, secret: bool = False) -> None:
        self._host, self._port = host, port
        self.prefix = "" if public is None else public.prefix
        self._app = web.Application()
        self._app.on_shutdown.append(self._close_links)
        self._sockets: dict[RequestHandler, WebSocketLink] = {}
        self.origins = Origins(host, public, secret)
        self.links: set[WebSocketLink] = set()

    def route(self, path: str, handler: Handler) -> None:
        """Adds a path; of two that match, the first one counts."""
        for prefix in {"", self.prefix}:
            self._app.router.add_get(prefix + path, handler)

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        """Serves while the block runs, and yields the port.

        Raises:
            UsageError: The server cannot listen there.
        """
        runner = web.AppRunner(
            self._app,
            access_log=None,
            logger=_http_log(),
            shutdown_timeout=_SHUTDOWN_S,
            keepalive_timeout=REQUEST_S,
            lingering_time=1.0,
        )
        await runner.setup()
        assert runner.server is not None
        factory, loop = runner.server, asyncio.get_running_loop()

        def protocol() -> RequestHandler:
            waiting = [
                transport
                for each in factory.connections
                if (transport := each.transport) is not None
                and not transport.is_closing()
                and (each not in self._sockets or self._sockets[each].ended)
            ]
            if len(waiting) >= MOST_WAITING:
                waiting[0].abort()
            return factory()

        try:
            try:
                server = await loop.create_server(protocol, self._host, self._port, backlog=BURST)
            except (OSError, OverflowError) as error:
                raise UsageError(describe_listen_error(self._host, self._port, error)) from None
            lengthen_queue(server)
            try:
                yield server.sockets[0].getsockname()[1]
            finally:
                server.close()
                for each in factory.connections:
                    if each not in self._sockets and each.transport is not None:
                        each.transport.abort()
        finally:
            await runner.cleanup()

    def shortage(self) -> str:
        """Why no further WebSocket can be opened; empty if one can."""
        enough = len(self._sockets) < _most_sockets()
        return "" if enough else "this process may open no more files: raise the limit by `ulimit -n`"

    async def serve_socket(
        self,
        request: web.Request,
        use: Callable[[WebSocketLink], Awaitable[None]],
        rate: float,
        burst: float,
        most_bytes: int,
        silent_s: float,
        compress: bool = False,
    ) -> web.StreamResponse:
        """Makes a WebSocket of a permitted request, and serves it until it is closed.

        Args:
            request: The request.
            use: Serves the client.
            rate, burst: See `WebSocketLink`.
            most_bytes: Longest message of the client.
            silent_s: How long a client may be silent before it is asked whether it is still there, for which it has
                half of this time.
            compress: Whether messages are compressed for clients who want it.
        """
        socket = web.WebSocketResponse(max_msg_size=most_bytes, heartbeat=silent_s, compress=compress, autoping=False)
        if not socket.can_prepare(request).ok:
            return refusal(400, "this is the address of a WebSocket")
        if problem := self.shortage():
            return refusal(503, problem)
        await socket.prepare(request)
        transport = request.transport
        if transport is None:  # the client has gone meanwhile
            return socket
        link = WebSocketLink(socket, transport, rate, burst)
        self._sockets[request.protocol] = link
        self.links.add(link)
        try:
            await use(link)
        except Exception as error:  # an error of the server itself: the other clients are served
            warn(f"a connection was closed: {one_line(error)}")
        finally:
            self.links.discard(link)
            await link.finish()
            del self._sockets[request.protocol]
            asyncio.get_running_loop().call_later(_LINGER_S, transport.abort)
        return socket

    async def _close_links(self, app: web.Application) -> None:
        for link in self.links:
            link.end(GOING_AWAY, "the server has stopped")


def _most_sockets() -> int:
    """How many WebSockets leave enough descriptors for connections of other kinds and for files."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if limit == resource.RLIM_INFINITY else max(1, limit - MOST_WAITING - 6 * BURST)


def refusal(status: int, text: str) -> web.Response:
    """The answer to a request that is refused; its connection is closed."""
    response = web.Response(status=status, text=f"dancfr: {text}\n")
    response.force_close()
    return response


class _OneLine(logging.Handler):
    """Prints each report of aiohttp in one line.

    Says nothing about requests that are not HTTP, which were answered, and about clients who have gone.
    """

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, (HttpProcessingError, ConnectionError)):
            warn(record.getMessage() if error is None else f"{record.getMessage()}: {one_line(error)}")


def _http_log() -> logging.Logger:
    """The log of aiohttp's server; its own would write a traceback for each scan of the port."""
    log = logging.Logger(__name__, logging.WARNING)
    log.addHandler(_OneLine())
    return log


__all__ = ["MOST_WAITING", "REQUEST_S", "WebServer", "refusal"]
