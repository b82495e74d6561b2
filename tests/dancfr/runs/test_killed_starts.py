"""Starts of runs that are killed while config.json is written: the same command starts the run again."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dancfr.errors import UsageError
from dancfr.methods import find_preset
from dancfr.runs.run import Run
from dancfr.trainings import check_plan

PRESET = "leduc-dream-quick"
KILLED = f"""
import os, signal, sys
from pathlib import Path
from dancfr.methods import find_preset
from dancfr.runs.run import Run

calls = 0

def fsync(descriptor):
    global calls
    calls += 1
    if calls == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

os.fsync = fsync
Run.create(Path(sys.argv[1]), "{PRESET}", "dream", find_preset("{PRESET}").config)
"""


@pytest.mark.parametrize(("call", "is_run"), [(1, False), (2, True)])
def test_a_start_that_was_killed_is_no_obstacle_to_the_next(tmp_path: Path, call: int, is_run: bool) -> None:
    path = tmp_path / "a"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path), str(call)], capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert (path / "config.json").exists() is is_run
    check_plan([(path, PRESET, ())])
    if is_run:
        Run.open(path, writing=True).close()
        return
    assert list(path.glob(".config.json.*.partial"))
    Run.create(path, PRESET, "dream", find_preset(PRESET).config).close()
    left = sorted(entry.name for entry in path.iterdir())
    assert left == ["checkpoints", "config.json", "run.lock", "strategies"]


def test_a_start_refuses_what_no_killed_start_leaves(tmp_path: Path) -> None:
    for inner in ("checkpoints/000001", "pictures"):
        path = tmp_path / inner.replace("/", "-")
        (path / inner).mkdir(parents=True)
        with pytest.raises(UsageError, match="is not empty: choose another folder"):
            Run.create(path, PRESET, "dream", find_preset(PRESET).config)
