"""Benchmark of `dancfr play`: many simultaneous tables on one core, over real WebSockets."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from typing import Any

import aiohttp
import numpy as np
import psutil

from actors.packages import python_path
from dancfr.agents.by_name import make_agent
from dancfr.agents.match_rules import match_rules
from dancfr.bench.timing import joined, rate, result
from dancfr.errors import RunError
from envs.game import Game, listed

TABLES = 50
CASES = (("geister", "pretrained:geister"), ("guandan", "pretrained:guandan"))
"""Games and agents; the first one is the case that the table of benchmarks shows."""

_START = "import os, sys; {pin}from dancfr.cli import main; main(sys.argv[1:])"


def measure(seconds: float) -> dict[str, Any]:
    """Measures moves that agents make a CPU second at 50 tables of `dancfr play` on one core; users answer immediately.

    The limit is the agent alone: its moves in single positions of the same game, one after the other.
    """
    return joined(*(_measure_game(game, agent, seconds / len(CASES)) for game, agent in CASES))


def _measure_game(game: str, agent: str, seconds: float) -> dict[str, Any]:
    pin = "os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[-1]}); " if hasattr(os, "sched_setaffinity") else ""
    command = [sys.executable, "-P", "-c", _START.format(pin=pin), "play", game, "--agent", agent]
    command += ["--no-open", "--port", "0", "--records", "none", "--pace", "0"]
    started = time.perf_counter()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | python_path()) as server:
        try:
            address, token = _wait_for_address(server)
            opened = time.perf_counter() - started
            process = psutil.Process(server.pid)
            before = _cpu(process)
            waits, moves = asyncio.run(_play(address, token, 0.8 * seconds))
            used = _cpu(process) - before
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=60)
    alone = _alone(game, agent, 0.2 * seconds)
    detail = {
        "limit": "the agent's moves in single positions, one after the other, without a server",
        "tables": TABLES,
        "answers": len(waits),
        "slowest answer ms": round(1000 * max(waits)),
        "median answer ms": round(1000 * float(np.median(waits))),
        "from command to page s": round(opened, 1),
    }
    speed = rate(moves, [used])
    return result("play", speed, "moves/s", alone, speed / alone, detail, f"{game}, {agent}")


def _wait_for_address(server: "subprocess.Popen[str]") -> tuple[str, str]:
    assert server.stderr is not None
    said = ""
    for line in server.stderr:
        said += line
        if found := re.search(r"(http://\S+)/\?token=(\S+)", line):
            return found[1], found[2]
    raise RunError(f"dancfr play has ended: {said.strip()}")


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


async def _play(address: str, token: str, seconds: float) -> tuple[list[float], int]:
    """Plays at all tables for a while; returns how long each answer took, and the number of the agents' moves."""
    waits: list[float] = []
    moves = 0
    async with aiohttp.ClientSession() as session:
        until = time.perf_counter() + seconds

        async def table(number: int) -> None:
            """Plays game after game at one table, until the time is up and it has been answered."""
            nonlocal moves
            rng = np.random.default_rng(number)
            socket = await session.ws_connect(f"{address}/play?token={token}", max_msg_size=0)
            hello = json.loads((await socket.receive()).data)
            await socket.send_json({"type": "new", "agents": hello["seats"]})
            asked, answers = None, 0
            while time.perf_counter() < until or not answers:
                message = json.loads((await socket.receive()).data)
                moves += sum(event["player"] != message["you"] for event in message["events"][-1:])
                if message["over"]:
                    asked = None
                    await socket.send_json({"type": "new", "agents": hello["seats"]})
                elif message["choices"]:
                    if asked is not None:
                        waits.append(time.perf_counter() - asked)
                        answers += 1
                    asked = time.perf_counter()
                    choice = int(rng.integers(len(message["choices"])))
                    await socket.send_json({"type": "move", "ply": message["ply"], "choice": choice})
            await socket.close()

        await asyncio.gather(*(table(number) for number in range(TABLES)))
        return waits, moves


def _alone(game: str, name: str, seconds: float) -> float:
    """Moves/s of an agent that plays itself, a position at a time."""
    rules = match_rules(game, (name,))[0]
    agent, rng = make_agent(name, rules), np.random.default_rng(0)
    one, moves = np.zeros(1, np.int64), 0
    states = rules.reset(1, rng)
    agent.begin(rules, 1, rng)
    agent.act(states, one, rng)
    started = until = time.process_time()
    while (now := time.process_time()) < started + seconds or not moves:
        if rules.finished(states)[0]:
            states = rules.reset(1, rng)
            agent.begin(rules, 1, rng)
        action = agent.act(states, one, rng)
        rules.step(states, action, rng) if isinstance(rules, Game) else listed(rules).step(states, action)
        moves, until = moves + 1, now
    return moves / max(until - started, 1e-9)
