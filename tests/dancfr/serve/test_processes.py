"""`dancfr serve` and `dancfr connect` as processes of their own."""

import json
import re
import signal
import socket
import time
from pathlib import Path

import pytest

from dancfr.agents.by_name import make_agent
from dancfr.serve.guandan.client import MATCH
from dancfr.serve.guandan.commands import warm_up
from dancfr.watch.progress import COMPILING
from tests.dancfr.serve.geister.games import replay
from tests.dancfr.serve.processes import Processes


@pytest.fixture(scope="module", autouse=True)
def cached() -> None:
    """The processes find the kernels of GuanDan in the cache."""
    warm_up([make_agent("greedy", MATCH)], MATCH)


def test_two_processes_play_a_match_of_guandan_at_a_third_though_one_is_killed(processes: Processes) -> None:
    options = ("--agents", "greedy,greedy", "--seed", "5", "--tables", "1", "--clock", "300", "--json")
    server, url = processes.serve_guandan(*options)
    connect = ("connect", "guandan", "--agent", "greedy", "--json", "--url")
    stays = processes.start(*connect, f"{url}stays", "--seed", "1")
    killed = processes.start(*connect, f"{url}killed", "--seed", "2")
    server.wait_for("table 1: ")
    time.sleep(0.2)
    killed.signal(signal.SIGKILL)
    again = processes.start(*connect, f"{url}killed")
    played = server.result()
    assert played["matches"] == 1
    (table,) = played["tables"]
    assert table["status"] == "finished"
    assert sorted(table["names"]) == ["greedy", "greedy", "killed", "stays"]
    assert table["rounds"] >= 5, "from level 2 to A"
    assert table["timeouts"] == [0] * 4, "a seat waits for its user"
    results = [user.result() for user in (stays, again)]
    assert all(each["status"] == "finished" for each in results)
    assert all(each["victories"] == table["victories"] for each in results)
    assert sorted(each["seat"] for each in results) == [0, 1]
    assert all(each["decisions"] > 10 for each in results)
    killed.end(-signal.SIGKILL)


def test_a_guandan_server_of_single_rounds_counts_each_as_a_match(processes: Processes) -> None:
    options = ("--agents", "random,random,random", "--option", "length=round", "--matches", "2", "--tables", "1")
    server, url = processes.serve_guandan(*options, "--json")
    user = processes.start("connect", "guandan", "--url", f"{url}me", "--json").result()
    out, err = server.end()
    (table,) = json.loads(out)["tables"]
    assert err.count("after 1 round\n") == 2
    assert (table["status"], table["matches"], table["rounds"]) == ("finished", 2, 2)
    assert user["status"] == "finished"
    assert user["victories"] == table["victories"]
    assert sum(user["victories"]) == 4, "both players of the winning team"


def test_a_signal_ends_a_guandan_server_and_its_users(processes: Processes) -> None:
    server, url = processes.serve_guandan("--agents", "random,random,random", "--matches", "1000")
    user = processes.start("connect", "guandan", "--url", f"{url}me", "--agent", "random")
    server.wait_for("table 1: me, random, random, random")
    server.signal(signal.SIGTERM)
    out, _ = server.end()
    assert re.fullmatch(r"tables: 1 stopped; \d+ matches, [\d,]+ decisions, 0 out of time; .*\n", out)
    out, _ = user.end()
    assert re.fullmatch(r"the server has ended the game: .*\n", out)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_a_guandan_server_that_has_no_users(number: signal.Signals, processes: Processes) -> None:
    server, _ = processes.serve_guandan("--json")
    server.signal(number)
    result = server.result()
    assert (result["tables"], result["matches"]) == ([], 0)


def test_two_processes_play_games_of_geister_at_a_third(processes: Processes, tmp_path: Path) -> None:
    server, ports = processes.serve_geister("--games", "3", "--records", str(tmp_path), "--json")
    users = [
        processes.start("connect", "geister", "--port", port, "--agent", agent, "--games", "3", "--json")
        for port, agent in zip(ports, ("heuristic", "rush"), strict=True)
    ]
    first, second = (user.result() for user in users)
    played = server.result()
    assert [game["status"] for game in played["games"]] == ["finished"] * 3
    assert played["won"] == [first["won"], second["won"]] == [second["lost"], first["lost"]]
    assert played["drawn"] == first["drawn"]
    assert played["plies"] == first["decisions"] + second["decisions"]
    assert (first["seat"], second["seat"]) == (0, 1)
    assert all((each["status"], each["games"], each["refused"]) == ("finished", 3, 0) for each in (first, second))
    for game in played["games"]:
        position, recording = replay(game["file"])
        assert (position.over, position.ply) == (True, game["plies"] + 2)
        assert [player.name for player in recording.header.players] == game["names"]


def test_a_signal_ends_a_geister_server_in_a_game(processes: Processes, tmp_path: Path) -> None:
    folder = tmp_path / "games"
    server, (port,) = processes.serve_geister("--agents", "rush", "--clock", "300", "--records", str(folder))
    with socket.create_connection(("127.0.0.1", int(port)), timeout=60) as user:
        user.sendall(b"SET:ABCD\r\n")
        server.wait_for(r"game 1: 127\.0\.0\.1:\d+ against rush")
        server.signal(signal.SIGTERM)
        while user.recv(1000):
            pass
    out, err = server.end()
    assert re.fullmatch(r"games: 1 stopped; won by the first player 0, by the second 0, drawn 0; 0 plies, .*\n", out)
    assert err.splitlines()[-1] == "game 1: stopped; 0 plies"
    assert len(list(folder.iterdir())) == 1


def test_ctrl_c_ends_a_geister_client_and_then_the_server(processes: Processes) -> None:
    server, ports = processes.serve_geister("--json")
    with socket.create_connection(("127.0.0.1", int(ports[0])), timeout=60) as waiting:
        waiting.sendall(b"SET:ABCD\r\n")
        user = processes.start("connect", "geister", "--port", ports[1], "--agent", "random")
        server.wait_for("game 1: .* against ")
        user.signal(signal.SIGINT)
        out, err = user.end()
        assert re.fullmatch(r"stopped: 0 games, 0 won, 0 lost, 0 drawn; 0 decisions, .*\n", out)
        assert err in ("", f"{COMPILING}\n")
        server.wait_for("game 1: .* has won, disconnected")
    server.signal(signal.SIGINT)
    (game,) = server.result()["games"]
    assert (game["winner"], game["ending"]) == (0, "disconnected")
