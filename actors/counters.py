"""Counters and gauges of a run in Ray, for Ray's dashboard and for Prometheus.

The driver feeds the metrics of each iteration. Every node of Ray serves them at its ``MetricsExportPort`` under names
that begin with ``ray_dancfr_``, with the run and the method as tags.
"""

import logging
import re
from collections.abc import Mapping
from typing import Any

from actors.cluster import make_metrics
from actors.runtime import Runtime

log = logging.getLogger(__name__)

Row = Mapping[str, Any]

COUNTERS = {
    "dancfr_samples": "Samples offered to the buffers, by buffer.",
    "dancfr_plies": "Decisions played, or nodes of the tree visited.",
    "dancfr_iterations": "Iterations done by this process.",
    "dancfr_learner_steps": "Gradient steps, by network.",
    "dancfr_learner_rows": "Rows trained on, by network.",
    "dancfr_worker_events": "Workers that died, were late, raised or were replaced, and chunks replayed.",
}
GAUGES = {
    "dancfr_iteration": "Newest iteration of the run.",
    "dancfr_plies_per_second": "Decisions played, or nodes of the tree visited, per second of playing.",
    "dancfr_workers": "Workers alive.",
    "dancfr_queue_depth": "Chunks queued or being played.",
    "dancfr_weights_age": "Fits between the weights that play and the newest weights.",
    "dancfr_buffer_fill": "Fill level of a buffer, 0 to 1, by buffer.",
    "dancfr_loss": "Loss of the newest fit, by network.",
}
_EVENTS = ("died", "late", "raised", "replaced", "replayed")


class Counters:
    """Counters and gauges of one run. Without Ray there are none; a failure turns them off with a warning in the log.

    Args:
        runtime: The runtime of the run's actors.
        run: Name of the run.
        method: Name of the method.
        rate: Key of a row with the decisions or nodes per second; None if rows have no speed.
        plies: Key of a row with the total of decisions or nodes; None computes it from the speed.
        age: Key of a row with the age in fits of the weights that play; None if rows have none.
    """

    def __init__(
        self,
        runtime: Runtime,
        run: str,
        method: str,
        rate: str | None = None,
        plies: str | None = None,
        age: str | None = None,
    ) -> None:
        self._tags = {"run": run, "method": method}
        self._rate, self._plies, self._age = rate, plies, age
        self._totals: dict[tuple[str, str], float] = {}
        self._metrics: dict[str, Any] | None = None
        if runtime.processes:
            self._guard(self._make)

    def _make(self) -> None:
        self._metrics = make_metrics(COUNTERS, GAUGES, ("run", "method", "kind"))

    def feed(self, row: Row) -> None:
        """Adds the metrics of an iteration.

        Totals start with the total of the first row, so those of a resumed run include the work before. An iteration
        that is repeated after a recovery counts once.

        Args:
            row: A training row: ``iteration``, ``samples/...`` (totals of the run), ``workers/...`` (totals of the
                process), and the metrics of the method.
        """
        if self._metrics is not None:
            self._guard(lambda: self._feed(row))

    def _feed(self, row: Row) -> None:
        for (name, kind), total in totals(row, self._plies).items():
            self._raise_to(name, kind, total)
        for (name, kind), more in increments(row, self._rate, self._plies).items():
            self._add(name, kind, more)
        for (name, kind), value in gauges(row, self._rate, self._age).items():
            if self._metrics is not None:
                self._metrics[name].set(value, tags={**self._tags, "kind": kind})

    def _raise_to(self, name: str, kind: str, total: float) -> None:
        """Raises a counter to a total. A total falls when iterations are repeated, or when a new pool starts at 0."""
        before = self._totals.get((name, kind), 0)
        if total < before and name == "dancfr_worker_events":
            before = 0
        if total > before:
            self._add(name, kind, total - before)
        if total > before or name == "dancfr_worker_events":
            self._totals[name, kind] = total

    def _add(self, name: str, kind: str, more: float) -> None:
        if more > 0 and self._metrics is not None:  # Ray refuses increments of zero
            self._metrics[name].inc(more, tags={**self._tags, "kind": kind})

    def _guard(self, call: Any) -> None:
        try:
            call()
        except Exception as error:  # whatever Ray raises, the training continues
            log.warning("no counters in Ray's dashboard: %s", error)
            self._metrics = None


Values = dict[tuple[str, str], float]
"""Values by (name of the metric, kind)."""


def totals(row: Row, plies: str | None) -> Values:
    """Values of a row that are totals: of the run, or of the process for workers."""
    found: Values = {
        ("dancfr_samples", key.removeprefix("samples/")): value
        for key, value in _numbers(row, "samples/")
        if key != plies
    }
    played = _number(row, plies)
    if played is not None:
        found["dancfr_plies", ""] = played
    for event in _EVENTS:
        count = row.get(f"workers/{event}")
        if isinstance(count, (int, float)):
            found["dancfr_worker_events", event] = count
    return found


def increments(row: Row, rate: str | None, plies: str | None) -> Values:
    """Values of a row that belong to its iteration alone."""
    found: Values = {("dancfr_iterations", ""): 1}
    if rate is not None and _number(row, plies) is None:
        speed, seconds = _number(row, rate), _number(row, f"time/{rate.partition('/')[0]}_s")
        if speed is not None and seconds is not None:
            found["dancfr_plies", ""] = round(speed * seconds)
    for key, number in _numbers(row, "learner/"):
        match = re.fullmatch(r"learner/(?:(\w+)_)?(steps|rows|rows_per_second)", key)
        if match is None:
            continue
        net, what = match[1] or "value", match[2]
        if what != "rows_per_second":
            found[f"dancfr_learner_{what}", net] = number
            continue
        waited = row.get(f"learner/{match[1]}_waited_s" if match[1] else "learner/waited_s", 0.0)
        busy = row.get(f"time/{net}_s")
        if isinstance(busy, (int, float)) and isinstance(waited, (int, float)):
            found.setdefault(("dancfr_learner_rows", net), round(number * max(busy - waited, 0.0)))
    return found


def gauges(row: Row, rate: str | None, age: str | None) -> Values:
    """Values of a row that are the present state of the run."""
    found: Values = {("dancfr_iteration", ""): float(row["iteration"])}
    single = {
        "dancfr_plies_per_second": rate,
        "dancfr_workers": "workers/alive",
        "dancfr_queue_depth": "queue/depth",
        "dancfr_weights_age": age,
    }
    found |= {(name, ""): float(value) for name, key in single.items() if (value := _number(row, key)) is not None}
    for key, number in _numbers(row, "buffer/"):
        if key.endswith("fill"):
            found["dancfr_buffer_fill", key.removeprefix("buffer/").removesuffix("fill").rstrip("_")] = number
    for key, number in _numbers(row, "loss/"):
        found["dancfr_loss", key.removeprefix("loss/")] = number
    return found


def _number(row: Row, key: str | None) -> float | None:
    value = None if key is None else row.get(key)
    return value if isinstance(value, (int, float)) else None


def _numbers(row: Row, prefix: str) -> list[tuple[str, float]]:
    return [(key, value) for key, value in row.items() if key.startswith(prefix) and isinstance(value, (int, float))]
