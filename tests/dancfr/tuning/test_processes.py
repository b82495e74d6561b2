"""Searches as processes: kills and Ctrl-C in the middle of a trial, and trials in parallel on Ray."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.dancfr.outcomes import Command
from tests.dancfr.tuning.searches import PRESET, SETTINGS, arguments, write_space

LONG = tuple("iterations=60" if word.startswith("iterations=") else word for word in SETTINGS)
"""Trainings that a signal can meet."""


def start(folder: Path, *more: str) -> subprocess.Popen[str]:
    words = arguments(folder, "--inline", *more, settings=LONG)
    command = [sys.executable, "-m", "dancfr", *words, "--json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ)


def wait_for_evaluations(run: Path, process: subprocess.Popen[str]) -> None:
    """Waits until a run has a checkpoint and evaluations."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        record = run / "metrics.jsonl"
        if record.exists() and record.read_text().count("nash_conv") >= 2:
            return
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.02)
    pytest.fail(f"{run} has not been evaluated within two minutes")


def resumed(command: Command, folder: Path, *more: str) -> dict[str, Any]:
    outcome = command("tune", PRESET, "--folder", str(folder), "--resume", "--device", "cpu", "--json", *more)
    assert outcome.code == 0, outcome.err
    found: dict[str, Any] = json.loads(outcome.out)
    return found


def without_times(trials: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in each.items() if key != "seconds"} for each in trials]


def test_a_killed_search_resumes_with_the_result_of_one_that_was_not(command: Command, tmp_path: Path) -> None:
    given = ("--space", write_space(tmp_path), "--trials", "3", "--report-seeds", "0")
    whole = start(tmp_path / "whole", *given)
    out, err = whole.communicate(timeout=200)
    assert whole.returncode == 0, err
    killed = start(tmp_path / "killed", *given)
    wait_for_evaluations(tmp_path / "killed" / "trials" / "1" / "seed101", killed)
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=60)
    found = resumed(command, tmp_path / "killed", "--inline")
    assert without_times(found["trials"]) == without_times(json.loads(out)["trials"])
    assert not found["stopped"]


def test_ctrl_c_says_how_to_continue(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "search"
    given = ("--space", write_space(tmp_path), "--trials", "2", "--report-seeds", "1", "--minutes", "90")
    process = start(folder, *given)
    wait_for_evaluations(folder / "trials" / "0" / "seed101", process)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert json.loads(out)["stopped"]
    last = err.splitlines()[-1]
    assert last == (
        f"stopped after 0 of 2 trials; continue with: dancfr tune {PRESET} --folder {folder} --resume --inline "
        "--device cpu --minutes 90"
    )
    found = resumed(command, folder, "--inline")
    assert [each["state"] for each in found["trials"]] == ["complete"] * 2
    assert found["comparison"]["best"]["ci95"] is None  # of one run


def test_trials_are_trained_in_parallel_on_ray(command: Command, tmp_path: Path) -> None:
    given = ("--space", write_space(tmp_path), "--trials", "3", "--parallel", "2", "--report-seeds", "1", "--json")
    outcome = command(*arguments(tmp_path / "search", *given))
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert [each["state"] for each in found["trials"]] == ["complete"] * 3
    assert len({str(each["settings"]) for each in found["trials"]}) == 3
    assert len(found["comparison"]["preset"]["values"]) == 1
    assert resumed(command, tmp_path / "search", "--parallel", "2")["trials"] == found["trials"]


def test_a_ray_that_is_not_there_is_told_in_one_line(command: Command, tmp_path: Path) -> None:
    given = ("--space", write_space(tmp_path), "--trials", "2", "--parallel", "2", "--address", "127.0.0.1:9")
    outcome = command(*arguments(tmp_path / "search", *given))
    assert outcome.code == 1
    assert "Traceback" not in outcome.err
    assert "127.0.0.1:9" in outcome.err.splitlines()[-1]


def test_trials_of_a_search_on_ray_are_those_of_one_without(command: Command, tmp_path: Path) -> None:
    given = ("--space", write_space(tmp_path), "--trials", "2", "--report-seeds", "0", "--json")
    results = []
    for name, more in (("ray", ("--workers", "2")), ("inline", ("--inline",))):
        outcome = command(*arguments(tmp_path / name, *given, *more))
        assert outcome.code == 0, outcome.err
        results.append(without_times(json.loads(outcome.out)["trials"]))
    assert results[0] == results[1]
