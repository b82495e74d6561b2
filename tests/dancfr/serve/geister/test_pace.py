"""`--pace`: lines that are kept apart in time, for clients that take the data of one read as one line."""

import asyncio
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from dancfr.serve.geister import Client
from dancfr.serve.geister.hosted_game import Clock, GameRules
from dancfr.serve.geister.referee import ILLEGAL
from tests.dancfr.serve.geister.games import RULES, bot
from tests.dancfr.serve.geister.sockets import User, both, serving
from tests.dancfr.serve.processes import Processes


def play_by_reads(port: str, name: str, seed: int) -> list[str]:
    """Plays a game as a client that takes the data of one read as one line, and returns the lines of the server."""
    client, heard = Client(bot(name), RULES, seed), []
    with socket.create_connection(("127.0.0.1", int(port)), timeout=60) as seat:
        while data := seat.recv(4096):
            line = data.decode("ascii")
            assert line.endswith("\r\n")
            assert line.count("\n") == 1, f"several lines in one read: {line!r}"
            heard.append(line[:-2])
            answer = client.receive(line[:-2])
            if answer is not None:
                seat.sendall(f"{answer}\r\n".encode("ascii"))
    assert client.outcome is not None
    return heard


@pytest.mark.parametrize("pace", [("--pace", "20"), ()], ids=["20", "default"])
def test_a_client_that_reads_line_by_line_plays_a_whole_game_against_an_agent(
    processes: Processes, pace: tuple[str, ...]
) -> None:
    server, (port,) = processes.serve_geister("--agents", "rush", *pace, "--games", "1", "--json")
    heard = play_by_reads(port, "heuristic", 1)
    (game,) = server.result()["games"]
    assert game["status"] == "finished"
    assert game["ending"] in ("escape", "blues taken", "reds taken")
    assert sum(line.startswith("MOV?") for line in heard) == (game["plies"] + 1) // 2
    assert heard[-1][:4] == ("WON:" if game["winner"] == 0 else "LST:")


def test_two_clients_that_read_line_by_line_play_a_whole_game(processes: Processes) -> None:
    # 100 ms: on a busy machine a reader may be left waiting for longer than the default, and read two lines together.
    server, ports = processes.serve_geister("--pace", "100", "--games", "1", "--json")
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(play_by_reads, ports, ("rush", "heuristic"), (1, 2))
    (game,) = server.result()["games"]
    assert game["status"] == "finished"
    assert game["ending"] in ("escape", "blues taken", "reds taken")
    assert {first[-1][:4], second[-1][:4]} == {"WON:", "LST:"}


def test_the_pace_separates_lines_and_takes_no_time_from_players() -> None:
    pace = 0.4

    async def play(user: User) -> None:
        times = []
        for expected in ("SET?", "NG ", "OK "):
            assert await user.hear() == expected
            times.append(time.monotonic())
        assert all(later - earlier > pace / 2 for earlier, later in pairwise(times))
        for direction in "NSN":
            await user.asked()
            user.say(f"MOV:A,{direction}", "thanks")  # the answer to the second line delays the next request
            assert [await user.hear() for _ in range(2)] == ["OK ", "NG "]

    async def use(ports: list[int], stop: asyncio.Event) -> None:
        users = await User.come(ports[0]), await User.come(ports[1])
        for user in users:
            user.say("nonsense", "SET:ABCD")
        await asyncio.gather(*map(play, users))

    (record,) = serving(use, rules=GameRules(reserve=1.0), pace=pace)
    assert (record.status, record.plies) == ("stopped", 6)
    assert min(record.reserves) > 0.5


@pytest.mark.parametrize("ends", ["stays", "ends its side", "leaves"])
def test_the_result_comes_after_the_waiting_lines(ends: str) -> None:
    async def use(ports: list[int], stop: asyncio.Event) -> None:
        first, second = await both(ports)
        await first.asked()
        first.say("junk", "more junk", "MOV:A,S")
        if ends == "ends its side":
            first.writer.write_eof()
        if ends == "leaves":
            first.writer.transport.abort()
        else:
            assert [line[:4] for line in await first.rest()] == ["NG ", "NG ", "NG ", "LST:"]
        assert [line[:4] for line in await second.rest()] == ["WON:"]

    (record,) = serving(use, games=1, pace=0.05)
    assert record.winner == 1
    assert ends == "leaves" or record.ending == ILLEGAL


def test_the_clock_has_a_reserve_and_then_a_time_for_each_answer() -> None:
    clock = Clock(600.0, 10.0)
    assert clock.start(100.0) == 610.0
    clock.stop(700.0)
    assert clock.reserve == 0.0
    assert clock.start(800.0) == 10.0
    clock.stop(809.0)
    assert clock.start(900.0) == 10.0, "what is left of a move is not saved"
    clock = Clock(600.0, 10.0)
    clock.start(0.0)
    clock.stop(605.0)
    assert clock.reserve == 0.0
    clock = Clock(5.0, 1.0)
    clock.start(0.0)
    clock.stop(2.0)
    clock.stop(50.0)
    assert clock.reserve == 3.0, "it runs only while an answer is awaited"
    assert clock.start(60.0) == 4.0
    clock.stop(59.0)
    assert clock.reserve == 3.0, "an answer before the clock runs saves no time"
