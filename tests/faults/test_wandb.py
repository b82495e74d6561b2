"""W&B is away, or dies in the middle of a training: one line of warning, and the run is unchanged."""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.faults.commands import dancfr, training_of
from tests.faults.training import SHORT, assert_as_if_undisturbed, rows

CLOSED = "http://127.0.0.1:9"
"""The discard port: nothing listens there."""


def assert_one_warning(told: str) -> None:
    (line,) = (line for line in told.splitlines() if "W&B" in line)
    assert line.startswith("warning: W&B failed (")
    assert line.endswith("metrics.jsonl has everything")


def test_a_server_that_cannot_be_reached_costs_one_line(
    calm: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    monkeypatch.setenv("WANDB_BASE_URL", CLOSED)
    monkeypatch.setenv("WANDB_INIT_TIMEOUT", "1")
    outcome = dancfr(capfd, *training_of(tmp_path / "run", "iterations=4"), "--wandb", "online")
    assert outcome.code == 0, outcome.err
    assert_one_warning(outcome.err)
    assert_as_if_undisturbed(tmp_path / "run", calm)
    assert [row["iteration"] for row in rows(tmp_path / "run")] == [1, 2, 3, 4]


def start(path: Path, iterations: int, mode: str, *more: str, **environment: str) -> subprocess.Popen[str]:
    """A training with W&B, as a process of its own."""
    command = [sys.executable, "-m", "dancfr", "train", "geister-quick", *SHORT, f"iterations={iterations}", "--inline"]
    return subprocess.Popen(
        [*command, "--run-dir", str(path), "--wandb", mode, *more],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_death_of_its_service_costs_one_line(calm: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    process = start(path, 12, "offline")
    try:
        killed = kill_service(process, path)
        _, told = process.communicate(timeout=180)
    finally:
        process.kill()
    assert process.returncode == 0, told
    assert killed >= 2
    assert_one_warning(told)
    assert_as_if_undisturbed(path, calm)
    assert [row["iteration"] for row in rows(path)] == list(range(1, 13))


def is_service(process: psutil.Process) -> bool:
    try:
        return process.name().startswith("wandb-core")
    except psutil.Error:  # it has ended
        return False


def kill_service(process: subprocess.Popen[str], path: Path) -> int:
    """Kills W&B's service once two iterations are done; the number of rows there were then."""
    deadline = time.monotonic() + 120
    while True:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        services = [child for child in psutil.Process(process.pid).children(recursive=True) if is_service(child)]
        done = len(rows(path))
        if services and done >= 2:
            for service in services:
                service.kill()
            return done
        time.sleep(0.02)


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_whole_training_and_its_resumption_without_a_server(calm: Path, tmp_path: Path) -> None:
    """With W&B's own patience: it may hold up the end by a minute and a bit, and no more."""
    path = tmp_path / "run"
    for iterations, more in ((5, ()), (9, ("--resume",))):
        begin = time.monotonic()
        process = start(path, iterations, "online", *more, WANDB_API_KEY="0" * 40, WANDB_BASE_URL=CLOSED)
        _, told = process.communicate(timeout=300)
        assert process.returncode == 0, told
        assert_one_warning(told)
        print(f"{iterations} iterations without a server: {time.monotonic() - begin:.0f} s")
    assert_as_if_undisturbed(path, calm)
    assert [row["iteration"] for row in rows(path)] == list(range(1, 10))
