"""Clients of ours at servers: ours, and others that go, say nonsense, or are none."""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.errors import RunError, UsageError
from dancfr.serve.geister import Client
from dancfr.serve.geister.commands import connect_command
from dancfr.serve.geister.connect import NoSeat, Stay, stay
from dancfr.serve.geister.protocol import Board
from envs.geister import Geister
from tests.dancfr.serve.geister.games import RULES, bot, read
from tests.dancfr.serve.geister.sockets import User, play_out, serving


def playing(
    port: int, agent: Any, games: int = 1, seed: int = 0, patience: float = 10.0, silence: float = 10.0
) -> Awaitable[Stay]:
    game: Geister = RULES
    return stay("127.0.0.1", port, Client(agent, game, seed), games, patience, asyncio.Event(), silence)


@pytest.mark.parametrize("names", [("random", "heuristic"), ("rush", "heuristic"), ("heuristic", "random")])
def test_clients_meet_over_several_games(names: tuple[str, str], tmp_path: Path) -> None:
    stays: list[Stay] = []

    async def use(ports: list[int], stop: asyncio.Event) -> None:
        stays.extend(await asyncio.gather(*(playing(ports[i], bot(names[i]), 5, i) for i in (0, 1))))

    records = serving(use, games=5, folder=tmp_path)
    assert [record.status for record in records] == ["finished"] * 5
    first, second = stays
    assert [told.status for told in stays] == ["finished"] * 2
    assert (first.seat, second.seat) == (0, 1)
    assert (first.games, first.won, first.lost, first.drawn) == (5, second.lost, second.won, second.drawn)
    assert first.won == sum(record.winner == 0 for record in records)
    assert first.decisions + second.decisions == sum(record.plies for record in records)
    assert first.refused == second.refused == first.unreadable == second.unreadable == 0
    assert {record.ending for record in records} <= {"escape", "blues taken", "reds taken", "ply limit"}
    assert len({record.plies for record in records}) > 1, "games differ"
    for record in records:
        lines = read(Path(str(record.file)))
        for line in lines:
            if "MOV?" in line:
                Board.read(line.split("MOV?")[1])
        assert [line[3:6] for line in lines[-2:]] in (["WON", "LST"], ["DRW", "DRW"])


def test_the_same_seeds_play_the_same_games(tmp_path: Path) -> None:
    def conversation(folder: Path) -> list[str]:
        async def use(ports: list[int], stop: asyncio.Event) -> None:
            await asyncio.gather(playing(ports[0], bot("heuristic"), seed=1), playing(ports[1], bot("random"), seed=2))

        (record,) = serving(use, games=1, folder=folder)
        return sorted(read(Path(str(record.file))))  # who comes first is not in the seeds

    assert conversation(tmp_path / "a") == conversation(tmp_path / "b")


def test_a_run_of_dream_plays(dream_run: Path) -> None:
    """As the command does it, though in a thread of this process."""

    async def use(ports: list[int], stop: asyncio.Event) -> None:
        ours = asyncio.to_thread(connect_command, "127.0.0.1", ports[1], str(dream_run), 2, 0, 60.0)
        told, _ = await asyncio.gather(ours, playing(ports[0], bot("random"), 2, patience=60))
        assert (told["games"], told["seat"], told["refused"]) == (2, 1, 0)
        assert told["decisions"] > 10

    records = serving(use, games=2)
    assert {record.ending for record in records} <= {"escape", "blues taken", "reds taken", "ply limit"}


def test_a_client_meets_an_agent_of_the_server() -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        told = await playing(ports[0], bot("random"), 4)
        assert (told.games, told.seat) == (4, 0)

    records = serving(use, agents=(None, ("rush", Client(bot("rush"), RULES))), games=4)
    assert sum(record.winner == 1 for record in records) >= 2


def test_a_client_stopped_in_a_game_loses_it() -> None:
    stop_first = asyncio.Event()

    class Stopping:
        """Plays at random, and has its stay stopped at the third move."""

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
        first = stay("127.0.0.1", ports[0], Client(Stopping(), RULES), 3, 1.0, stop_first)
        told, other = await asyncio.gather(first, playing(ports[1], bot("random")))
        assert (told.status, told.games) == ("stopped", 0)
        assert other.won == 1

    (record,) = serving(use, games=1)
    assert record.ending == "disconnected"


