"""`dancfr serve` and `dancfr connect` as processes of their own."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from dancfr.agents.by_name import make_agent
from dancfr.cli import main
from dancfr.serve.guandan.client import MATCH
from dancfr.serve.guandan.commands import warm_up

NEVER = 60.0
"""Seconds: longer than anything here may take."""


@pytest.fixture(scope="module", autouse=True)
def cached() -> None:
    """Processes find the kernels that they need in the cache."""
    warm_up([make_agent("greedy", MATCH)], MATCH)


class Process:
    """A command; what it says on standard error can be waited for."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "dancfr", *arguments]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said = ""

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Reads standard error until a line has what is looked for."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.said += line
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"ended without saying {pattern!r}: {self.said}")

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self) -> tuple[int, str, str]:
        """Exit code and outputs of the process, which should end by itself."""
        out, err = self._process.communicate(timeout=NEVER)
        return self._process.returncode, out, self.said + err

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


class Processes(list[Process]):
    def start(self, *arguments: str) -> Process:
        self.append(Process(*arguments))
        return self[-1]


@pytest.fixture
def processes() -> Iterator[Processes]:
    """Starts processes; none is left behind."""
    started = Processes()
    yield started
    for process in started:
        process.stop()


def server(processes: Processes, *more: str) -> tuple[Process, str]:
    """A server on a free port, and its address."""
    process = processes.start("serve", "guandan", "--port", "0", *more)
    return process, process.wait_for(r"listening on (ws://127\.0\.0\.1:\d+/game/)NAME")[1]


def result(outcome: tuple[int, str, str]) -> dict[str, Any]:
    code, out, err = outcome
    assert code == 0, err
    (line,) = out.splitlines()
    parsed: dict[str, Any] = json.loads(line)
    return parsed


def test_four_processes_play_a_match_though_one_is_killed(processes: Processes) -> None:
    serving, url = server(processes, "--seed", "5", "--tables", "1", "--clock", "300", "--json")
    users = [
        processes.start("connect", "guandan", "--url", f"{url}user{i}", "--agent", "greedy", "--seed", str(i), "--json")
        for i in range(4)
    ]
    serving.wait_for("table 1: ")
    time.sleep(0.2)
    users[2].signal(signal.SIGKILL)
    again = processes.start("connect", "guandan", "--url", f"{url}user2", "--agent", "greedy", "--json")
    played = result(serving.end())
    assert played["matches"] == 1
    (table,) = played["tables"]
    assert table["status"] == "finished"
    assert sorted(table["names"]) == [f"user{i}" for i in range(4)]
    assert table["rounds"] >= 5, "from level 2 to A"
    assert table["timeouts"] == [0] * 4, "a seat waits for its user"
    told = [result(process.end()) for process in (users[0], users[1], again, users[3])]
    assert all(each["status"] == "finished" for each in told)
    assert all(each["victories"] == table["victories"] for each in told)
    assert sorted(each["seat"] for each in told) == [0, 1, 2, 3]
    assert sum(each["decisions"] for each in told) < table["decisions"]
    assert users[2].end()[0] == -signal.SIGKILL


def test_a_server_of_single_rounds_counts_each_as_a_match(processes: Processes) -> None:
    options = ("--agents", "random,random,random", "--option", "length=round", "--matches", "2", "--tables", "1")
    serving, url = server(processes, *options, "--json")
    told = result(processes.start("connect", "guandan", "--url", f"{url}me", "--json").end())
    outcome = serving.end()
    (table,) = result(outcome)["tables"]
    assert (table["status"], table["matches"], table["rounds"]) == ("finished", 2, 2)
    assert told["status"] == "finished"
    assert told["victories"] == table["victories"]
    assert sum(told["victories"]) == 4, "both players of the winning team"
    assert outcome[2].count("have won after 1 round\n") == 2


def test_a_signal_ends_the_server_and_is_told_to_its_users(processes: Processes) -> None:
    serving, url = server(processes, "--agents", "random,random,random", "--matches", "1000")
    user = processes.start("connect", "guandan", "--url", f"{url}me", "--agent", "random")
    serving.wait_for("table 1: me, random, random, random")
    serving.signal(signal.SIGTERM)
    code, out, err = serving.end()
    assert code == 0, err
    assert re.fullmatch(r"tables: 1 stopped; \d+ matches, [\d,]+ decisions, 0 out of time; \d+ s\n", out)
    code, out, err = user.end()
    assert code == 0, err
    assert out.startswith("the server has ended the game: ")
    assert "Traceback" not in err


