"""The Geister server with real sockets: recorded games, wrong lines, agents, and the end of a game."""

import asyncio
import re
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from dancfr.errors import UsageError
from dancfr.runs.recorded_games import EndLine
from dancfr.serve.geister import Client
from dancfr.serve.geister.hosted_game import GameRules
from dancfr.serve.geister.protocol import write_board
from dancfr.serve.geister.referee import DISCONNECTED, ILLEGAL
from dancfr.serve.geister.server import ServerSettings, run_server
from tests.dancfr.serve.geister.games import GAMES, RULES, bot, of_player, read, replay
from tests.dancfr.serve.geister.sockets import User, both, play_out, serving


async def repeat(port: int, lines: list[str]) -> None:
    """Sends the lines of a recorded player, and expects the recorded answers."""
    user = await User.come(port)
    for line in lines:
        if line[1] == ">":
            user.say(line[3:])
        else:
            assert await user.hear() == line[3:]
    assert await user.rest() == []


@pytest.mark.parametrize("path", GAMES, ids=lambda path: path.stem)
def test_recorded_games_go_the_same_way(path: Path, tmp_path: Path) -> None:
    """Our server sends every recorded line, byte for byte, and records the same game."""
    recorded = read(path)

    async def use(ports: list[int], stop: asyncio.Event) -> None:
        await asyncio.gather(*(repeat(ports[player], of_player(recorded, player)) for player in (0, 1)))

    (record,) = serving(use, games=1, folder=tmp_path)
    assert record.status == "finished"
    position, recording = replay(record.file)
    boards = [line[7:] for line in recorded if line[:7] in ("0< WON:", "0< LST:", "0< DRW:")]
    assert write_board(position.states[0], 0, reveal=True) == boards[-1]
    assert recording.end is not None
    assert recording.end.end == record.ending
    assert position.over == (record.ending != ILLEGAL), "an illegal move is not a move of the rules"
    if position.over:
        assert recording.end.returns == position.returns
    assert record.plies == sum(line[3:6] == "OK " or line[3:6] in ("OKR", "OKB") for line in recorded) - 2
    ending = {"e201": "ply limit", "e203": "escape", "g4_shuffle_draw": "ply limit", "g5_illegal_loses": ILLEGAL}
    assert record.ending == ending.get(path.stem, "blues taken")


def test_games_in_a_row_and_their_files(tmp_path: Path) -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        for _ in range(3):
            await play_out(ports)

    records = serving(use, games=3, folder=tmp_path)
    assert [record.game for record in records] == [1, 2, 3]
    assert all(record.winner == 0 and record.ending == ILLEGAL and record.plies == 1 for record in records)
    assert len({record.file for record in records}) == 3
    position, recording = replay(records[-1].file)
    assert (position.ply, recording.end) == (3, EndLine(end=ILLEGAL, returns=[1.0, -1.0], plies=3))


def test_lines_may_come_in_pieces_or_together() -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        first, second = await User.come(ports[0]), await User.come(ports[1])
        for byte in b"set:abcd\r\n":
            first.send(bytes([byte]))
            await asyncio.sleep(0.001)
        second.send(b"SET:AAAA\r\nSET:EFGH\nMOV:A,N\r\n")  # the last one before it is asked for
        assert [await second.hear() for _ in range(4)] == ["SET?", "NG ", "OK ", "NG "]
        assert [await first.hear() for _ in range(2)] == ["SET?", "OK "]
        await first.asked()
        first.send(b"mov:a,")
        await asyncio.sleep(0.02)
        first.send(b"n\r\n")
        assert await first.hear() == "OK "
        await second.asked()

    (record,) = serving(use)
    assert (record.status, record.plies, record.winner, record.ending) == ("stopped", 1, None, "")


@pytest.mark.parametrize("bad", ["SET:ABC", "SET:ABCDE", "SET:ABCZ", "SET:AABB", "MOV:A,N", "hello", "", "\x00\xff"])
def test_a_bad_choice_is_refused_and_may_be_repeated(bad: str) -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        first = await User.come(ports[0])
        assert await first.hear() == "SET?"
        first.send(bad.encode("latin-1") + b"\r\n")
        assert await first.hear() == "NG "
        first.say("SET:ABCD")
        assert await first.hear() == "OK "
        second = await User.seated(ports[1])
        await first.asked()
        await first.go()
        assert [line[:4] for line in await second.rest()] == ["WON:"]

    (record,) = serving(use, games=1)
    assert record.ending == DISCONNECTED


@pytest.mark.parametrize("bad", ["MOV:A,S", "MOV:A,UP", "MOV:J,N", "MOV:", "mov:a,e"])
def test_a_bad_move_is_refused_and_loses(bad: str) -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        first, second = await both(ports)
        await first.asked()
        first.say(bad)
        assert await first.hear() == "NG "
        (lost,), (won,) = await first.rest(), await second.rest()
        assert lost == "LST:14R24R34R44R15B25B35B45B41b31b21b11b40r30r20r10r"
        assert won == "WON:14B24B34B44B15R25R35R45R41r31r21r11r40b30b20b10b"
        await play_out(ports)

    record, after = serving(use, games=2)
    assert (record.ending, record.winner, record.plies) == (ILLEGAL, 1, 0)
    assert after.status == "finished"


