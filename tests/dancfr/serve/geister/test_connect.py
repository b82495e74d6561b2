"""The Geister client at our server, and at servers that end, send nonsense, or speak another protocol."""

import asyncio
import socket
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.errors import RunError, UsageError
from dancfr.runs.recorded_games import MoveLine
from dancfr.serve.geister import Client
from dancfr.serve.geister.commands import connect
from dancfr.serve.geister.connect import GeisterResult, NoSeat, play_at
from envs.geister import Geister
from tests.dancfr.serve.geister.games import RULES, bot, replay
from tests.dancfr.serve.geister.sockets import User, play_out, serving


def playing(
    port: int, agent: Any, games: int = 1, seed: int = 0, patience: float = 10.0, silence: float = 10.0
) -> Awaitable[GeisterResult]:
    game: Geister = RULES
    return play_at("127.0.0.1", port, Client(agent, game, seed), games, patience, asyncio.Event(), silence)


@pytest.mark.parametrize("names", [("random", "heuristic"), ("rush", "heuristic"), ("heuristic", "random")])
def test_clients_meet_over_several_games(names: tuple[str, str], tmp_path: Path) -> None:
    results: list[GeisterResult] = []

    async def use(ports: list[int], stop: asyncio.Event) -> None:
        results.extend(await asyncio.gather(*(playing(ports[i], bot(names[i]), 5, i) for i in (0, 1))))

    records = serving(use, games=5, folder=tmp_path)
    assert [record.status for record in records] == ["finished"] * 5
    first, second = results
    assert [result.status for result in results] == ["finished"] * 2
    assert (first.seat, second.seat) == (0, 1)
    assert (first.games, first.won, first.lost, first.drawn) == (5, second.lost, second.won, second.drawn)
    assert first.won == sum(record.winner == 0 for record in records)
    assert first.decisions + second.decisions == sum(record.plies for record in records)
    assert first.refused == second.refused == first.unreadable == second.unreadable == 0
    assert {record.ending for record in records} <= {"escape", "blues taken", "reds taken", "ply limit"}
    assert len({record.plies for record in records}) > 1, "games differ"
    assert all(replay(record.file)[0].over for record in records)


def test_the_same_seeds_play_the_same_games(tmp_path: Path) -> None:
    def game(folder: Path) -> list[MoveLine]:
        async def use(ports: list[int], stop: asyncio.Event) -> None:
            await asyncio.gather(playing(ports[0], bot("heuristic"), seed=1), playing(ports[1], bot("random"), seed=2))

        (record,) = serving(use, games=1, folder=folder)
        return replay(record.file)[1].moves

    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert game(tmp_path / "a") == game(tmp_path / "b")


def test_a_run_of_dream_plays(dream_run: Path) -> None:
    """As with the command, but in a thread of this process."""

    async def use(ports: list[int], stop: asyncio.Event) -> None:
        ours = asyncio.to_thread(connect, "127.0.0.1", ports[1], str(dream_run), 2, 0, 60.0)
        result, _ = await asyncio.gather(ours, playing(ports[0], bot("random"), 2, patience=60))
        assert (result["games"], result["seat"], result["refused"]) == (2, 1, 0)
        assert result["decisions"] > 10

    records = serving(use, games=2)
    assert {record.ending for record in records} <= {"escape", "blues taken", "reds taken", "ply limit"}


def test_a_client_meets_an_agent_of_the_server() -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        result = await playing(ports[0], bot("random"), 4)
        assert (result.games, result.seat) == (4, 0)

    records = serving(use, agents=(None, ("rush", Client(bot("rush"), RULES))), games=4)
    assert sum(record.winner == 1 for record in records) >= 2


def test_a_client_stopped_in_a_game_loses_it() -> None:
    stop_first = asyncio.Event()

    class Stopping:
        """Plays at random, and stops its client at the third move."""

        name = "stopping"

        def __init__(self) -> None:
            self._agent = bot("random")
            self._moves = 0

        def begin(self, game, batch, rng) -> None:  # type: ignore[no-untyped-def]
            self._agent.begin(game, batch, rng)

        def act(self, states, games, rng):  # type: ignore[no-untyped-def]
            self._moves += 1
            if self._moves == 3:
                stop_first.set()
            return self._agent.act(states, games, rng)

    async def use(ports: list[int], stop: asyncio.Event) -> None:
        first = play_at("127.0.0.1", ports[0], Client(Stopping(), RULES), 3, 1.0, stop_first)
        result, other = await asyncio.gather(first, playing(ports[1], bot("random")))
        assert (result.status, result.games) == ("stopped", 0)
        assert other.won == 1

    (record,) = serving(use, games=1)
    assert record.ending == "disconnected"


