"""`dancfr serve geister` and `dancfr connect geister` as processes of their own."""

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dancfr.cli import main
from dancfr.watch.progress import COMPILING
from tests.dancfr.serve.geister.games import read

NEVER = 120.0
"""Seconds: longer than anything here may take."""


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


def server(processes: Processes, *more: str) -> tuple[Process, list[str]]:
    """A server on free ports, and the ports of the seats of users."""
    process = processes.start("serve", "geister", "--port", "0", *more)
    line = process.wait_for(r"listening on 127\.0\.0\.1, port \d+ for .*; Ctrl-C ends")[0]
    return process, re.findall(r"port (\d+) for the (?:first|second) player", line)


def result(outcome: tuple[int, str, str]) -> dict[str, Any]:
    code, out, err = outcome
    assert code == 0, err
    (line,) = out.splitlines()
    parsed: dict[str, Any] = json.loads(line)
    return parsed


def test_two_processes_play_games_at_a_third(processes: Processes, tmp_path: Path) -> None:
    serving, ports = server(processes, "--games", "3", "--records", str(tmp_path), "--json")
    users = [
        processes.start("connect", "geister", "--port", port, "--agent", agent, "--games", "3", "--json")
        for port, agent in zip(ports, ("heuristic", "rush"), strict=True)
    ]
    told = [result(user.end()) for user in users]
    played = result(serving.end())
    assert [game["status"] for game in played["games"]] == ["finished"] * 3
    assert played["won"] == [told[0]["won"], told[1]["won"]] == [told[1]["lost"], told[0]["lost"]]
    assert played["drawn"] == told[0]["drawn"]
    assert played["plies"] == told[0]["decisions"] + told[1]["decisions"]
    assert [each["seat"] for each in told] == [0, 1]
    assert all((each["status"], each["games"], each["refused"]) == ("finished", 3, 0) for each in told)
    assert [Path(game["file"]).name for game in played["games"]] == [f"game-000{i}.txt" for i in (1, 2, 3)]
    for game in played["games"]:
        lines = read(Path(game["file"]))
        assert sum("> MOV:" in line for line in lines) == game["plies"]
        assert all(
            re.fullmatch(r"[01](< (SET\?|OK[ BR]|(MOV\?|WON:|LST:|DRW:).{48})|> (SET|MOV):.*)", ln) for ln in lines
        )


def test_a_signal_ends_a_server_in_one_line(processes: Processes, tmp_path: Path) -> None:
    serving, (port,) = server(processes, "--agents", "rush", "--clock", "300", "--records", str(tmp_path / "games"))
    with socket.create_connection(("127.0.0.1", int(port)), timeout=60) as user:
        user.sendall(b"SET:ABCD\r\n")
        serving.wait_for(r"game 1: 127\.0\.0\.1:\d+ against rush")
        serving.signal(signal.SIGTERM)
        while user.recv(1000):
            pass
    code, out, err = serving.end()
    assert code == 0, err
    expected = r"games: 1 stopped; won by the first player 0, by the second 0, drawn 0; 0 plies, .*\n"
    assert re.fullmatch(expected, out)
    assert err.splitlines()[-1] == "game 1: stopped; 0 plies"
    assert "Traceback" not in err
    assert len(list((tmp_path / "games").iterdir())) == 1


def test_ctrl_c_ends_a_client_in_one_line_and_then_the_server(processes: Processes) -> None:
    serving, ports = server(processes, "--json")
    with socket.create_connection(("127.0.0.1", int(ports[0])), timeout=60) as waiting:
        waiting.sendall(b"SET:ABCD\r\n")
        user = processes.start("connect", "geister", "--port", ports[1], "--agent", "random")
        serving.wait_for("game 1: .* against ")
        user.signal(signal.SIGINT)
        code, out, err = user.end()
        assert code == 0, err
        assert re.fullmatch(r"stopped: 0 games, 0 won, 0 lost, 0 drawn; 0 decisions, .*\n", out)
        assert err in ("", f"{COMPILING}\n")
        serving.wait_for("game 1: .* has won, disconnected")
    serving.signal(signal.SIGINT)
    (game,) = result(serving.end())["games"]
    assert (game["winner"], game["ending"]) == (0, "disconnected")