def test_other_lines_and_moves_out_of_turn_are_refused_without_loss() -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        first, second = await both(ports)
        await first.asked()
        second.say("MOV:A,N")
        assert await second.hear() == "NG "
        first.say("what?", "SET:ABCD", "MOV:A,N")
        assert [await first.hear() for _ in range(3)] == ["NG ", "NG ", "OK "]
        second.say("MOV:A,N")
        await second.asked()
        assert await second.hear() == "OK "

    (record,) = serving(use)
    assert (record.status, record.plies) == ("stopped", 2)


@pytest.mark.parametrize("seat", [0, 1])
def test_users_play_against_an_agent_game_after_game(seat: int) -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        assert ports[seat] == 0, "no port listens for an agent"
        for _ in range(3):
            user = await User.seated(ports[1 - seat])
            for move in "NS" * 150:
                if not str(await user.hear()).startswith("MOV?"):
                    break
                user.say(f"MOV:A,{move}")
                if not str(await user.hear()).startswith("OK"):
                    break
            await user.rest()

    rush = ("rush", Client(bot("rush"), RULES, 3))
    records = serving(use, agents=(rush, None) if seat == 0 else (None, rush), games=3)
    assert all(record.names[seat] == "rush" and record.status == "finished" for record in records)
    assert all(record.winner == seat and record.plies < 60 for record in records)


class Broken:
    """Fails at its second move."""

    name = "broken"

    def begin(self, game, batch, rng) -> None:  # type: ignore[no-untyped-def]
        self.moves = 0

    def act(self, states, games, rng):  # type: ignore[no-untyped-def]
        self.moves += 1
        if self.moves == 2:
            raise ValueError("out of ideas")
        return np.flatnonzero(RULES.legal(states)[0])[:1]


def test_an_agent_that_fails_ends_its_game_only(capfd: pytest.CaptureFixture[str]) -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        for _ in range(2):
            user = await User.seated(ports[0])
            for move in "NS":
                await user.asked()
                user.say(f"MOV:A,{move}")
                assert await user.hear() == "OK "
            assert [line[:4] for line in await user.rest()] == ["WON:"]

    records = serving(use, agents=(None, ("broken", Client(Broken(), RULES))), games=2)
    assert [(record.status, record.winner, record.plies) for record in records] == [("failed", 0, 3)] * 2
    assert re.search("game 1: ValueError .*player 1: out of ideas", capfd.readouterr().err)


def test_users_are_served_while_an_agent_thinks() -> None:
    released, thought = threading.Event(), threading.Event()

    class Slow(Broken):
        def begin(self, *arguments: object) -> None:
            released.wait(30)  # a server that waits for the agent continues after this time
            thought.set()
            super().begin(*arguments)

    async def use(ports: list[int], stop: asyncio.Event) -> None:
        try:
            browser = await User.come(ports[0])
            browser.say("GET / HTTP/1.1")
            assert await browser.rest() == ["SET?"], "the agent has been asked for colours by now"
            user = await User.seated(ports[0])
            assert await (await User.come(ports[0])).rest() == [], "the seat is taken"
            assert not thought.is_set()
        finally:
            released.set()
        await user.asked()
        await user.go()

    client = Client(Slow(), RULES)
    (record,) = serving(use, agents=(None, ("slow", client)), games=1)
    assert (record.winner, record.ending) == (1, DISCONNECTED)
    assert not client.refused, "only the second choice of colours is an answer, as the browser's game was called off"


def test_stopping_ends_a_game_that_is_played(tmp_path: Path) -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        first, second = await both(ports)
        await first.asked()
        (file,) = tmp_path.iterdir()
        assert len(file.read_text().splitlines()) == 3, "a killed server loses nothing"
        stop.set()
        assert await second.rest() == []
        assert await first.rest() == []

    (record,) = serving(use, folder=tmp_path)
    assert (record.status, record.winner, record.ending) == ("stopped", None, "")
    position, recording = replay(record.file)
    assert (position.ply, recording.end) == (2, None)


def test_stopping_disconnects_a_waiting_user() -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        waiting = await User.seated(ports[0])
        stop.set()
        assert await waiting.rest() == []

    assert serving(use) == []


def test_a_user_who_stays_after_the_end_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dancfr.serve.geister.line_link.CLOSE_S", 0.2)

    async def use(ports: list[int], stop: asyncio.Event) -> None:
        first, second = await both(ports)
        await first.asked()
        first.say("MOV:A,S")
        await asyncio.sleep(0.5)
        assert len(await second.rest()) == 1
        await play_out(ports)

    started = time.monotonic()
    assert len(serving(use, games=2)) == 2
    assert time.monotonic() - started < 5


def test_chatter_after_the_end_hides_no_result() -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        first, second = await both(ports)
        await first.asked()
        first.say("MOV:A,S", *["more"] * 500)
        heard = await first.rest()
        assert heard[:1] == ["NG "]
        assert heard[1][:4] == "LST:"
        await second.rest()

    (record,) = serving(use, games=1)
    assert record.ending == ILLEGAL


def test_a_port_that_cannot_be_used_is_named() -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        taken = ServerSettings(ports=(0, ports[0]))
        with pytest.raises(UsageError, match=f"port {ports[0]} .* --second-port"):
            await run_server(taken, GameRules(), (None, None), asyncio.Event())

    assert serving(use) == []


def test_a_full_disk_ends_no_game(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "games"

    async def use(ports: list[int], stop: asyncio.Event) -> None:
        await play_out(ports)
        folder.mkdir()
        await play_out(ports)

    first, second = serving(use, games=2, folder=folder)
    assert first.file is None
    assert second.file is not None
    assert "is not recorded" in capfd.readouterr().err
