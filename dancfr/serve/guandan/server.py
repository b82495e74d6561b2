"""The GuanDan server: users connect to ``ws://HOST:PORT/game/NAME`` and play by the competition's messages."""

import asyncio
import http
import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from dancfr.errors import UsageError, warn
from dancfr.serve.commands import wait_for_any
from dancfr.serve.guandan.hosted_table import TableRecord, TableRules
from dancfr.serve.guandan.lobby import Lobby, MakeClient, Refused
from dancfr.serve.network import describe_listen_error, join_address
from dancfr.serve.websocket import WebSocketLink

MAX_NAME = 64
"""Longest name of a user, in characters."""

MAX_MESSAGE_BYTES = 4096
"""Longest message from a user."""

CLOSE_S = 2.0
"""Longest wait for a user to agree to the closing of a connection."""

_PATH = re.compile(r"/game/([^/]+)/?")

_logger = logging.getLogger("dancfr.serve.websockets")  # errors of broken clients are not worth a log line
_logger.addHandler(logging.NullHandler())
_logger.propagate = False


@dataclass(frozen=True)
class ServerSettings:
    """How the server listens.

    Attributes:
        host, port: Where to listen; port 0 is any free one.
        tables: End after this number of tables; None goes on until `stop`.
        rate: Messages a second that a user may send besides answers.
    """

    host: str = "127.0.0.1"
    port: int = 23456
    tables: int | None = None
    rate: float = 20.0


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
    lobby = Lobby(rules, agents, settings.tables)

    async def handle(connection: ServerConnection) -> None:
        await _serve_user(connection, lobby, settings.rate)

    try:
        server = await serve(
            handle,
            settings.host,
            settings.port,
            process_request=_check_path,
            max_size=MAX_MESSAGE_BYTES,
            compression=None,
            server_header=None,
            open_timeout=5,
            close_timeout=CLOSE_S,
            logger=_logger,
        )
    except (OSError, OverflowError) as error:
        raise UsageError(describe_listen_error(settings.host, settings.port, error)) from None
    async with server:
        port = next(iter(server.sockets)).getsockname()[1]
        on_listening(f"ws://{join_address(settings.host, port)}/game/")
        await wait_for_any(stop, lobby.all_played)
        await lobby.stop()
    return lobby.records


def user_of(path: str) -> str | None:
    """The user's name in ``/game/NAME``; None for another path, or if the name is too long or not printable."""
    match = _PATH.fullmatch(urlsplit(path).path)
    name = unquote(match[1]) if match else ""
    return name if name.strip() and name.isprintable() and len(name) <= MAX_NAME else None


def _check_path(connection: ServerConnection, request: Request) -> Response | None:
    if user_of(request.path) is not None:
        return None
    text = f"connect to /game/NAME, with a name of at most {MAX_NAME} printable characters\n"
    return connection.respond(http.HTTPStatus.NOT_FOUND, text)


async def _serve_user(connection: ServerConnection, lobby: Lobby, rate: float) -> None:
    """Keeps a user at a seat for the lifetime of the connection."""
    assert connection.request is not None
    name = user_of(connection.request.path)
    assert name is not None
    link = WebSocketLink(connection, rate)
    try:
        seat = lobby.join(name, link)
    except Refused as refusal:
        await connection.close(refusal.code, str(refusal))
        return
    writer = asyncio.ensure_future(link.write())
    try:
        async for message in connection:
            seat.receive(message, link)
            if link.breach:
                break
    except ConnectionClosed:
        pass
    finally:
        lobby.leave(seat, link)
        if link.breach:
            warn(f"{name}: connection closed: {link.breach}")
        await link.finish(writer)
