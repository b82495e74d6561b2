"""Servers under floods, with few descriptors: who plays plays on, memory stays bounded, and Ctrl-C ends the server."""

import asyncio
import json
import re
import resource
import signal
import time
from collections.abc import Awaitable, Callable

import aiohttp
import psutil

from tests.dancfr.serve.browser.pages import Client
from tests.dancfr.serve.floods import LINE_FLOODS, Flood, flooded, web_floods
from tests.dancfr.serve.geister.sockets import User, both
from tests.dancfr.serve.processes import Process, Processes

FLOOD_S = 1.0
"""How long each flood lasts."""

ANSWER_S = 10.0
"""Longest time for an answer, while floods take all CPUs; a server that is blocked or has no descriptors gives none."""

FILES, MEMORY = 256, 64 * 2**20
"""Descriptors that a server may have, and bytes by which it may grow."""

Move = Callable[[], Awaitable[None]]


async def play_through(process: Process, port: int, floods: dict[str, Flood], move: Move, come: Move | None) -> None:
    """Plays during each flood; another player comes meanwhile, where that is possible."""
    server = psutil.Process(process.pid)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (FILES, FILES))
    await move()
    before = server.memory_info().rss
    for name, flood in floods.items():
        with flooded(flood, port) as connections:
            until, moves = time.monotonic() + FLOOD_S, 0
            while time.monotonic() < until or not moves:
                async with asyncio.timeout(ANSWER_S):
                    await move()
                moves += 1
            if come is not None:
                async with asyncio.timeout(ANSWER_S):
                    await come()
            assert connections() > 0, name
        assert server.memory_info().rss < before + MEMORY, name


def check_end(process: Process, most_lines: int) -> None:
    process.signal(signal.SIGINT)
    started = time.monotonic()
    _, err = process.end()
    assert time.monotonic() - started < 20
    assert "accept" not in err
    assert len(err.splitlines()) <= most_lines, err


def test_floods_of_pages(processes: Processes) -> None:
    options = ("--agent", "random", "--pace", "0", "--seed", "0", "--records", "none", "--port", "0", "--no-open")
    process = processes.start("play", "leduc", *options)
    found = process.wait_for(r"(http://127\.0\.0\.1:(\d+))/\?token=(\S+)")

    async def run() -> None:
        async with aiohttp.ClientSession() as session:

            async def come() -> None:
                client = Client(await session.ws_connect(f"{found[1]}/play?token={found[3]}"))
                await client.send(type="new", agents=[None, "random"])
                await client.turn()
                await client.socket.close()

            client = Client(await session.ws_connect(f"{found[1]}/play?token={found[3]}"))

            async def move() -> None:
                table = client.received[-1] if client.received else {"type": "hello"}
                if table["type"] != "table" or table["over"]:
                    await client.send(type="new", agents=[None, "random"])
                else:
                    await client.send(type="move", ply=table["ply"], choice=0)
                await client.turn()
                await asyncio.sleep(0.5)  # as no page may send more than some messages a second

            floods = web_floods(f"/play?token={found[3]}")
            name = "messages unread"  # in silence, those who have the token may fill all places, and no others
            floods[name] = web_floods("/play?token=NUMBER")[name]
            await play_through(process, int(found[2]), floods, move, come)

    asyncio.run(run())
    check_end(process, 10)


def test_floods_of_guandan(processes: Processes) -> None:
    options = ("--agents", "random,random,random", "--option", "length=round", "--matches", "100000")
    process, url = processes.serve_guandan(*options)

    async def run() -> None:
        async with aiohttp.ClientSession() as session:
            user = await session.ws_connect(f"{url}me")

            async def move() -> None:
                while json.loads((await user.receive()).data)["type"] != "act":
                    pass
                await user.send_json({"actIndex": 0})

            await play_through(process, int(re.split("[:/]", url)[4]), web_floods("/game/NUMBER"), move, None)

    asyncio.run(run())
    check_end(process, 2000)  # a line or two for each user who was seated


def test_floods_of_geister(processes: Processes) -> None:
    process, ports = processes.serve_geister()

    async def run() -> None:
        users: tuple[User, User] = await both([int(port) for port in ports])
        moves = 0

        async def move() -> None:
            nonlocal moves
            mover = users[moves % 2]
            await mover.asked()
            mover.say(f"MOV:A,{'NS'[moves // 2 % 2]}")
            assert await mover.hear() == "OK "
            moves += 1
            await asyncio.sleep(0.05)  # 300 plies are a draw

        await play_through(process, int(ports[0]), LINE_FLOODS, move, None)

    asyncio.run(run())
    check_end(process, 10)