def test_a_client_gives_up_on_a_server_that_has_ended() -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        started = time.monotonic()
        pair = playing(ports[0], bot("rush"), 3, patience=0.5), playing(ports[1], bot("random"), 2)
        failed, result = await asyncio.gather(*pair, return_exceptions=True)
        assert isinstance(failed, RunError)
        assert "gave up after 2 of 3 games and 0.5 s" in str(failed)
        assert isinstance(result, GeisterResult)
        assert result.games == 2
        assert time.monotonic() - started < 10

    assert len(serving(use, games=2)) == 2


def test_a_taken_seat_is_refused_at_first_and_waited_for_later() -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        waiting = await User.seated(ports[0])
        with pytest.raises(NoSeat, match="the seat is taken"):
            await playing(ports[0], bot("random"))
        await waiting.go()
        second = asyncio.ensure_future(playing(ports[1], bot("random"), 2))
        await playing(ports[0], bot("rush"))
        between = await User.seated(ports[0])
        await between.asked()
        await between.go()
        assert (await second).won >= 1

    assert len(serving(use, games=2)) == 2


def against(answers: list[bytes], expected: str, silence: float = 0.3) -> list[bytes]:
    """Runs a client at a server that sends `answers` and then nothing; returns the data that the server received."""
    heard: list[bytes] = []

    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            writer.write(answer)
            await asyncio.sleep(0.05)
        if answers and answers[-1] == b"":
            writer.close()
        heard.append(await reader.read())
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(other, "127.0.0.1", 0)
        async with server:
            with pytest.raises(RunError, match=expected) as caught:
                await playing(server.sockets[0].getsockname()[1], bot("random"), silence=silence)
            assert "\n" not in str(caught.value)

    asyncio.run(asyncio.wait_for(run(), 20))
    return heard


START = b"MOV?14R24R34R44R15B25B35B45B41u31u21u11u40u30u20u10u\r\n"


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([], "asks for nothing"),
        ([b""], "the seat is taken"),
        ([b"220 mail.example ESMTP\r\n"], "no Geister server .*220 mail.example"),
        ([b"HTTP/1.1 400 Bad Request\r\n\r\n"], "no Geister server"),
        ([b"x" * 10_000], "no Geister server"),
        ([b"SET?\r\n", b""], "dropped in game 1"),
        ([b"SET?\r\nOK \r\n", START, b""], "dropped in game 1"),
        ([b"SET?\r\n", b"NG \r\n"], "refused an answer"),
        ([b"SET?\r\nOK \r\n", START, b"NG \r\n"], "refused an answer"),
        ([b"SET?\r\nOK \r\n", b"MOV?14R24R\r\n"], "cannot read the board .* got 6"),
        ([b"SET?\r\nOK \r\n", START.replace(b"14R", b"24R")], "cannot read the board .* two ghosts"),
        ([b"SET?\r\n", b"x" * 5000], "no Geister server"),
    ],
)
def test_servers_that_break_the_protocol(answers: list[bytes], expected: str) -> None:
    against(answers, expected)


def test_unknown_lines_are_ignored(capfd: pytest.CaptureFixture[str]) -> None:
    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SET?\r\n" + b"hello\xff\r\n" * 9 + b"OK \r\n" + START)
        assert (await reader.readline())[:4] == b"SET:"
        assert (await reader.readline())[:4] == b"MOV:"
        writer.write(b"OK \r\nWON:" + START[4:])
        writer.close()

    async def run() -> GeisterResult:
        async with await asyncio.start_server(other, "127.0.0.1", 0) as server:
            return await playing(server.sockets[0].getsockname()[1], bot("random"))

    result = asyncio.run(run())
    assert (result.won, result.seat, result.unreadable) == (1, 0, 9)
    assert capfd.readouterr().err.count("cannot read") == 5


def test_no_server_and_no_host() -> None:
    async def run(host: str, port: int) -> None:
        await play_at(host, port, Client(bot("random"), RULES), 1, 1.0, asyncio.Event())

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(RunError, match="`dancfr serve geister`"):
            asyncio.run(run("127.0.0.1", free.getsockname()[1]))
    with pytest.raises(UsageError, match=r"--host 'nowhere\.invalid'"):
        asyncio.run(run("nowhere.invalid", 1))


def test_the_port_does_not_say_who_moves_first() -> None:
    """The first board shows it, at a server with any ports."""

    async def use(ports: list[int], stop: asyncio.Event) -> None:
        result = await asyncio.gather(*(playing(port, bot("rush"), seed=i) for i, port in enumerate(reversed(ports))))
        assert [each.seat for each in result] == [1, 0]
        await play_out(ports)

    assert np.shape(serving(use, games=2)) == (2,)
