"""Exact exploitability on the five benchmark games of Rudolph et al. 2025.

Rudolph et al. ("Reevaluating policy gradient methods for imperfect-information games", arXiv 2502.08938) train for ten
million steps on games that are too large for a tree, and whose exploitability can be computed exactly nevertheless.
They publish plots, not numbers. A step is a decision of either player.
"""

from typing import Any

from dancfr.evaluation.statistics import summarise
from dancfr.methods.dream.benchmark import preset_name
from dancfr.methods.policy_gradient.presets import BENCHMARK, benchmark_preset
from dancfr.papers.crosstable import crosstable, tournaments
from dancfr.papers.trainings import Comparison, Experiment, Row, Scale, Setting, count_runs, row
from dancfr.report.history import History, Settings
from dancfr.report.report import Table

STEPS = 10_000_000

POLICIES = {"average": "average policy", "last": "last iterate"}
"""The policies of a run that are evaluated, and how they are called in tables."""

UNIT = "Exploitability, half of NashConv, exact; the largest return is 1."
GRADIENT = "policy gradient"
DREAM_METHODS = {"DREAM": "dream", "SD-CFR, outcome sampling": "sdcfr", "VR-DeepPDCFR+": "deep-pdcfr"}
"""Ends of the names of the presets of DREAM and its relatives, see `dancfr.methods.dream.benchmark`."""


def presets(game: str) -> dict[str, str]:
    """Returns the preset of each method for a game of `BENCHMARK`."""
    return {GRADIENT: benchmark_preset(game)} | {
        name: preset_name(game, method) for name, method in DREAM_METHODS.items()
    }


def method_of_preset(preset: str) -> str | None:
    """Returns the method of the table that a preset belongs to; None if it is none of them."""
    named = (item for game in BENCHMARK for item in presets(game).items())
    return next((method for method, name in named if name == preset), None)


def _scales(game: str) -> dict[str, Scale]:
    settings = tuple(
        Setting(method, preset, ("evaluation.last=true",) if method == GRADIENT else ())
        for method, preset in presets(game).items()
    )
    shown: dict[str, Any] = {
        "note": "10 million steps",
        "fixed": ("game", "game_options", "samples", "evaluation.exploitability"),
        "game": game,
        "parallel": True,
    }
    return {
        "quick": Scale(settings[:1], (1,), **shown),  # of policy gradients, since DREAM takes half an hour
        "paper": Scale(settings, (1, 2, 3, 4, 5), games=2000, **shown),
    }


def compare(settings: Settings, scale: Scale) -> Comparison:
    """States the exploitability of the average policy and of the last iterate at the end of the runs, and lets the
    average policies of all methods meet, at a scale with games.

    DREAM's methods are evaluated by their nets of the average policy alone.
    """
    rows: list[Row] = []
    left_out = []
    for name, runs in settings.items():
        for policy, shown in POLICIES.items():
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
    tables = [head_to_head(scale.game, settings, scale.games)] if scale.games and len(settings) > 1 else []
    return Comparison(
        rows, [], left_out, tables, unit="Exploitability, half of NashConv, exact; the largest return is 1."
    )


def head_to_head(game: str, settings: Settings, games: int) -> Table:
    """Plays the average policies of every pair of methods that were trained with the same seed."""
    return crosstable(tournaments(game, settings, games), tuple(settings))


def _at_end(run: History, policy: str) -> float | None:
    _, nash_conv = run.nash_conv(policy)
    return float(nash_conv[-1]) / 2 if len(nash_conv) else None


GAMES = {game: _scales(game) for game in BENCHMARK}
"""Scales of each game."""

EXPERIMENTS = {
    "iig-benchmark": Experiment(
        "Exact exploitability after 10 million steps on the five games of Rudolph et al. 2025.",
        "iig-benchmark",
        GAMES["phantom_ttt"],
        compare,
        GAMES,
        partial=True,
    ),
}
