"""A server in the process of the test, and pages that speak to it over real WebSockets."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from typing import Any

import aiohttp
import numpy as np

from dancfr.agents.by_name import make_agent
from dancfr.games.registry import make_game
from dancfr.serve.browser.room import Room, RoomSettings
from dancfr.serve.browser.server import ServerSettings, run_server

TOKEN = "the-token"
LIMIT_S = 180.0

Plain = dict[str, Any]


class Client:
    """A page: the messages that it receives are kept in `received`."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.received: list[Plain] = []

    async def send(self, **message: Any) -> None:
        await self.socket.send_str(json.dumps(message))

    async def next(self, kind: str = "") -> Plain:
        """The next message, or the next one of a type."""
        while True:
            message = await asyncio.wait_for(self.socket.receive(), LIMIT_S)
            if message.type != aiohttp.WSMsgType.TEXT:
                raise ConnectionError(f"{message.type.name} {self.socket.close_code} {message.extra or ''}".strip())
            self.received.append(json.loads(message.data))
            if kind in ("", self.received[-1]["type"]):
                return self.received[-1]

    async def turn(self) -> Plain:
        """The next message in which this page is to move, or the last one of the game."""
        while True:
            table = await self.next("table")
            if table["choices"] or table["over"] or table["failed"]:
                return table

    async def finish(self, choose: Callable[[Plain], int], table: Plain | None = None) -> Plain:
        """Plays to the end of the game, and returns its last message."""
        table = table or await self.turn()
        while not table["over"] and not table["failed"]:
            await self.send(type="move", ply=table["ply"], choice=choose(table))
            table = await self.turn()
        return table


class Pages:
    """Opens pages of a server.

    Attributes:
        room: The tables.
        address: Of the server, without the token.
        stop: Ends the server.
    """

    def __init__(self, address: str, session: aiohttp.ClientSession, room: Room, stop: asyncio.Event) -> None:
        self.address, self.session, self.room, self.stop = address, session, room, stop

    async def open(self, token: str = TOKEN, **options: Any) -> Client:
        socket = await self.session.ws_connect(f"{self.address}/play?token={token}", max_msg_size=0, **options)
        client = Client(socket)
        await client.next("hello")
        return client

    async def begin(self) -> tuple[Client, Plain]:
        """Opens a page and begins a game with `random`; returns its first turn, too."""
        client = await self.open()
        await client.send(type="new", agents=[None, "random"])
        return client, await client.turn()


def with_pages(
    use: Callable[[Pages], Awaitable[None]],
    game: str = "leduc",
    seats: tuple[str | None, ...] = (None, "random"),
    rules: Plain | None = None,
    server: Plain | None = None,
    **settings: Any,
) -> Plain:
    """Runs a server while `use` runs, and returns the server's summary at its end."""
    rules = rules or {}
    played = make_game(game, **rules)
    chosen = {"agents": ("random",), "pace": 0.0} | settings
    room_settings = RoomSettings(name=game, options=rules, seats=seats, **chosen)
    rooms: list[Room] = []

    def make_room(thread: Executor) -> Room:
        rooms.append(Room(played, room_settings, lambda name: make_agent(name, played), thread))
        return rooms[0]

    async def run() -> Plain:
        stop, port = asyncio.Event(), asyncio.get_running_loop().create_future()
        limits = ServerSettings("127.0.0.1", 0, TOKEN, **(server or {}))
        running = asyncio.ensure_future(run_server(make_room, limits, stop, port.set_result))
        async with aiohttp.ClientSession() as session:
            try:
                await use(Pages(f"http://127.0.0.1:{await port}", session, rooms[0], stop))
            finally:
                stop.set()
                summary = await running
        return summary

    return asyncio.run(run())


def randomly(seed: int) -> Any:
    """Chooses at random."""
    rng = np.random.default_rng(seed)
    return lambda table: int(rng.integers(len(table["choices"])))
