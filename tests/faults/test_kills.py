"""The whole training is killed, in the middle of a save too: at most one interval of checkpoints is lost."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.faults.conftest import ITERATIONS
from tests.faults.training import Training, assert_as_if_undisturbed, rows, training

EVERY = 3
"""Iterations between two checkpoints of the harness' trainings."""
KILLS = 10
RESUMED = re.compile(r"resumed after iteration (\d+)|no checkpoint yet")


def run_until(path: Path, when: Callable[[Training], bool], more: tuple[str, ...] = ()) -> int:
    """Trains, or resumes, until `when` says so, then kills it; returns the last iteration that has a row."""
    with training(path, f"iterations={ITERATIONS}", "--inline", *more) as run:
        deadline = time.monotonic() + 200
        while not when(run):
            assert run.process.poll() is None, run.told()
            assert time.monotonic() < deadline, run.told()
            time.sleep(0.0005)
        run.process.kill()
        assert run.end(60) == -9
        return run.iteration()


def saving(iteration: int) -> Callable[[Training], bool]:
    """While a checkpoint of that iteration or a later one is being written."""

    def is_saving(run: Training) -> bool:
        folder = run.path / "checkpoints"
        found = [part.name for part in folder.glob("*.partial")] if folder.exists() else []
        return any(int(name.split(".")[0]) >= iteration for name in found)

    return is_saving


def some_time_after(iteration: int, seconds: float) -> Callable[[Training], bool]:
    """A condition: this many seconds after the process has written that iteration's row."""
    reached: list[float] = []

    def is_then(run: Training) -> bool:
        if not reached and run.iteration() >= iteration:
            reached.append(time.monotonic())
        return bool(reached) and time.monotonic() - reached[0] >= seconds

    return is_then


def resumed_from(told: str, times: int) -> int:
    """The iteration from which the newest of the given number of processes resumed."""
    found = RESUMED.findall(told)
    assert len(found) == times, told
    return int(found[-1] or 0)


def newest_checkpoint(path: Path) -> int:
    folder = path / "checkpoints"
    return max((int(part.name) for part in folder.glob("*") if part.name.isdigit()), default=0)


def test_a_kill_in_the_middle_of_a_save_costs_one_interval(calm: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    reached = run_until(path, saving(6))
    assert reached % EVERY == 0
    assert reached >= 6
    assert [part.name for part in (path / "checkpoints").glob("*.partial")] == [f"{reached:06d}.partial"]
    with training(path, f"iterations={reached + 2}", "--inline", "--resume") as again:
        assert again.end() == 0, again.told()
    assert reached - resumed_from(again.told(), 1) == EVERY
    assert list((path / "checkpoints").glob("*.partial")) == []
    assert_as_if_undisturbed(path, calm)
    assert len(rows(path, "train")) == reached + 2


def test_a_kill_before_the_first_iteration_leaves_what_can_be_resumed(calm: Path, tmp_path: Path) -> None:
    path = tmp_path / "run"
    assert run_until(path, lambda run: (run.path / "config.json").exists()) == 0
    with training(path, "iterations=2", "--inline", "--resume") as again:
        assert again.end() == 0, again.told()
    assert_as_if_undisturbed(path, calm)
    assert len(rows(path, "train")) == 2


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [1])
def test_ten_kills_at_random_cost_at_most_an_interval_each(longer_calm: Path, tmp_path: Path, seed: int) -> None:
    """Every other one in the middle of a save, where that comes to pass."""
    path, rng = tmp_path / "run", np.random.default_rng(seed)
    reached, lost = 0, []
    for kill in range(KILLS):
        begins = newest_checkpoint(path)
        later, seconds = int(rng.integers(EVERY, 2 * EVERY)), float(rng.uniform(0, 0.4))
        when = saving(begins + later - EVERY + 1) if kill % 2 else some_time_after(begins + later, seconds)
        before, reached = reached, run_until(path, resumed_first(when, kill), ("--resume",) if kill else ())
        if kill:
            lost.append(before - resumed_from(path.with_name("run.log").read_text(), kill))
            assert before - lost[-1] == begins, "it resumed from the newest checkpoint"
    with training(path, f"iterations={ITERATIONS}", "--inline", "--resume") as last:
        assert last.end(600) == 0, last.told()
    lost.append(reached - resumed_from(last.told(), KILLS))
    print(f"iterations lost at each of {KILLS} kills: {lost}")
    assert len(lost) == KILLS
    assert 0 <= min(lost) <= max(lost) <= EVERY
    assert_as_if_undisturbed(path, longer_calm)
    assert len(rows(path, "train")) == ITERATIONS


def resumed_first(when: Callable[[Training], bool], times: int) -> Callable[[Training], bool]:
    """Not before the process has reported that it resumed: until then it has done nothing to be lost."""
    told = [times == 0]

    def is_then(run: Training) -> bool:
        told[0] = told[0] or len(RESUMED.findall(run.told())) >= times
        return told[0] and when(run)

    return is_then
