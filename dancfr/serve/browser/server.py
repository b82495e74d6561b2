"""The server: a page, its modules, and a WebSocket for each page that is open."""

import asyncio
import hmac
import json
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from dancfr.errors import UsageError
from dancfr.serve.browser.messages import (
    MOST_BYTES,
    Branch,
    Look,
    Message,
    Move,
    New,
    Pace,
    Ping,
    Sit,
    read_message,
)
from dancfr.serve.browser.room import GAME, RULES, Room
from dancfr.serve.browser.rules_page import rules_page
from dancfr.serve.browser.table import Plain, Table
from dancfr.serve.messages import ProtocolError
from dancfr.serve.origins import PublicUrl
from dancfr.serve.thread import AgentThread
from dancfr.serve.web import WebServer, refusal
from dancfr.serve.websocket import WebSocketLink

PAGE = Path(__file__).with_name("page")
"""The files that a browser gets, all of them and nothing else but those of the game's page."""

_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}

_POLICY = (
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; connect-src 'self' ws: wss:; "
    "frame-ancestors 'none'"
)

_SILENT_S = 30.0
"""How long a page may be silent before it is asked whether it is still there."""

_OPENING_COST = 10.0
"""As how many messages one counts that opens a table."""

_SWITCH_S = 0.0005
"""How long the thread of the agents may keep the interpreter while pages wait; Python's default is ten times this."""


@dataclass(frozen=True)
class ServerSettings:
    """How the server listens.

    Attributes:
        host, port: Where to listen; port 0 is any free one.
        token: What the address of the page has to contain.
        rate: Messages a second that a page may send, on average; ten times as many in a burst.
        pages: Pages that may be open at the same time.
        public: Where a reverse proxy shows the page.
    """

    host: str
    port: int
    token: str
    rate: float = 20.0
    pages: int = 256
    public: PublicUrl | None = None


class Page:
    """A page that is open.

    Args:
        link: Its connection.
        room: The tables.
    """

    def __init__(self, link: WebSocketLink, room: Room) -> None:
        self._link, self._room = link, room
        self._table: Table | None = None
        self._seat: int | None = None
        self._looking: asyncio.Task[None] | None = None

    def send(self, message: Plain) -> None:
        """Queues a message."""
        self._link.send(json.dumps(message, ensure_ascii=False, separators=(",", ":")))

    async def serve(self) -> None:
        """Handles messages until the page is closed."""
        self.send(self._room.hello())
        try:
            await self._link.run(self._handle)
        finally:
            self._leave()

    def _handle(self, text: str | bytes) -> None:
        try:
            message = read_message(text)
            self._link.count_message(cost=_OPENING_COST if isinstance(message, (New, Branch)) else 1.0)
            if not self._link.closed:
                self._answer(message)
        except ProtocolError as error:
            self._link.count_message()
            self.send({"type": "error", "text": f"a message that this server does not know ({error})"})
        except UsageError as error:
            self.send({"type": "error", "text": str(error)})

    def _answer(self, message: Message) -> None:
        if isinstance(message, New):
            self._enter(*self._room.open(message.agents, self._left()))
        elif isinstance(message, Sit):
            self._enter(*self._room.find(message.table))
        elif isinstance(message, Ping):
            self.send({"type": "pong"})
        elif self._table is None:
            raise UsageError("take a seat first")
        elif isinstance(message, Move):
            if problem := self._table.play(self._seat, message.ply, message.choice):
                self.send({"type": "error", "text": problem})
        elif isinstance(message, Pace):
            self._table.set_pace(message.seconds, message.paused)
        elif isinstance(message, Branch):
            ply = self._table.ply_at(self._seat, message.ply)
            self._enter(*self._room.branch(self._table, ply, message.seat, self._left()))
        elif isinstance(message, Look):
            self._look(self._table, message.ply)

    def _look(self, table: Table, ply: int) -> None:
        """Answers with the position immediately, and with an agent's thoughts as soon as they are known."""
        at, found = table.ply_at(self._seat, ply), table.look(self._seat, ply)
        if self._looking is not None:
            self._looking.cancel()  # the page is interested in the last one only
        self.send(found)
        if not table.studied:
            return

        async def think() -> None:
            insight = await self._room.consult(table, at)
            if insight is not None:
                self.send({**found, "insight": insight})

        self._looking = asyncio.ensure_future(think())

    def _left(self) -> Table | None:
        """The table that has no page any more when this one goes to another."""
        return self._table if self._table is not None and self._table.has_only(self) else None

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


