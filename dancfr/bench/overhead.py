"""Benchmark of a training with Ray, compared with the same training in one process."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from dancfr.bench.timing import noise, result
from dancfr.methods import find_preset
from dancfr.methods.dream.driver import Dream
from dancfr.methods.options import TrainOptions
from dancfr.methods.run_actors import Placement
from dancfr.runs.config import apply_overrides
from dancfr.runs.run import Run
from dancfr.watch.progress import Progress
from dancfr.watch.tracking import Tracker

PRESET = "geister-quick"
SETTINGS = ("minutes=none", "evaluation.every=0", "checkpoint_every=1000000")
PAIR_S = 5.0
"""Approximate seconds of one iteration with Ray and one without, together."""
SHORT = ("traversals=64", "advantage_training.minibatches=4", "baseline_training.minibatches=2")


def measure(seconds: float) -> dict[str, Any]:
    """Measures decisions/s of whole iterations of `geister-quick` with Ray and one worker, by wall-clock time.

    The limit is the same training inline; the two take turns. The target is a ratio of 0.9. With Ray, the baseline fit
    of one player runs on a second core during the traversals of the other player. The detail therefore also has the
    traversals alone, including the transfer of samples to the buffers.
    """
    pairs = max(2, round(seconds / PAIR_S))
    settings = SETTINGS if seconds >= PAIR_S else SETTINGS + SHORT
    config: Any = apply_overrides(find_preset(PRESET).config, settings)
    rates: dict[str, dict[str, list[float]]] = {side: {"iteration": [], "traversal": []} for side in ("ray", "inline")}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        runs = {side: stack.enter_context(_training(folder / side, config, side == "inline")) for side in rates}
        for run in runs.values():
            _iterate(run), _iterate(run)  # compiles, starts actors, and trains a baseline of each player
        for pair in range(pairs):
            for side in list(rates)[:: 1 if pair % 2 else -1]:
                for kind, value in _iterate(runs[side]).items():
                    rates[side][kind].append(value)
    middle = {side: {kind: median(values) for kind, values in kinds.items()} for side, kinds in rates.items()}
    ours, limit = middle["ray"]["iteration"], middle["inline"]["iteration"]
    detail = {
        "limit": "--inline in turn",
        "pairs": pairs,
        "target": 0.9,
        "traversals alone": {
            "ray": round(middle["ray"]["traversal"]),
            "inline": round(middle["inline"]["traversal"]),
            "ratio": round(middle["ray"]["traversal"] / middle["inline"]["traversal"], 3),
        },
        "noise": noise([1 / each for each in rates["ray"]["iteration"]]),
    }
    return result("ray-overhead", ours, "decisions/s", limit, ours / limit, detail)


@contextmanager
def _training(path: Path, config: Any, inline: bool) -> Iterator[Dream]:
    """Yields a training that is ready for its next iteration."""
    options = TrainOptions(workers=None if inline else 1, inline=inline, progress=False)
    placement = Placement(options, config.resources)
    with Run.create(path, PRESET, "dream", config) as run, Tracker(run, mode="off") as tracker:
        try:
            with Progress(config.iterations, False, None) as progress:
                yield Dream(run, config, tracker, progress, placement)
        finally:
            placement.close()


def _iterate(dream: Dream) -> dict[str, float]:
    """Returns decisions/s of one iteration, relative to its total time and to the time of its traversals."""
    before, started = dream.samples["decisions"], perf_counter()
    dream.last_iteration = dream.iteration + 1
    dream.learn()
    took = perf_counter() - started
    decisions = dream.samples["decisions"] - before
    row = dream.run.read_metrics("train")[-1]
    return {"iteration": decisions / took, "traversal": decisions / row["time/traversal_s"]}
