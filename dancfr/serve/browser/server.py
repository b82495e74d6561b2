"""The server: a page, its modules, and a WebSocket for each page that is open."""

import asyncio
import hmac
import json
import logging
import sys
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import WSCloseCode, WSMsgType, web
from aiohttp.http_exceptions import HttpProcessingError

from dancfr.errors import UsageError, one_line, warn
from dancfr.serve.browser.messages import (
    MOST_BYTES,
    BadMessage,
    Branch,
    Look,
    Message,
    Move,
    New,
    Pace,
    Sit,
    read_message,
)
from dancfr.serve.browser.room import Room
from dancfr.serve.browser.table import Plain, Table
from dancfr.serve.browser.thread import AgentThread
from dancfr.serve.network import describe_listen_error
from dancfr.serve.rate import RateLimit

PAGE = Path(__file__).with_name("page")
"""The files that a browser gets, all of them and nothing else."""

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

_POLICY = (
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; connect-src 'self' ws: wss:; "
    "frame-ancestors 'none'"
)

_MOST_WAITING = 4 * 2**20
"""Characters that may wait for a page that reads slowly."""

_SWITCH_S = 0.0005
"""How long the thread of the agents may keep the interpreter while pages wait; Python's default is ten times this."""

_SEND_S = 20.0
"""Longest time to send a message before the page counts as gone."""

_CLOSE_S = 1.0
"""Longest time to tell a page why it is closed."""


@dataclass(frozen=True)
class ServerSettings:
    """How the server listens.

    Attributes:
        host, port: Where to listen; port 0 is any free one.
        token: What the address of the page has to contain.
        rate: Messages a second that a page may send, on average; ten times as many at once.
        pages: Pages that may be open at the same time.
    """

    host: str
    port: int
    token: str
    rate: float = 20.0
    pages: int = 256


