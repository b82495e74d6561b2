"""A learner or a buffer is lost: the run goes back to its newest checkpoint, and ends as if nothing had happened."""

import re
from pathlib import Path

from tests.faults.training import BUFFER, LEARNER, TRAVERSER, assert_as_if_undisturbed, training


def test_a_worker_a_learner_and_a_buffer_are_killed(calm: Path, tmp_path: Path) -> None:
    with training(tmp_path / "run", "iterations=10", "--workers", "2") as run:
        run.reach(2)
        run.kill(TRAVERSER)
        run.reach(4)
        run.kill(LEARNER)
        run.wait_for(lambda: run.rows("event"), 60)
        run.reach(7)
        run.kill(BUFFER)
        assert run.end() == 0, run.told()
    assert re.search(r"worker .* died", run.told())
    events = run.rows("event")
    assert [row["event"] for row in events] == ["recovered", "recovered"]
    assert all(row["lost_iterations"] <= 3 for row in events), "at most one checkpoint interval is lost"
    assert "iterations are done again" in run.told()
    assert_as_if_undisturbed(tmp_path / "run", calm)
