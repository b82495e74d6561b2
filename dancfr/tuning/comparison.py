"""The comparison at the end of a search: the best settings and the preset's own, with seeds that the search never saw.

The best value of a search is too good: it is the best of many noisy ones. So both settings are trained again, with the
same new seeds and the same budget.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dancfr.evaluation.statistics import summarise
from dancfr.methods.options import TrainOptions
from dancfr.trainings import train_runs
from dancfr.tuning.study import Plan
from dancfr.tuning.trial import last_value

FOLDER = "report"
SETTINGS = ("best", "preset")


def paths(folder: Path, plan: Plan, best: Mapping[str, Any]) -> dict[str, list[Path]]:
    """Returns the folders of the runs of each of `SETTINGS`."""
    names = {"best": f"trial{best['number']}", "preset": "preset"}
    seeds = range(1, plan.report_seeds + 1)
    return {each: [folder / FOLDER / f"{names[each]}-seed{seed}" for seed in seeds] for each in SETTINGS}


def compare(
    folder: Path, plan: Plan, best: Mapping[str, Any], options: TrainOptions, parallel: bool = False
) -> dict[str, Any]:
    """Trains the missing runs of the comparison.

    Args:
        folder: Folder of the search.
        plan: Its plan.
        best: The best trial.
        options: Where and how to train.
        parallel: Whether whole runs are trained in parallel.

    Returns:
        ``seeds``, and for ``best`` and ``preset`` each ``values`` by seed, ``mean``, ``ci95`` (Student's t over the
        runs; None for one run) and ``runs``, their folders.

    Raises:
        Stopped: a signal arrived.
        RunError: a training failed.
    """
    runs = paths(folder, plan, best)
    changes = {"best": (*plan.overrides, *best["overrides"]), "preset": plan.overrides}
    seeds = range(1, plan.report_seeds + 1)
    planned = [
        (runs[each][place], plan.preset, (*changes[each], f"seed={seed}"))
        for place, seed in enumerate(seeds)
        for each in SETTINGS
    ]
    train_runs(planned, options, parallel)
    return {"seeds": list(seeds), **{each: _measured(plan, runs[each]) for each in SETTINGS}}


def _measured(plan: Plan, runs: list[Path]) -> dict[str, Any]:
    values = [last_value(path, plan.metric_of_runs()) for path in runs]
    found = summarise(values)
    interval = None if found.n == 1 else [found.low, found.high]
    return {"values": values, "mean": found.mean, "ci95": interval, "runs": [str(path) for path in runs]}
