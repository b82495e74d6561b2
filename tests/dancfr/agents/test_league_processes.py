"""Tests of `dancfr league` as a process: killed and stopped in the middle, and on workers of Ray."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.dancfr.agents.league_files import played, standings_of
from tests.dancfr.outcomes import Command

ROOT = Path(__file__).parents[3]
LEAGUE = ("--game", "mini-geister", "--batch", "40", "--seed", "2")


@contextmanager
def playing(folder: Path, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    """Starts `dancfr league` in another process, which is killed at the end if it still runs."""
    words = [sys.executable, "-m", "dancfr", "league", str(folder), *LEAGUE, *more]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with (folder.parent / f"{folder.name}.log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, env=environment, start_new_session=True)
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for(folder: Path, results: int, process: subprocess.Popen[bytes], timeout: float = 120) -> None:
    """Returns once games.jsonl has at least this many lines."""
    end = time.monotonic() + timeout
    file = folder / "games.jsonl"
    while not file.exists() or file.read_bytes().count(b"\n") < results:
        assert process.poll() is None, (folder.parent / f"{folder.name}.log").read_text()
        assert time.monotonic() < end, "the league does not play"
        time.sleep(0.01)


def test_a_league_that_is_killed_again_and_again_ends_as_if_undisturbed(command: Command, tmp_path: Path) -> None:
    done = 0
    for _ in range(3):
        with playing(tmp_path / "killed", "--inline", "--minutes", "10") as process:
            wait_for(tmp_path / "killed", done + 3, process)
            process.kill()
        lines = (tmp_path / "killed" / "games.jsonl").read_bytes()
        assert lines.count(b"\n") >= done + 3
        done = lines.count(b"\n")
    more = str(40 * (50 - done % 50))
    for name, games in (("killed", more), ("calm", str(40 * done + int(more)))):
        outcome = command("league", str(tmp_path / name), *LEAGUE, "--inline", "--games", games)
        assert outcome.code == 0, outcome.err
    assert played(tmp_path / "killed") == played(tmp_path / "calm")
    assert standings_of(tmp_path / "killed") == standings_of(tmp_path / "calm")


def test_a_signal_ends_the_command_with_standings(tmp_path: Path) -> None:
    folder = tmp_path / "l"
    with playing(folder, "--inline", "--minutes", "10") as process:
        wait_for(folder, 3, process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    assert standings_of(folder)["games"] == 40 * len(played(folder))
    assert (folder / "matrix.png").exists()
    assert "Elo" in (tmp_path / "l.log").read_text()


def test_a_league_is_played_by_one_process_at_a_time(command: Command, tmp_path: Path) -> None:
    with playing(tmp_path / "l", "--inline", "--minutes", "10") as process:
        wait_for(tmp_path / "l", 1, process)
        outcome = command("league", str(tmp_path / "l"), "--games", "0")
        assert outcome.code == 2
        assert f"is in use by process {process.pid}" in outcome.err


def test_minutes_are_a_limit(tmp_path: Path, command: Command) -> None:
    began = time.monotonic()
    outcome = command("league", str(tmp_path / "l"), *LEAGUE, "--inline", "--minutes", "0.02")
    assert outcome.code == 0, outcome.err
    assert time.monotonic() - began < 60
    assert played(tmp_path / "l")


@pytest.mark.timeout(600)
def test_ray_workers_play_what_one_process_plays(command: Command, mini_run: Path, tmp_path: Path) -> None:
    members = [word for name in ("random", "heuristic", "rush", str(mini_run)) for word in ("--add", name)]
    for name, where in (("ray", ("--workers", "2")), ("inline", ("--inline",))):
        outcome = command("league", str(tmp_path / name), *LEAGUE, *members, *where, "--games", "800")
        assert outcome.code == 0, outcome.err
    assert played(tmp_path / "ray") == played(tmp_path / "inline")
    assert standings_of(tmp_path / "ray") == standings_of(tmp_path / "inline")