def test_a_client_gives_up_where_a_server_has_ended() -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        started = time.monotonic()
        pair = playing(ports[0], bot("rush"), 3, patience=0.5), playing(ports[1], bot("random"), 2)
        failed, told = await asyncio.gather(*pair, return_exceptions=True)
        assert isinstance(failed, RunError)
        assert "gave up after 2 of 3 games and 0.5 s" in str(failed)
        assert isinstance(told, Stay)
        assert told.games == 2
        assert time.monotonic() - started < 10

    assert len(serving(use, games=2)) == 2


def test_a_taken_seat_is_refused_at_first_and_waited_for_later() -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        waiting = await User.seated(ports[0])
        with pytest.raises(NoSeat, match="closes the connection at once: the seat is taken"):
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
    """A client at a server that says these one after the other, whatever it hears, and then nothing; what it heard."""
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
        ([], "asks for nothing: is it one of Geister"),
        ([b""], "closes the connection at once: the seat is taken"),
        ([b"220 mail.example ESMTP\r\n"], "no Geister server answers there .*220 mail.example"),
        ([b"HTTP/1.1 400 Bad Request\r\n\r\n"], "no Geister server answers there"),
        ([b"x" * 10_000], "no Geister server answers there: check host and port"),
        ([b"SET?\r\n", b""], "the connection dropped in the midst of game 1"),
        ([b"SET?\r\nOK \r\n", START, b""], "the connection dropped in the midst of game 1"),
        ([b"SET?\r\n", b"NG \r\n"], "has refused an answer and says no more"),
        ([b"SET?\r\nOK \r\n", START, b"NG \r\n"], "has refused an answer and says no more"),
        ([b"SET?\r\nOK \r\n", b"MOV?14R24R\r\n"], "cannot read the board that the server shows: .* not 6"),
        ([b"SET?\r\nOK \r\n", START.replace(b"14R", b"24R")], "cannot read the board .* two ghosts"),
        ([b"SET?\r\n", b"x" * 5000], "no Geister server answers there"),
    ],
)
def test_servers_that_are_none_of_geister(answers: list[bytes], expected: str) -> None:
    against(answers, expected)


def test_lines_that_mean_nothing_are_passed_over(capfd: pytest.CaptureFixture[str]) -> None:
    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SET?\r\n" + b"hello\xff\r\n" * 9 + b"OK \r\n" + START)
        assert (await reader.readline())[:4] == b"SET:"
        assert (await reader.readline())[:4] == b"MOV:"
        writer.write(b"OK \r\nWON:" + START[4:])
        writer.close()

    async def run() -> Stay:
        async with await asyncio.start_server(other, "127.0.0.1", 0) as server:
            return await playing(server.sockets[0].getsockname()[1], bot("random"))

    told = asyncio.run(run())
    assert (told.won, told.seat, told.unreadable) == (1, 0, 9)
    assert capfd.readouterr().err.count("cannot read a line of the server") == 5


def test_no_server_and_no_host() -> None:
    async def run(use: Callable[[], Awaitable[Stay]], kind: type[Exception], expected: str) -> None:
        with pytest.raises(kind, match=expected):
            await use()

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nobody = "no server is there; start one with `dancfr serve geister`"
    asyncio.run(run(lambda: playing(port, bot("random")), RunError, nobody))
    client = Client(bot("random"), RULES)
    nowhere: Callable[[], Awaitable[Stay]] = lambda: stay("nowhere.invalid", 1, client, 1, 1.0, asyncio.Event())  # noqa: E731
    asyncio.run(run(nowhere, UsageError, "--host 'nowhere.invalid': no such host"))


def test_the_port_does_not_say_who_moves_first() -> None:
    """A server of any ports: the first board does."""

    async def use(ports: list[int], stop: asyncio.Event) -> None:
        told = await asyncio.gather(*(playing(port, bot("rush"), seed=i) for i, port in enumerate(reversed(ports))))
        assert [each.seat for each in told] == [1, 0]
        await play_out(ports)

    assert np.shape(serving(use, games=2)) == (2,)
