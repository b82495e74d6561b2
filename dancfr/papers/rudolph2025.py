"""Exact exploitability on the five benchmark games of Rudolph et al. 2025.

Rudolph et al. ("Reevaluating policy gradient methods for imperfect-information games", arXiv 2502.08938) train for ten
million steps on games that are too large for a tree, and whose exploitability can be computed exactly nevertheless.
They publish plots, not numbers. A step is a decision of either player.
"""

from typing import Any

from dancfr.evaluation.statistics import summarise
from dancfr.methods.dream.benchmark import preset_name
from dancfr.methods.policy_gradient.presets import BENCHMARK, benchmark_preset
from dancfr.papers.trainings import Comparison, Experiment, Row, Scale, Setting, count_runs, row
from dancfr.report.history import History, Settings

GRADIENT = "policy gradient"
STEPS = 1e7

DREAM_METHODS = {"DREAM": "dream", "SD-CFR, outcome sampling": "sdcfr", "VR-DeepPDCFR+": "deep-pdcfr"}
"""Ends of the names of the presets of DREAM and its relatives, see `dancfr.methods.dream.benchmark`."""

GAMES = {game: benchmark_preset(game) for game in BENCHMARK}
"""Preset of policy gradients on each game."""


def _scales(game: str) -> dict[str, Scale]:
    preset = GAMES[game]
    settings = (
        Setting(GRADIENT, preset, ("evaluation.last=true",), preset),
        *(Setting(name, preset_name(game, method)) for name, method in DREAM_METHODS.items()),
    )
    shown: dict[str, Any] = {
        "note": "10 million steps",
        "fixed": ("game", "game_options", "evaluation.exploitability"),
        "game": game,
    }
    return {
        "quick": Scale(settings, (1,), **shown),
        "paper": Scale(settings, (1, 2, 3, 4, 5), **shown),
    }


def compare(settings: Settings, scale: Scale) -> Comparison:
    """States the exploitability of the average policy and of the last iterate at the end of the runs.

    DREAM's methods are evaluated by their nets of the average policy alone.
    """
    rows: list[Row] = []
    left_out = []
    for name, runs in settings.items():
        for policy, shown in (("average", "average policy"), ("last", "last iterate")):
            if policy == "last" and name in DREAM_METHODS:
                continue
            found = [value for run in runs if (value := _at_end(run, policy)) is not None]
            if len(found) < len(runs):
                left_out.append(f"{name}, {shown}: a run has no exact evaluation yet")
                continue
            mean = summarise(found)
            steps = max(run.metric("samples/decisions")[1][-1] for run in runs)
            note = f"mean over {count_runs(mean.n)} of at most {steps / 1e6:.1f} million steps"
            rows.append(row(f"{name}, {shown}", None, mean.mean, mean.sd, note))
    return Comparison(rows, [], left_out, unit="Exploitability, half of NashConv, exact; the largest return is 1.")


def _at_end(run: History, policy: str) -> float | None:
    _, nash_conv = run.nash_conv(policy)
    return float(nash_conv[-1]) / 2 if len(nash_conv) else None


EXPERIMENTS = {
    "iig-benchmark": Experiment(
        "Exact exploitability after 10 million steps on the five games of Rudolph et al. 2025.",
        "iig-benchmark",
        _scales("phantom_ttt"),
        compare,
        {name: _scales(name) for name in GAMES},
        partial=True,
    ),
}
