"""What a run does, as counters and gauges of Ray: for its dashboard, and for Prometheus.

The driver feeds the metrics of each iteration; every node of Ray offers them at its ``MetricsExportPort`` under names
that begin with ``ray_dancfr_``, with the run and the method as tags.
"""

import logging
import re
from collections.abc import Mapping
from typing import Any

from actors.runtime import Runtime

log = logging.getLogger(__name__)

Row = Mapping[str, Any]

PLIES = ("samples/decisions", "samples/nodes")
"""Keys of a row that count what was played, not what was stored: decisions of games, and nodes of a walked tree."""

RATES = (
    "traversal/decisions_per_second",
    "selfplay/decisions_per_second",
    "search/decisions_per_second",
    "cfr/nodes_per_second",
    "tables/nodes_per_second",
)
AGES = ("weights/age", "selfplay/age")

COUNTERS = {
    "dancfr_samples": "Samples that the buffers were offered, by buffer.",
    "dancfr_plies": "Decisions that were played, or nodes of the tree that were walked.",
    "dancfr_iterations": "Iterations done by this process.",
    "dancfr_learner_steps": "Updates of the nets, by net.",
    "dancfr_learner_rows": "Rows that the nets were trained on, by net.",
    "dancfr_worker_events": "Workers that died, were late, raised or were replaced, and chunks replayed.",
}
GAUGES = {
    "dancfr_iteration": "Newest iteration of the run.",
    "dancfr_plies_per_second": "Speed of the games, or of the walk through the tree.",
    "dancfr_workers": "Workers that are alive.",
    "dancfr_queue_depth": "Chunks that are being played or wait for it.",
    "dancfr_weights_age": "Fits between the weights that play and the newest ones.",
    "dancfr_buffer_fill": "Full part of a buffer, 0 to 1, by buffer.",
    "dancfr_loss": "Loss of the newest fit, by net.",
}
_EVENTS = ("died", "late", "raised", "replaced", "replayed")


class Counters:
    """Counters and gauges of one run. Does nothing inline; a failure turns it off and disturbs nothing.

    Args:
        runtime: Where the run's actors live.
        run: Name of the run.
        method: Name of the method.
        rate: Key of the speed in a row: decisions or nodes per second.
        plies: Key of the total of decisions or nodes in a row.
        age: Key of the age of the weights that play in a row, in fits.
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
        self._keys = (rate, plies, age)
        self._totals: dict[tuple[str, str], float] = {}
        self._metrics: dict[str, Any] | None = None
        if runtime.parallel:
            self._guard(self._make)

    def _make(self) -> None:
        from ray.util.metrics import Counter, Gauge

        tags = ("run", "method", "kind")
        made: dict[str, Any] = {name: Counter(name, text, tag_keys=tags) for name, text in COUNTERS.items()}
        made |= {name: Gauge(name, text, tag_keys=tags) for name, text in GAUGES.items()}
        self._metrics = made

    def feed(self, row: Row) -> None:
        """Takes in the metrics of an iteration.

        Totals count up from the first row on, so a resumed run begins with what it had done. An iteration that is done
        again after a loss counts once.

        Args:
            row: As it is logged: ``iteration``, ``samples/...`` (totals of the run), ``workers/...`` (totals of the
                process), and what else the method tells.
        """
        if self._metrics is not None:
            self._guard(lambda: self._feed(row))

    def _feed(self, row: Row) -> None:
        given = zip(self._keys, (RATES, PLIES, AGES), strict=True)
        rate, plies, age = (key or next((each for each in known if each in row), None) for key, known in given)
        for (name, kind), total in totals(row, plies).items():
            self._raise_to(name, kind, total)
        for (name, kind), more in increments(row, rate, plies).items():
            self._add(name, kind, more)
        for (name, kind), value in gauges(row, rate, age).items():
            if self._metrics is not None:
                self._metrics[name].set(value, tags={**self._tags, "kind": kind})

    def _raise_to(self, name: str, kind: str, total: float) -> None:
        """A total; less than before is what is being done again (samples) or a new pool (workers)."""
        before = self._totals.get((name, kind), 0)
        if total < before and name == "dancfr_worker_events":
            before = 0
        if total > before:
            self._add(name, kind, total - before)
        if total > before or name == "dancfr_worker_events":
            self._totals[name, kind] = total

    def _add(self, name: str, kind: str, more: float) -> None:
        if more > 0 and self._metrics is not None:  # Ray refuses to count by nothing
            self._metrics[name].inc(more, tags={**self._tags, "kind": kind})

    def _guard(self, call: Any) -> None:
        try:
            call()
        except Exception as error:  # whatever Ray raises: a dashboard is not worth a training
            log.warning("no counters in Ray's dashboard: %s", error)
            self._metrics = None


Values = dict[tuple[str, str], float]
"""By name and kind."""


def totals(row: Row, plies: str | None) -> Values:
    """What a row tells as totals."""
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
    """What a row tells of its iteration alone."""
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
    """What a row tells of the state of the run."""
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