def test_ctrl_c_ends_a_server_that_nobody_has_used(processes: Processes) -> None:
    serving, _ = server(processes, "--json")
    serving.signal(signal.SIGINT)
    told = result(serving.end())
    assert (told["tables"], told["matches"]) == ([], 0)


def test_a_port_in_use_is_wrong_use(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run("serve", "--port", str(port)) == 2
    assert capfd.readouterr().err == (
        f"dancfr: port {port} of 127.0.0.1 is in use: end what listens there, or choose another with --port\n"
    )


def run(*arguments: str) -> int:
    """Exit code of a command in this process."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert isinstance(ended.value.code, int)
    return ended.value.code


NOWHERE = "ws://127.0.0.1:9/game/me"


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (("serve", "chess"), 2, "no game with the competition's messages named 'chess'"),
        (("serve", "--port", "70000"), 2, "--port must be from 0 to 65535, not 70000"),
        (("serve", "--matches", "0"), 2, "--matches must be at least 1, not 0"),
        (("serve", "--tables", "0"), 2, "--tables must be at least 1, not 0"),
        (("serve", "--seed", "-1"), 2, "--seed must be at least 0, not -1"),
        (("serve", "--clock", "0"), 2, "--clock must be above 0 and below 1,000,000, not 0"),
        (("serve", "--clock", "nan"), 2, "--clock must be above 0 and below 1,000,000, not nan"),
        (("serve", "--clock", "inf"), 2, "--clock must be above 0 and below 1,000,000, not inf"),
        (("serve", "--rate", "-2"), 2, "--rate must be above 0 and below 1,000,000, not -2"),
        (("serve", "--joker-bomb", "big"), 2, "--joker-bomb is competition or recording, not 'big'"),
        (("serve", "--agents", "randm"), 2, "no agent for guandan named 'randm'; did you mean random?"),
        (("serve", "--agents", "random,random,random,random"), 2, "--agents leaves no seat for a user"),
        (("serve", "--option", "a_attempts=x"), 2, "option a_attempts of guandan expects an integer, not 'x'"),
        (("serve", "--option", "double_tribute=by_luck"), 2, "double_tribute must be by_card or by_seat"),
        (("serve", "--host", "nowhere.invalid"), 2, "--host nowhere.invalid: no such host"),
        (("connect", "chess", "--url", NOWHERE), 2, "no game with the competition's messages named 'chess'"),
        (("connect",), 2, "--url '' is no address of a server: write ws://127.0.0.1:23456/game/NAME"),
        (("connect", "--url", "http://127.0.0.1/"), 2, "is no address of a server"),
        (("connect", "--url", NOWHERE, "--agent", "randm"), 2, "no agent for guandan named 'randm'"),
        (("connect", "--url", NOWHERE, "--seed", "-1"), 2, "--seed must be at least 0, not -1"),
        (("connect", "--url", NOWHERE, "--retry", "-1"), 2, "--retry must be at least 0 and below 1,000,000, not -1"),
        (("connect", "--url", NOWHERE, "--retry", "inf"), 2, "--retry must be at least 0 and below 1,000,000, not inf"),
        (("connect", "--url", "ws://nowhere.invalid/game/me"), 2, "no such host as nowhere.invalid"),
        (("connect", "--url", NOWHERE), 1, "no server is there; start one with `dancfr serve guandan`"),
    ],
)
def test_what_goes_wrong_is_one_line(
    arguments: tuple[str, ...], code: int, expected: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments) == code
    out, err = capfd.readouterr()
    assert out == ""
    *_, line = err.splitlines()
    assert line.startswith("dancfr: ")
    assert expected in line


def test_the_help_names_every_option(capfd: pytest.CaptureFixture[str]) -> None:
    for command, options in (
        ("serve", ("--host", "--port", "--matches", "--agents", "--clock", "--seed", "--joker-bomb", "--json")),
        ("connect", ("--url", "--agent", "--seed", "--retry", "--json")),
    ):
        assert run(command, "--help") == 0
        out = capfd.readouterr().out
        assert all(option in out for option in options)
