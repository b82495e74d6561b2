"""GuanDan servers with real sockets in this process, and their users."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType

from dancfr.serve.guandan import Client
from dancfr.serve.guandan.client import MATCH
from dancfr.serve.guandan.connect import GuanDanResult, play_at
from dancfr.serve.guandan.hosted_table import TableRecord, TableRules
from dancfr.serve.guandan.lobby import MakeClient
from dancfr.serve.guandan.server import ServerSettings, run_server
from envs.guandan import GuanDan
from tests.dancfr.serve.guandan.conversations import RandomPlayer
from tests.dancfr.serve.in_process import Use, serve_while

ROUND = GuanDan(length="round", situation="drawn")
"""A short game for tests."""


def ours(table: int, seat: int) -> Client:
    return Client(RandomPlayer(), seed=10 * table + seat)


THREE_AGENTS: list[tuple[str, MakeClient] | None] = [None, *[("random", ours)] * 3]
USERS: list[tuple[str, MakeClient] | None] = [None] * 4


def serving(
    use: Use[str],
    agents: list[tuple[str, MakeClient] | None] = THREE_AGENTS,
    game: GuanDan = ROUND,
    matches: int = 1,
    clock: float = 20.0,
    tables: int | None = None,
    rate: float = 20.0,
) -> list[TableRecord]:
    """See `serve_while`; `use` gets the address of the server without the name of the user."""

    rules = TableRules(game, matches, clock, seed=3)
    settings = ServerSettings(port=0, tables=tables, rate=rate)
    return serve_while(
        use,
        lambda stop, on_listening: run_server(settings, rules, agents, stop, on_listening),
        ends_by_itself=tables is not None,
    )


async def play(url: str, name: str, seed: int = 0) -> GuanDanResult:
    return await play_at(f"{url}{name}", Client(RandomPlayer(), MATCH, seed), 5.0, asyncio.Event())


@asynccontextmanager
async def connect(url: str) -> AsyncIterator[ClientWebSocketResponse]:
    """A user without an agent."""
    async with ClientSession() as session, session.ws_connect(url) as connection:
        yield connection


async def request_of(connection: ClientWebSocketResponse) -> dict[str, Any]:
    """The next request; earlier messages are ignored."""
    while True:
        message: dict[str, Any] = await connection.receive_json()
        if message["type"] == "act":
            return message


async def closing(connection: ClientWebSocketResponse) -> tuple[int, str]:
    """How the server closes a connection."""
    while (message := await connection.receive()).type == WSMsgType.TEXT:
        pass
    assert message.type == WSMsgType.CLOSE
    return message.data, message.extra or ""
