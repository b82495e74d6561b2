"""The GuanDan server: users connect to ``ws://HOST:PORT/game/NAME`` and play by the competition's messages."""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from aiohttp import web

from dancfr.errors import warn
from dancfr.serve.commands import wait_for_any
from dancfr.serve.guandan.hosted_table import TableRecord, TableRules
from dancfr.serve.guandan.lobby import Lobby, MakeClient, Refused
from dancfr.serve.network import join_address
from dancfr.serve.origins import PublicUrl
from dancfr.serve.thread import AgentThread
from dancfr.serve.web import WebServer, refusal
from dancfr.serve.websocket import WebSocketLink

MAX_NAME = 64
"""Longest name of a user, in characters."""

MAX_MESSAGE_BYTES = 4096
"""Longest message from a user."""

SILENT_S = 40.0
"""How long a user may be silent; a program that thinks in the thread of its connection answers no pings meanwhile."""

_PATH = re.compile(r"/game/([^/]+)/?")


@dataclass(frozen=True)
class ServerSettings:
    """How the server listens.

    Attributes:
        host, port: Where to listen; port 0 is any free one.
        tables: End after this number of tables; None continues until `stop`.
        rate: Messages a second that a user may send besides answers.
        public: Where a reverse proxy or a page shows the server.
    """

    host: str = "127.0.0.1"
    port: int = 23456
    tables: int | None = None
    rate: float = 20.0
    public: PublicUrl | None = None


async def run_server(
    settings: ServerSettings,
    rules: TableRules,
    agents: Sequence[tuple[str, MakeClient] | None],
    stop: asyncio.Event,
    on_listening: Callable[[str], None] = lambda url: None,
) -> list[TableRecord]:
    """Serves until `stop` is set or all tables are played.

    Args:
        settings: How to listen.
        rules: How tables play.
        agents: Agents by seat, see `Lobby`.
        stop: Ends the server.
        on_listening: Is called with the address, ``ws://127.0.0.1:23456/game/``, once users can connect.

    Returns:
        The record of each table.

    Raises:
        UsageError: The server cannot listen at the address.
    """
    with AgentThread() as thread:
        lobby = Lobby(rules, agents, thread, settings.tables)
        server = WebServer(settings.host, settings.port, settings.public)

        async def seat(request: web.Request) -> web.StreamResponse:
            path = request.raw_path  # a prefix may be /game, which a proxy strips or not
            name = user_of(path) or user_of(path.removeprefix(server.prefix))
            if name is None:
                return refusal(404, f"connect to /game/NAME, with a name of at most {MAX_NAME} printable characters")
            if problem := server.origins.refusal(request):
                return refusal(403, problem)
            rate = settings.rate
            return await server.serve_socket(
                request, lambda link: _serve_user(name, link, lobby), rate, max(1.0, rate), MAX_MESSAGE_BYTES, SILENT_S
            )

        server.route("/{path:(?s:.*)}", seat)
        async with server.listening() as port:
            on_listening(f"ws://{join_address(settings.host, port)}/game/")
            await wait_for_any(stop, lobby.all_played)
            await lobby.stop()
        return lobby.records


def user_of(path: str) -> str | None:
    """The user's name in ``/game/NAME``; None for another path, or if the name is too long or not printable."""
    match = _PATH.fullmatch(urlsplit(path).path)
    name = unquote(match[1]) if match else ""
    return name if name.strip() and name.isprintable() and len(name) <= MAX_NAME else None


async def _serve_user(name: str, link: WebSocketLink, lobby: Lobby) -> None:
    """Keeps a user at a seat for the lifetime of the connection."""
    try:
        seat = lobby.join(name, link)
    except Refused as refused:
        link.close(refused.code, str(refused))
        await link.run(lambda message: None)
        return
    try:
        await link.run(lambda message: seat.receive(message, link))
    finally:
        lobby.leave(seat, link)
        if link.breach:
            warn(f"{name}: connection closed: {link.breach}")
