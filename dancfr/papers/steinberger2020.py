"""Steinberger et al. 2020: NashConv of DREAM, SD-CFR and Deep CFR on Leduc during training, and published curves."""

from collections.abc import Mapping

import numpy as np

from dancfr.evaluation.statistics import Curve, summarise
from dancfr.papers.trainings import Comparison, Experiment, Row, Scale, Setting, count_runs, row
from dancfr.report.figures import build
from dancfr.report.figures_exact import wanted_nash_conv
from dancfr.report.history import Settings

DREAM, OS_SDCFR, SDCFR, DEEP_CFR = "DREAM", "OS-SDCFR", "SD-CFR", "Deep CFR"
MERGED = "DREAM, merged samples"

QUICK = "leduc-dream-quick"
UNLIKE = (
    "not the published settings: samples of an infostate are merged, and learning rate, clip, length of the fits, "
    "weights and average differ"
)
"""Note on the rows of runs whose reservoirs merge samples (`dancfr.methods.dream.presets`)."""
UNLIKE_QUICK = (
    "not the published settings: samples of an infostate are merged, and length of the fits, weights and average differ"
)
"""The same for `QUICK`, which has the published learning rate and clip."""

PUBLISHED: Mapping[str, Mapping[float, float]] = {
    DREAM: {8.1e4: 1.40, 2.4e5: 0.62, 4.9e5: 0.43, 1e6: 0.26, 2e6: 0.18, 4.4e6: 0.13},
    OS_SDCFR: {1e6: 0.49, 4.4e6: 0.27},
}
"""NashConv in chips by number of nodes, read off the Leduc curves of Steinberger, Lerer and Brown 2020 to 5 %."""

NEAR = 0.2
"""Largest relative difference between the nodes of an evaluation and the published number that it is compared with."""

_QUICK = ("iterations=10", "evaluation.every=1", "checkpoint_every=10")
SCALES = {
    "paper": Scale(
        settings=(
            Setting(DREAM, "leduc-dream-reference"),
            Setting(MERGED, "leduc-dream"),
            Setting(OS_SDCFR, "leduc-os-sdcfr"),
            Setting(SDCFR, "leduc-sdcfr"),
            Setting(DEEP_CFR, "leduc-deep-cfr"),
        ),
        seeds=(1, 2, 3),
    ),
    "quick": Scale(
        settings=(
            Setting(DREAM, QUICK),
            Setting(OS_SDCFR, QUICK, ("baseline=false",), "leduc-os-sdcfr-quick"),
        ),
        seeds=(1,),
        overrides=_QUICK,
        note="scaled: 10 iterations",
    ),
}


def compare(settings: Settings, scale: Scale) -> Comparison:
    """Compares NashConv of each method's average policy at the published numbers of nodes."""
    rows: list[Row] = []
    for name, runs in settings.items():
        published = PUBLISHED.get(name, PUBLISHED[DREAM])
        for nodes in published:
            found = [value for run in runs if (value := _at(run.nash_conv(decisions=True), nodes)) is not None]
            paper = PUBLISHED.get(name, {}).get(nodes)
            cell = f"{name}, {nodes:,.0f} nodes"
            if not found:
                if paper is not None:
                    rows.append(row(cell, paper, None, None, "the runs are shorter"))
                continue
            mean = summarise(found)
            note = f"mean over {count_runs(mean.n)}; ours counts decisions"
            merged = {run.preset for run in runs if run.config.get("merge")}
            unlike = sorted({UNLIKE_QUICK if preset == QUICK else UNLIKE for preset in merged})
            rows.append(row(cell, paper, mean.mean, mean.sd, "; ".join([note, *unlike])))
    figures, left_out = build([wanted_nash_conv(settings, PUBLISHED)])
    return Comparison(rows, figures, left_out, unit="NashConv in chips, exact, of the average policy.")


def _at(curve: Curve, nodes: float) -> float | None:
    """Returns the value closest to a number of nodes; None if none is within `NEAR`."""
    x, y = curve
    if len(x) == 0:
        return None
    nearest = int(np.abs(x - nodes).argmin())
    return float(y[nearest]) if abs(x[nearest] - nodes) <= NEAR * nodes else None


EXPERIMENTS = {
    "leduc-nash-conv": Experiment(
        "Steinberger et al. 2020, Leduc: NashConv of DREAM, SD-CFR and Deep CFR over the number of sampled nodes.",
        "leduc",
        SCALES,
        compare,
        partial=True,
    ),
}
