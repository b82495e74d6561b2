"""A learner is killed at ten random instants, and while checkpoints are written."""

import random
import time
from pathlib import Path

import pytest

from tests.faults.training import LEARNER, assert_as_if_undisturbed, training


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_learner_is_killed_at_ten_random_instants(longer_calm: Path, tmp_path: Path) -> None:
    draw = random.Random(10)
    with training(tmp_path / "run", "iterations=100000", "--workers", "1") as run:
        for kill in range(10):
            reached = run.iteration()
            run.reach(reached + draw.randint(1, 4))
            time.sleep(draw.uniform(0, 2))
            if kill % 3 == 2:  # in the middle of a save
                run.wait_for(lambda: list((tmp_path / "run" / "checkpoints").glob("*.partial")), 120)
            run.kill(LEARNER, draw.randrange(2))
            run.wait_for(lambda kill=kill: len(run.rows("event")) > kill, 120)
        run.reach(run.iteration() + 2)
        run.process.terminate()
        assert run.end() == 0, run.told()
    events = run.rows("event")
    assert len(events) == 10
    lost = [row["lost_iterations"] for row in events]
    seconds = [row["seconds"] for row in events]
    print(f"lost {lost} iterations, recovered in {min(seconds):.1f} to {max(seconds):.1f} s")
    assert max(lost) <= 3
    assert_as_if_undisturbed(tmp_path / "run", longer_calm)