def make_server(room: Room, settings: ServerSettings) -> WebServer:
    """The server: ``/`` with the token, the page's and the game's modules, and ``/play``, the WebSocket."""
    server = WebServer(settings.host, settings.port, settings.public, secret=True)

    def permitted(request: web.Request) -> bool:
        given = request.query.get("token", "")
        return hmac.compare_digest(given.encode(), settings.token.encode())

    def shortage() -> str:
        most = settings.pages
        return f"{most} pages are open: close one" if len(server.links) >= most else server.shortage()

    async def index(request: web.Request) -> web.StreamResponse:
        """The page. A page whose WebSocket was refused asks by its origin why: browsers do not tell it."""
        if not permitted(request):
            return refusal(403, "the address lacks the right token: open the one that `dancfr` has printed")
        origin = request.query.get("origin")
        if origin is not None and (problem := server.origins.refusal_of(origin, request)):
            return refusal(403, problem)
        if origin is not None and (problem := shortage()):
            return refusal(503, problem)
        return _file(PAGE / "index.html")

    async def rules(_: web.Request) -> web.StreamResponse:
        if room.rules is None:
            return refusal(404, "there is no such page")
        return _answer(rules_page(room.rules).encode(), _TYPES[".html"])

    def files_of(*folders: Path) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """Answers with a file of the first folder that has it."""

        async def answer(request: web.Request) -> web.StreamResponse:
            files = {file.name: file for folder in reversed(folders) for file in folder.iterdir() if file.is_file()}
            file = files.get(request.match_info["name"])
            return refusal(404, "there is no such page") if file is None else _file(file)

        return answer

    async def play(request: web.Request) -> web.StreamResponse:
        """The WebSocket of a page, from its opening to its end."""
        if not permitted(request):
            return refusal(403, "wrong token")
        if problem := server.origins.refusal(request):
            return refusal(403, problem)
        if problem := shortage():
            return refusal(503, problem)
        rate = settings.rate
        return await server.serve_socket(
            request, lambda link: Page(link, room).serve(), rate, 10 * rate, MOST_BYTES, _SILENT_S, compress=True
        )

    server.route("/", index)
    server.route("/play", play)
    own = [] if room.page is None else [room.page.parent]
    shared = [PAGE] if server.prefix == f"/{GAME}" else []  # a proxy that keeps this prefix asks for all files below it
    server.route(f"/{GAME}/{RULES}", rules)
    server.route(f"/{GAME}/{{name}}", files_of(*own, *shared))
    server.route("/{name}", files_of(PAGE))
    return server


def _file(file: Path) -> web.Response:
    return _answer(file.read_bytes(), _TYPES.get(file.suffix, "application/octet-stream"))


def _answer(body: bytes, content_type: str) -> web.Response:
    return web.Response(
        body=body,
        content_type=content_type,
        charset="utf-8",
        headers={
            "Cache-Control": "no-store",
            "Content-Security-Policy": _POLICY,
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        },
    )


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
        try:
            async with make_server(room, settings).listening() as port:
                sweeper: asyncio.Task[Any] = asyncio.ensure_future(room.sweep())
                on_listening(port)
                await stop.wait()
                sweeper.cancel()
        finally:
            await room.close()
    return room.summary()


__all__ = ["PAGE", "Page", "ServerSettings", "make_server", "run_server"]
