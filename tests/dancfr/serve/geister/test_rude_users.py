"""Users of the Geister server who leave, flood or stay silent, at every stage of a game."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from dancfr.serve.geister.hosted_game import MAX_USELESS, GameRules
from dancfr.serve.geister.referee import DISCONNECTED, ILLEGAL, NOISE, OUT_OF_TIME
from dancfr.serve.geister.server import MAX_CONNECTIONS
from tests.dancfr.serve.geister.games import replay
from tests.dancfr.serve.geister.sockets import HASTY, User, both, play_out, serving

Stage = Callable[[list[int]], Awaitable[tuple[User, User]]]
"""Brings a game to a stage: the user whose fault it will be, and the other."""


async def unset(ports: list[int]) -> tuple[User, User]:
    bad, other = await User.come(ports[1]), await User.seated(ports[0])
    assert await bad.hear() == "SET?"
    return bad, other


async def nobody_set(ports: list[int]) -> tuple[User, User]:
    bad, other = await User.come(ports[0]), await User.come(ports[1])
    assert [await bad.hear(), await other.hear()] == ["SET?", "SET?"]
    return bad, other


async def waiting_for_colours(ports: list[int]) -> tuple[User, User]:
    other = await User.come(ports[0])
    assert await other.hear() == "SET?"
    return await User.seated(ports[1]), other


async def to_move(ports: list[int]) -> tuple[User, User]:
    bad, other = await both(ports)
    await bad.asked()
    return bad, other


async def not_to_move(ports: list[int]) -> tuple[User, User]:
    other, bad = await both(ports)
    await other.asked()
    return bad, other


async def after_a_move(ports: list[int]) -> tuple[User, User]:
    bad, other = await to_move(ports)
    bad.say("MOV:A,N")
    assert await bad.hear() == "OK "
    await other.asked()
    return bad, other


STAGES = [unset, nobody_set, waiting_for_colours, to_move, not_to_move, after_a_move]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("rude", ["closes", "cuts", "half a line and closes"])
def test_a_user_who_leaves_loses_at_every_stage(stage: Stage, rude: str, capfd: pytest.CaptureFixture[str]) -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        bad, other = await stage(ports)
        if rude == "cuts":
            bad.writer.transport.abort()
        elif rude == "closes":
            await bad.go()
        else:
            bad.send(b"MOV:A")
            await bad.go()
        received = await other.rest()
        assert received[-1].startswith("WON:")
        assert len(received[-1]) == 52
        await play_out(ports)

    record, after = serving(use, games=2)
    assert (record.status, record.ending) == ("finished", DISCONNECTED)
    assert record.winner is not None
    assert after.winner == 0
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("stage", [unset, nobody_set, to_move])
@pytest.mark.parametrize("words", [b"", b"MOV:A,N", b"SET:AB"], ids=["silent", "half a line", "half another"])
def test_a_user_without_a_whole_line_loses_on_time(stage: Stage, words: bytes) -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        started = time.monotonic()
        bad, other = await stage(ports)
        bad.send(words)
        if stage is nobody_set:
            other.say("SET:ABCD")
            assert await other.hear() == "OK "
        assert [line[:4] for line in await other.rest()] == ["WON:"]
        assert [line[:4] for line in await bad.rest()] == ["LST:"]
        assert 0.4 < time.monotonic() - started < 5

    (record,) = serving(use, rules=HASTY, games=1)
    assert record.ending == OUT_OF_TIME
    assert record.winner is not None
    assert record.reserves[1 - record.winner] == 0


def test_two_silent_users_do_not_block_the_next_game() -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        for stage in (nobody_set, to_move):
            first, second = await stage(ports)
            assert {line[:4] for user in (first, second) for line in await user.rest()} >= {"WON:", "LST:"}
        await play_out(ports)

    records = serving(use, rules=HASTY, games=3)
    assert [record.ending for record in records] == [OUT_OF_TIME, OUT_OF_TIME, ILLEGAL]


def test_the_reserve_is_used_up_first() -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        first, second = await both(ports)
        for move in "NSNSNS":  # 0.3 s at 0.05 s a move: three of the six draw on the reserve at most
            await first.asked()
            await asyncio.sleep(0.05)
            first.say(f"MOV:A,{move}")
            assert await first.hear() == "OK "
            await second.asked()
            second.say(f"MOV:A,{move}")
            assert await second.hear() == "OK "
        await first.asked()
        started = time.monotonic()
        assert [line[:4] for line in await first.rest()] == ["LST:"]
        assert 0.2 < time.monotonic() - started < 0.5, "0.2 s a move, and what is left of 0.5 s in all"
        await second.go()

    (record,) = serving(use, rules=GameRules(reserve=0.5, per_answer=0.2), games=1)
    assert (record.ending, record.winner, record.plies) == (OUT_OF_TIME, 1, 12)
    assert record.reserves[1] > 0.3


@pytest.mark.parametrize("stage", STAGES)
def test_a_user_who_floods_loses(stage: Stage) -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        bad, other = await stage(ports)
        bad.send(b"junk\r\n" * 20_000)
        heard = await bad.rest()
        assert heard.count("NG ") <= MAX_USELESS
        received = await other.rest()
        assert received[-1].startswith("WON:")
        await play_out(ports)

    record, _ = serving(use, games=2)
    assert record.ending in (NOISE, DISCONNECTED), "DISCONNECTED where the cut connection is noticed first"


def test_a_user_who_floods_gets_the_result(tmp_path: Path) -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        bad, other = await not_to_move(ports)
        bad.say(*["MOV:A,N"] * MAX_USELESS)
        assert [line[:4] for line in await bad.rest()] == ["NG "] * MAX_USELESS + ["LST:"]
        assert [line[:4] for line in await other.rest()] == ["WON:"]

    (record,) = serving(use, games=1, folder=tmp_path)
    assert (record.ending, record.winner) == (NOISE, 0)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("size", [65, 100, 1_000_000])
def test_a_line_without_end_loses(stage: Stage, size: int) -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        bad, other = await stage(ports)
        bad.send(b"A" * size)
        await bad.rest()
        received = await other.rest()
        assert received[-1].startswith("WON:")
        await play_out(ports)

    record, _ = serving(use, games=2)
    assert record.ending in (NOISE, DISCONNECTED)


def test_a_second_user_at_a_port_is_disconnected(tmp_path: Path) -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        first = await User.seated(ports[0])
        assert await (await User.come(ports[0])).rest() == []
        second = await User.seated(ports[1])
        for port in ports:
            assert await (await User.come(port)).rest() == []
        await first.asked()
        first.say("MOV:A,N")
        assert await first.hear() == "OK "
        await second.asked()
        await second.go()
        assert len(await first.rest()) == 1

    (record,) = serving(use, games=1, folder=tmp_path)
    assert replay(record.file)[0].ply == 3


def test_too_many_connections_are_closed() -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        first = await User.seated(ports[0])
        crowd = await asyncio.gather(*(User.come(ports[0]) for _ in range(3 * MAX_CONNECTIONS)))
        assert all(heard == [] for heard in await asyncio.gather(*(user.rest() for user in crowd)))
        second = await User.seated(ports[1])
        await first.asked()
        await second.go()
        assert len(await first.rest()) == 1

    (record,) = serving(use, games=1)
    assert record.winner == 0


def test_a_user_who_leaves_before_the_game_leaves_no_trace(tmp_path: Path) -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        early = await User.seated(ports[0], "EFGH")
        await early.go()
        noisy = await User.come(ports[0])
        noisy.say(*["junk"] * MAX_USELESS)
        assert await noisy.rest() == ["SET?", *["NG "] * MAX_USELESS]
        endless = await User.come(ports[0])
        endless.send(b"x" * 1000)
        assert (await endless.rest())[:1] in ([], ["SET?"])
        await play_out(ports)

    (record,) = serving(use, games=1, folder=tmp_path)
    assert record.ending == ILLEGAL
    assert replay(record.file)[1].moves[0].action == 0, "the colours of the user who stayed"
