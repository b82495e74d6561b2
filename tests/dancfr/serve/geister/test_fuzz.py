"""Random bytes, from fixed seeds, against the server: it never hangs or fails, and serves the next game."""

import asyncio
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from dancfr.serve.geister import Client
from dancfr.serve.geister.hosted_game import GameRules
from tests.dancfr.serve.geister.games import RULES, bot, replay
from tests.dancfr.serve.geister.sockets import User, play_out, serving

WORDS = [
    b"SET:ABCD\r\n", b"SET:EFGH\r\n", b"SET:AAAA\r\n", b"MOV:A,N\r\n", b"MOV:B,NORTH\r\n", b"mov:d,e\r\n",
    b"MOV:H,W\r\n", b"MOV:A", b",N", b"\r\n", b"\n", b"\r", b"\x00", b"\xff\xfe", b"SET?", b"MOV?", b"WON:",
    b"A" * 70, b"OK \r\n", b"NG ",
]  # fmt: skip
HASTY = GameRules(reserve=0.05, per_answer=0.05)


async def babble(port: int, rng: np.random.Generator) -> None:
    """Connects, sends pieces of lines and random bytes, sometimes reads, and closes or aborts."""
    user = await User.come(port)
    with suppress(OSError):
        for _ in range(int(rng.integers(0, 30))):
            choice = rng.random()
            if choice < 0.7:
                user.send(WORDS[int(rng.integers(len(WORDS)))])
            elif choice < 0.8:
                user.send(rng.bytes(int(rng.integers(1, 100))))
            elif choice < 0.9:
                await asyncio.sleep(float(rng.random()) * 0.02)
            else:
                await asyncio.wait_for(user.reader.read(100), 0.3)
        if rng.random() < 0.3:
            user.writer.transport.abort()
        elif rng.random() < 0.5:
            await asyncio.wait_for(user.reader.read(), 1.0)
    await user.go()


@pytest.mark.parametrize("seed", range(4))
def test_random_bytes(seed: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(seed)

    async def use(ports: list[int], stop: asyncio.Event) -> None:
        for _ in range(8):
            await asyncio.gather(*(babble(ports[int(rng.integers(2))], rng) for _ in range(4)))
        await asyncio.sleep(0.3)  # a game that has begun ends on time
        leftovers = [await User.come(port) for port in ports]
        for user in leftovers:
            await user.go()
        await asyncio.sleep(0.1)
        await play_out(ports)

    records = serving(use, rules=HASTY, folder=tmp_path)
    assert records[-1].ending == "illegal move"
    assert records[-1].winner == 0
    assert len(records) > 2
    assert {record.status for record in records} == {"finished"}
    for record in records:
        replay(record.file)
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("seed", range(3))
def test_random_bytes_against_an_agent(seed: int, capfd: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(100 + seed)

    async def use(ports: list[int], stop: asyncio.Event) -> None:
        for _ in range(25):
            await babble(ports[0], rng)

    records = serving(use, agents=(None, ("random", Client(bot("random"), RULES))), rules=HASTY)
    assert len(records) >= 20
    assert {record.status for record in records} <= {"finished", "stopped"}
    assert "Traceback" not in capfd.readouterr().err
