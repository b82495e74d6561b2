"""Servers with real sockets in this process, and users of them."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from dancfr.serve.guandan import Client
from dancfr.serve.guandan.client import MATCH
from dancfr.serve.guandan.connect import Stay, stay
from dancfr.serve.guandan.hosted_table import Record, Rules
from dancfr.serve.guandan.lobby import MakeClient
from dancfr.serve.guandan.server import ServerSettings, run_server
from envs.guandan import GuanDan
from tests.dancfr.serve.guandan.conversations import RandomPlayer

ROUND = GuanDan(length="round", situation="drawn")
"""Tables that are soon played."""


def ours(table: int, seat: int) -> Client:
    return Client(RandomPlayer(), seed=10 * table + seat)


THREE_AGENTS: list[tuple[str, MakeClient] | None] = [None, *[("random", ours)] * 3]
USERS: list[tuple[str, MakeClient] | None] = [None] * 4
Use = Callable[[str, asyncio.Event], Awaitable[None]]


def serving(
    use: Use,
    agents: list[tuple[str, MakeClient] | None] = THREE_AGENTS,
    game: GuanDan = ROUND,
    matches: int = 1,
    clock: float = 20.0,
    tables: int | None = None,
    rate: float = 20.0,
) -> list[Record]:
    """Runs a server, and `use` with its address and what stops it; the records of its tables."""

    async def run() -> list[Record]:
        stop, address = asyncio.Event(), asyncio.get_running_loop().create_future()
        rules = Rules(game, matches, clock, seed=3)
        settings = ServerSettings(port=0, tables=tables, rate=rate)
        server = asyncio.ensure_future(run_server(settings, rules, agents, stop, address.set_result))
        try:
            await use(await address, stop)
        except BaseException:
            stop.set()
            raise
        finally:
            if tables is None:
                stop.set()
            records = await server
        return records

    return asyncio.run(asyncio.wait_for(run(), 60))


async def play(url: str, name: str, seed: int = 0) -> Stay:
    return await stay(f"{url}{name}", Client(RandomPlayer(), MATCH, seed), 5.0, asyncio.Event())


async def request_of(connection: ClientConnection) -> dict[str, Any]:
    """The next request; whatever is told before is passed over."""
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
