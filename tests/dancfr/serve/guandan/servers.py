"""GuanDan servers with real sockets in this process, and their users."""

import asyncio
import json
from contextlib import suppress
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

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


async def request_of(connection: ClientConnection) -> dict[str, Any]:
    """The next request; earlier messages are ignored."""
    while True:
        message = json.loads(await connection.recv())
        if message["type"] == "act":
            return message


async def closing(connection: ClientConnection) -> tuple[int, str]:
    """How the server closes a connection."""
    with suppress(ConnectionClosed):
        while True:
            await connection.recv()
    assert connection.close_code is not None
    return connection.close_code, connection.close_reason or ""
