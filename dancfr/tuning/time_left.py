"""Estimates how long a search takes, from the mean time of its trials so far."""

import time
from typing import Any

from dancfr.tuning.study import Plan
from dancfr.values import count
from dancfr.watch.progress import duration


class TimeLeft:
    """The time that a search needs, with its comparison at the end.

    The time left of a training is that of one trial, and trials that end early are shorter than others; the mean over
    all trials of this process changes less.

    Args:
        plan: Plan of the search.
        trials: Number of trials that are left.
        parallel: Trials at the same time.
        until: Time in seconds since the epoch after which no new trial begins; None: no limit.

    Attributes:
        trials: Number of trials that are left.
    """

    def __init__(self, plan: Plan, trials: int, parallel: int, until: float | None) -> None:
        self._plan, self.trials, self._parallel, self._until = plan, trials, parallel, until
        self._seconds: list[float] = []
        self._whole: list[float] = []  # of trials that did not end early

    def after(self, outcome: dict[str, Any]) -> str:
        """Notes a trial that has ended, and describes the work that is left; empty after the last work of a search."""
        self.trials -= 1
        self._seconds.append(outcome["seconds"])
        if outcome["state"] == "complete":
            self._whole.append(outcome["seconds"])
        rounds = -(-self.trials // self._parallel)
        seconds = rounds * sum(self._seconds) / len(self._seconds)
        if self._until is not None:
            seconds = min(seconds, max(self._until - time.time(), 0.0) + max(self._seconds))
        parts = [count(self.trials, "trial")] if self.trials > 0 else []
        if self._plan.report_seeds and self._whole:
            parts.append("the comparison")
            run = sum(self._whole) / len(self._whole) / self._plan.seeds
            seconds += run * -(-2 * self._plan.report_seeds // self._parallel)
        return f"{' and '.join(parts)} left, about {duration(seconds)}" if parts else ""
