"""A machine that is taken away announces this by SIGTERM half a minute before: within 20 seconds the run has ended,
with a checkpoint of the current iteration if that ends in time, else with the one before it. After Ctrl-C there is
more time."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from dancfr.methods.stopping import NOTICE_S as GRACE_S
from tests.faults.training import assert_as_if_undisturbed, calm_run, strategies, training

NOTICE_S = 20
LONG = ("advantage_training.minibatches=16000", "iterations=2", "checkpoint_every=1")
"""A fit of a quarter of a minute, where nothing else runs."""


@pytest.fixture(scope="module")
def long_calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return calm_run(tmp_path_factory.mktemp("long") / "calm", 2, *LONG)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("place", ["inline", "ray"])
def test_an_iteration_that_takes_long_is_left_and_done_again(place: str, long_calm: Path, tmp_path: Path) -> None:
    where = ("--inline",) if place == "inline" else ("--workers", "2")
    with training(tmp_path / "run", *LONG, *where) as run:
        run.reach(1, 600)
        time.sleep(2)
        took = stop(run)
    assert "iteration 2 did not end in time" in run.told(), "an iteration is too short for this test"
    assert [folder.name for folder in (tmp_path / "run" / "checkpoints").iterdir()] == ["000001"]
    assert list(strategies(tmp_path / "run")) == ["p0-000001.safetensors"]
    with training(tmp_path / "run", *LONG, *where, "--resume") as again:
        assert again.end(600) == 0, again.told()
    print(f"{place}: SIGTERM to the end of the process {took:.1f} s")
    assert_as_if_undisturbed(tmp_path / "run", long_calm)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_after_ctrl_c_a_long_iteration_ends(long_calm: Path, tmp_path: Path) -> None:
    """The same iteration, which SIGTERM cuts off."""
    with training(tmp_path / "run", *LONG, "checkpoint_every=100", "--inline") as run:
        run.reach(1, 600)
        time.sleep(2)
        run.process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        assert run.end(120) == 0, run.told()
        assert time.monotonic() - begin > GRACE_S, "an iteration is too short for this test"
    assert [folder.name for folder in (tmp_path / "run" / "checkpoints").iterdir()] == ["000002"]
    assert_as_if_undisturbed(tmp_path / "run", long_calm)


def test_a_short_iteration_comes_to_its_end(calm: Path, tmp_path: Path) -> None:
    """The only checkpoint is the one of the signal: no other was due."""
    rare = ("checkpoint_every=100000", "--inline")
    with training(tmp_path / "run", "iterations=100000", *rare) as run:
        run.reach(4)
        assert stop(run) < GRACE_S + 10
    assert "did not end in time" not in run.told()
    done = run.iteration()
    assert f"stopped after iteration {done}; continue with: dancfr train geister-quick --run-dir" in run.told()
    (checkpoint,) = (tmp_path / "run" / "checkpoints").iterdir()
    assert checkpoint.name == f"{done:06d}"
    assert (checkpoint / "manifest.json").exists()
    with training(tmp_path / "run", f"iterations={done + 2}", *rare, "--resume") as again:
        assert again.end() == 0, again.told()
    assert_as_if_undisturbed(tmp_path / "run", calm)
    assert len(run.rows()) == done + 2


def test_closed_terminal_stops_a_run_on_ray_with_a_checkpoint(calm: Path, tmp_path: Path) -> None:
    """The shell and the system send SIGHUP, also to the processes of Ray, which have to live until the checkpoint."""
    shown, terminal = os.openpty()
    rare = ("iterations=100000", "checkpoint_every=100000", "--workers", "1")
    with (
        subprocess.Popen(["cat"], stdin=shown, stdout=subprocess.DEVNULL) as screen,
        training(tmp_path / "run", *rare, terminal=terminal) as run,
    ):
        os.close(terminal)
        os.close(shown)
        run.wait_for((tmp_path / "run" / "config.json").exists, 60)
        os.killpg(run.process.pid, signal.SIGUSR1)  # ignored, during the start as later
        run.reach(3)
        os.killpg(run.process.pid, signal.SIGUSR2)
        screen.kill()
        for _ in range(2):
            os.killpg(run.process.pid, signal.SIGHUP)
            time.sleep(0.2)
        assert run.end(60) == 1, "the result cannot be printed"
    (checkpoint,) = (tmp_path / "run" / "checkpoints").iterdir()
    assert checkpoint.name == f"{run.iteration():06d}"
    assert_as_if_undisturbed(tmp_path / "run", calm)


def test_the_last_evaluation_may_be_cut_off(tmp_path: Path) -> None:
    """All iterations are done, and none of them is lost."""
    much = ("evaluation.every=100", "evaluation.games=400000", "evaluation.opponents=random,heuristic,rush")
    with training(tmp_path / "run", "iterations=4", "checkpoint_every=100", *much, "--inline") as run:
        run.wait_for((tmp_path / "run" / "checkpoints" / "000004").exists, 120)
        time.sleep(1)
        stop(run)
    assert [folder.name for folder in (tmp_path / "run" / "checkpoints").iterdir()] == ["000004"]
    assert "the last evaluation did not end in time: --resume continues after iteration 4" in run.told()


def test_a_second_signal_ends_at_once_and_says_from_where_to_go_on(tmp_path: Path) -> None:
    endless = ("advantage_training.minibatches=1000000", "checkpoint_every=1", "--inline")
    with training(tmp_path / "new", *endless) as run:
        run.wait_for((tmp_path / "new" / "config.json").exists, 60)
        abort(run)
    assert "can be resumed from its start: it has no checkpoint yet" in run.told()
    with training(tmp_path / "old", "iterations=1", "checkpoint_every=1", "--inline") as run:
        assert run.end() == 0, run.told()
    with training(tmp_path / "old", *endless, "iterations=2", "--resume", "--allow-changes") as run:
        run.wait_for(lambda: "resumed after iteration 1" in run.told(), 60)
        abort(run)
    assert "can be resumed after iteration 1" in run.told()


def abort(run) -> None:
    """Sends two signals to a run that is starting or in an endless iteration; the second ends the process.

    They are different ones, so that both arrive although they are sent together: a run that is still starting would end
    by itself after the first.
    """
    time.sleep(2)
    run.process.send_signal(signal.SIGINT)
    run.process.send_signal(signal.SIGTERM)
    assert run.end(30) == 1, run.told()
    assert "a second signal aborts" in run.told()
    assert run.told().splitlines()[-1] == "dancfr: aborted"


def stop(run) -> float:
    """Seconds from SIGTERM to the end of the process, by when the checkpoint is written."""
    begin = time.monotonic()
    run.process.send_signal(signal.SIGTERM)
    assert run.end(60) == 0, run.told()
    took = time.monotonic() - begin
    assert took < NOTICE_S, run.told()
    return took