def run(*arguments: str) -> int:
    """Exit code of a command in this process."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_ports_in_use_are_wrong_use(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert run("serve", "geister", "--port", port) == 2
        assert capfd.readouterr().err == (
            f"dancfr: port {port} of 127.0.0.1 is in use: end what listens there, or choose another with --port\n"
        )
        assert run("serve", "geister", "--port", "0", "--second-port", port) == 2
        assert capfd.readouterr().err.endswith("or choose another with --second-port\n")


NOWHERE = ("connect", "geister", "--port", "9")


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (("serve", "geister", "--port", "70000"), 2, "--port must be from 0 to 65535, not 70000"),
        (
            ("serve", "geister", "--port", "65535"),
            2,
            "leaves no port after it for the second player: say --second-port",
        ),
        (("serve", "geister", "--second-port", "-1"), 2, "--second-port must be from 0 to 65535, not -1"),
        (("serve", "geister", "--second-port", "10000"), 2, "--second-port 10000 is that of the first player"),
        (("serve", "geister", "--games", "0"), 2, "--games must be at least 1, not 0"),
        (("serve", "geister", "--seed", "-1"), 2, "--seed must be at least 0, not -1"),
        (("serve", "geister", "--clock", "0"), 2, "--clock must be above 0 and below 1,000,000, not 0"),
        (("serve", "geister", "--clock", "nan"), 2, "--clock must be above 0 and below 1,000,000, not nan"),
        (("serve", "geister", "--reserve", "-1"), 2, "--reserve must be at least 0 and below 1,000,000, not -1"),
        (("serve", "geister", "--reserve", "inf"), 2, "--reserve must be at least 0 and below 1,000,000, not inf"),
        (("serve", "geister", "--agents", "rsh"), 2, "no agent for geister named 'rsh'; did you mean rush?"),
        (("serve", "geister", "--agents", "rush,rush"), 2, "--agents leaves no seat for a user"),
        (("serve", "geister", "--agents", "a,b,c"), 2, "--agents names 3 seats, but there are 2"),
        (("serve", "geister", "--option", "random_setup=true"), 2, "--option random_setup does not matter to a server"),
        (("serve", "geister", "--option", "ply_limit=0"), 2, "ply_limit must be from 1 to 32000, not 0"),
        (("serve", "geister", "--host", "nowhere.invalid"), 2, "--host nowhere.invalid: no such host"),
        (("serve", "geister", "--records", "/dev/null/x"), 2, "--records /dev/null/x: Not a directory"),
        (("serve", "geister", "--matches", "2"), 2, "--matches means nothing for geister: leave it out"),
        (("serve", "geister", "--rate", "2"), 2, "--rate means nothing for geister: leave it out"),
        (("serve", "guandan", "--games", "2"), 2, "--games means nothing for guandan: leave it out"),
        (("serve", "guandan", "--records", "x"), 2, "--records means nothing for guandan: leave it out"),
        (("serve", "geistr"), 2, "no game with the competition's messages named 'geistr'; did you mean geister?"),
        ((*NOWHERE, "--agent", "rsh"), 2, "no agent for geister named 'rsh'"),
        ((*NOWHERE, "--games", "0"), 2, "--games must be at least 1, not 0"),
        ((*NOWHERE, "--seed", "-1"), 2, "--seed must be at least 0, not -1"),
        ((*NOWHERE, "--retry", "-1"), 2, "--retry must be at least 0 and below 1,000,000, not -1"),
        ((*NOWHERE, "--url", "ws://x"), 2, "--url means nothing for geister: leave it out"),
        (("connect", "guandan", "--port", "9"), 2, "--port means nothing for guandan: leave it out"),
        (("connect", "geister", "--port", "0"), 2, "--port must be from 1 to 65535, not 0"),
        (("connect", "geister", "--host", "nowhere.invalid"), 2, "--host 'nowhere.invalid': no such host"),
        (NOWHERE, 1, "127.0.0.1:9: no server is there; start one with `dancfr serve geister`"),
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
        ("serve", ("--second-port", "--games", "--reserve", "--records", "geister")),
        ("connect", ("--host", "--port", "--games", "geister")),
    ):
        assert run(command, "--help") == 0
        out = capfd.readouterr().out
        assert all(option in out for option in options)