class Page:
    """The connection of a page: what it sends is limited, and sending to it never waits.

    Args:
        socket: The open connection.
        abort: Drops it with all that was not yet sent.
        room: The tables.
        rate: See `ServerSettings`.
    """

    def __init__(self, socket: web.WebSocketResponse, abort: Callable[[], None], room: Room, rate: float) -> None:
        self._socket, self._abort, self._room, self._rate = socket, abort, room, rate
        self._limit = RateLimit(rate, 10 * rate)
        self._waiting: asyncio.Queue[str | None] = asyncio.Queue()
        self._length = 0
        self._table: Table | None = None
        self._seat: int | None = None
        self._looking: asyncio.Task[None] | None = None

    def send(self, message: Plain) -> None:
        """Queues a message."""
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        self._length += len(text)
        if self._length > _MOST_WAITING:
            self._waiting.put_nowait(None)
        else:
            self._waiting.put_nowait(text)

    async def serve(self) -> None:
        """Handles messages until the page is closed."""
        writer = asyncio.ensure_future(self._write())
        self.send(self._room.hello())
        try:
            async for message in self._socket:
                if message.type != WSMsgType.TEXT:
                    break
                if not self._limit.allows():
                    await self.close(f"more than {self._rate:g} messages a second")
                    break
                await self._handle(message.data)
        finally:
            self._leave()
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)

    async def _write(self) -> None:
        with suppress(ConnectionError, TimeoutError):
            while (text := await self._waiting.get()) is not None:
                async with asyncio.timeout(_SEND_S):
                    await self._socket.send_str(text)
                self._length -= len(text)
        await self.close("the page reads too slowly")

    async def close(self, why: str, code: WSCloseCode = WSCloseCode.POLICY_VIOLATION) -> None:
        """Closes the page; one that does not answer, or reads nothing of what was sent before, is dropped."""
        try:
            async with asyncio.timeout(_CLOSE_S):
                await self._socket.close(code=code, message=why.encode()[:120])
        except (ConnectionError, TimeoutError):
            self._abort()

    async def _handle(self, text: str) -> None:
        try:
            await self._answer(read_message(text))
        except BadMessage as error:
            self.send({"type": "error", "text": f"a message that this server does not know ({error})"})
        except UsageError as error:
            self.send({"type": "error", "text": str(error)})

    async def _answer(self, message: Message) -> None:
        if isinstance(message, New):
            self._enter(*self._room.open(message.agents))
        elif isinstance(message, Sit):
            self._enter(*self._room.find(message.table))
        elif self._table is None:
            raise UsageError("take a seat first")
        elif isinstance(message, Move):
            if problem := self._table.play(self._seat, message.ply, message.choice):
                self.send({"type": "error", "text": problem})
        elif isinstance(message, Pace):
            self._table.set_pace(message.seconds, message.paused)
        elif isinstance(message, Branch):
            self._enter(*self._room.branch(self._table, message.ply, message.seat))
        elif isinstance(message, Look):
            self._look(self._table, message.ply)

    def _look(self, table: Table, ply: int) -> None:
        """Answers with the position at once, and with what an agent thinks as soon as it is known."""
        found = table.look(self._seat, ply)
        if found is None:
            raise UsageError(f"there are {table.position.ply} moves, and this is number {ply}")
        if self._looking is not None:
            self._looking.cancel()  # the page is interested in the last one only
        self.send(found)
        if not table.studied:
            return

        async def think() -> None:
            insight = await self._room.consult(table, ply)
            if insight is not None:
                self.send({**found, "insight": insight})

        self._looking = asyncio.ensure_future(think())

    def _enter(self, table: Table, seat: int | None) -> None:
        self._leave()
        self._table, self._seat = table, seat
        table.join(self, seat)

    def _leave(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        if self._table is not None:
            self._table.leave(self)
            self._table = None


def make_app(room: Room, settings: ServerSettings) -> web.Application:
    """The web application: ``/`` with the token, the page's modules, and ``/play``, the WebSocket."""
    pages: set[Page] = set()

    def permitted(request: web.Request) -> bool:
        given = request.query.get("token", "")
        return hmac.compare_digest(given.encode(), settings.token.encode())

    async def index(request: web.Request) -> web.StreamResponse:
        if not permitted(request):
            return _refusal(403, "the address lacks the right token: open the one that `dancfr` has printed")
        return _file("index.html")

    async def module(request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        if name not in {file.name for file in PAGE.iterdir()}:
            return _refusal(404, "there is no such page")
        return _file(name)

    async def play(request: web.Request) -> web.StreamResponse:
        """The WebSocket of a page, from its opening to its end."""
        origin = request.headers.get("Origin")
        if not permitted(request) or (origin is not None and origin.partition("://")[2] != request.host):
            return _refusal(403, "wrong token or origin")
        if len(pages) >= settings.pages:
            return _refusal(503, f"{settings.pages} pages are open: close one")
        socket = web.WebSocketResponse(max_msg_size=MOST_BYTES, heartbeat=30.0)
        await socket.prepare(request)
        transport = request.transport
        if transport is None:  # the page has gone meanwhile
            return socket
        page = Page(socket, transport.abort, room, settings.rate)
        pages.add(page)
        try:
            await page.serve()
        except Exception as error:  # an error of the server itself: the other pages go on
            warn(f"a page was closed: {one_line(error)}")
            await page.close("the server has failed", WSCloseCode.INTERNAL_ERROR)
        finally:
            pages.discard(page)
        return socket

    async def close_pages(app: web.Application) -> None:
        await asyncio.gather(*(page.close("the server has stopped", WSCloseCode.GOING_AWAY) for page in pages))

    app = web.Application(client_max_size=MOST_BYTES)
    app.router.add_get("/", index)
    app.router.add_get("/play", play)
    app.router.add_get("/{name}", module)
    app.on_shutdown.append(close_pages)
    return app


def _file(name: str) -> web.Response:
    return web.Response(
        body=(PAGE / name).read_bytes(),
        content_type=_TYPES.get(Path(name).suffix, "application/octet-stream"),
        charset="utf-8",
        headers={
            "Cache-Control": "no-store",
            "Content-Security-Policy": _POLICY,
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        },
    )


def _refusal(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=f"dancfr: {text}\n")


class _OneLine(logging.Handler):
    """Prints what aiohttp reports in one line, and nothing about requests that are no HTTP: those were answered."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, HttpProcessingError):
            warn(record.getMessage() if error is None else f"{record.getMessage()}: {one_line(error)}")


def _http_log() -> logging.Logger:
    """The log of aiohttp's server; its own would write a traceback for each scan of the port."""
    log = logging.Logger(__name__, logging.WARNING)
    log.addHandler(_OneLine())
    return log


async def run_server(
    make_room: Callable[[Executor], Room],
    settings: ServerSettings,
    stop: asyncio.Event,
    on_listening: Callable[[int], None] = lambda port: None,
) -> Plain:
    """Serves until `stop` is set.

    Args:
        make_room: Makes the tables' room, given the thread of the agents.
        settings: How to listen.
        stop: Ends the server.
        on_listening: Is called with the port once pages can be opened.

    Returns:
        What `Room.summary` says.

    Raises:
        UsageError: the server cannot listen there.
    """
    sys.setswitchinterval(_SWITCH_S)
    with AgentThread() as thread:
        room = make_room(thread)
        runner = web.AppRunner(make_app(room, settings), access_log=None, logger=_http_log(), shutdown_timeout=2.0)
        await runner.setup()
        site = web.TCPSite(runner, settings.host, settings.port)
        try:
            try:
                await site.start()
            except (OSError, OverflowError) as error:
                raise UsageError(describe_listen_error(settings.host, settings.port, error)) from None
            on_listening(runner.addresses[0][1])
            sweeper: asyncio.Task[Any] = asyncio.ensure_future(room.sweep())
            await stop.wait()
            sweeper.cancel()
        finally:
            await runner.cleanup()
            await room.close()
    return room.summary()


__all__ = ["PAGE", "Page", "ServerSettings", "make_app", "run_server"]
