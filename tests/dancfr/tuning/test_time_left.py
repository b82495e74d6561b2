"""A search tells the time that it still needs."""

import time

import pytest

from dancfr.tuning.study import Plan
from dancfr.tuning.time_left import TimeLeft

SPACE = {"training.learning_rate": {"low": 1e-4, "high": 1e-2}}


def plan(**more: int) -> Plan:
    return Plan(preset="leduc-policy-gradient", space=SPACE, metric="exploitability", trials=5, **more)


def ended(seconds: float, state: str = "complete") -> dict[str, object]:
    return {"number": 0, "state": state, "value": 0.1, "seconds": seconds}


def test_time_left_is_the_mean_of_the_trials_and_whole_runs_for_the_comparison() -> None:
    left = TimeLeft(plan(report_seeds=2), 3, 1, None)
    assert left.after(ended(40)) == "2 trials and the comparison left, about 4:00 min"  # 2 * 40 s, 4 * 40 s
    assert left.after(ended(20, "pruned")) == "1 trial and the comparison left, about 3:10 min"  # 30 s, 4 * 40 s
    assert left.after(ended(60)) == "the comparison left, about 3:20 min"  # 4 * 50 s


def test_time_left_counts_parallel_trials_and_seeds() -> None:
    left = TimeLeft(plan(seeds=2, report_seeds=3), 5, 2, None)
    assert left.after(ended(20)) == "4 trials and the comparison left, about 1:10 min"  # 2 * 20 s, 3 * 10 s
    alone = TimeLeft(plan(report_seeds=0), 2, 2, None)
    assert alone.after(ended(20)) == "1 trial left, about 20 s"
    assert alone.after(ended(20)) == ""


@pytest.mark.parametrize("state", ["pruned", "failed"])
def test_time_left_without_a_whole_trial_leaves_the_comparison_out(state: str) -> None:
    left = TimeLeft(plan(), 2, 1, None)
    assert left.after(ended(10, state)) == "1 trial left, about 10 s"
    assert left.after(ended(10, state)) == ""


def test_time_left_ends_with_the_last_trial_that_begins_in_time() -> None:
    left = TimeLeft(plan(report_seeds=0), 5, 1, time.time() + 30.4)
    assert left.after(ended(100)) == "4 trials left, about 2:10 min"
