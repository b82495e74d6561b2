"""Exact exploitability on the five benchmark games of Rudolph et al. 2025.

Rudolph et al. ("Reevaluating policy gradient methods for imperfect-information games", arXiv 2502.08938) train for ten
million steps on games that are too large for a tree, and whose exploitability can be computed exactly nevertheless.
They publish plots, not numbers. A step is a decision of either player.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from dancfr.evaluation.statistics import Curve, over_time, summarise
from dancfr.methods.dream.benchmark import ITERATIONS, preset_name
from dancfr.methods.policy_gradient.presets import BENCHMARK, benchmark_preset
from dancfr.papers.crosstable import crosstable, tournaments
from dancfr.papers.trainings import Comparison, Experiment, Row, Scale, Setting, count_runs, row
from dancfr.report.figures import build
from dancfr.report.history import History, Settings
from dancfr.report.plots import Line, Panel, Plot, draw_lines
from dancfr.report.report import Table

STEPS = 10_000_000

POLICIES = {"average": "average policy", "last": "last iterate"}
"""The policies of a run that are evaluated, and how they are called in tables."""

UNIT = "Exploitability, half of NashConv, exact; the largest return is 1."
GRADIENT = "policy gradient"
DREAM_METHODS = {
    "DREAM": "dream",
    "SD-CFR, outcome sampling": "sdcfr",
    "VR-DeepDCFR+": "deep-dcfr",
    "VR-DeepPDCFR+": "deep-pdcfr",
    "ESCHER": "escher",
}
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


POINTS = 5
"""Exact evaluations along a run of DREAM at the scale `paper`."""

EVERY = 500
"""Iterations between those of a policy gradient, which has some 2,500 to 5,000."""


def _scales(game: str) -> dict[str, Scale]:
    last = {GRADIENT: ("evaluation.last=true",)}
    quick = [Setting(method, preset, last.get(method, ())) for method, preset in presets(game).items()]
    every = {GRADIENT: EVERY} | dict.fromkeys(DREAM_METHODS, ITERATIONS // POINTS)
    settings = [
        Setting(each.name, each.preset, (*each.overrides, f"evaluation.every={every[each.name]}")) for each in quick
    ]
    shown: dict[str, Any] = {
        "note": "10 million steps",
        "fixed": ("game", "game_options", "samples", "evaluation.exploitability"),
        "game": game,
        "parallel": True,
    }
    return {
        "quick": Scale(tuple(quick[:1]), (1,), **shown),  # of policy gradients, which are the fastest
        "paper": Scale(tuple(settings), (1, 2, 3, 4, 5), games=2000, **shown),
    }


def compare(settings: Settings, scale: Scale) -> Comparison:
    """States the exploitability of the average policy and of the last iterate at the end of the runs, and lets the
    average policies of all methods meet, at a scale with games."""
    rows: list[Row] = []
    left_out = []
    for name, runs in settings.items():
        for policy, shown in POLICIES.items():
            found = [value for run in runs if (value := _at_end(run, policy)) is not None]
            if len(found) < len(runs):
                left_out.append(f"{name}, {shown}: a run has no exact evaluation yet")
                continue
            mean = summarise(found)
            steps = max(run.metric("samples/decisions")[1][-1] for run in runs)
            note = f"mean over {count_runs(mean.n)} of at most {steps / 1e6:.1f} million steps"
            rows.append(row(f"{name}, {shown}", None, mean.mean, mean.sd, note))
    tables = [head_to_head(scale.game, settings, scale.games)] if scale.games and len(settings) > 1 else []
    lines = {name: [exploitability(run) for run in runs] for name, runs in settings.items()}
    along = any(len(decisions) > 1 for curves in lines.values() for decisions, _ in curves)
    wanted = [("exploitability over decisions", "exact evaluations", partial(draw, {scale.game: lines}))]
    figures, missing = build(wanted if along else [])
    return Comparison(rows, figures, left_out + missing, tables, unit=UNIT)


def exploitability(run: History, policy: str = "average") -> Curve:
    """Returns the exploitability of a policy of the run over decisions."""
    decisions, nash_conv = run.nash_conv(policy, decisions=True)
    return decisions, nash_conv / 2


def draw(games: Mapping[str, Mapping[str, Sequence[Curve]]]) -> Plot | None:
    """Draws the exploitability of methods over decisions, a panel for each game.

    Args:
        games: Curves of the runs of each method, by game; those without points are left out.
    """
    drawn = {
        game: {method: [curve for curve in curves if len(curve[0]) > 1] for method, curves in methods.items()}
        for game, methods in games.items()
    }
    counts: dict[str, set[int]] = {}  # of runs, which games may differ in: a method has one entry in the legend
    for methods in drawn.values():
        for method, runs in methods.items():
            counts.setdefault(method, set()).update({len(runs)} - {0})
    panels = []
    for game, methods in drawn.items():
        lines = [
            Line(_label(method, counts[method]), over_time(runs), colour)
            for colour, (method, runs) in enumerate(methods.items())
            if runs
        ]
        if lines:
            panels.append(Panel(game, "decisions", "exploitability", lines, log=True))
    if not panels:
        return None
    meanings = {line.band.means for panel in panels for line in panel.lines if line.band.known}
    several = "95 % t intervals over the runs, of two runs their range"
    bands = f" Bands: {meanings.pop() if len(meanings) == 1 else several}." if meanings else ""
    note = f"Exact, of the average policy; the largest return is 1.{bands}"
    return draw_lines("iig-benchmark", "Exploitability over decisions", note, panels, "exploitability", note)


def _label(method: str, counts: Collection[int]) -> str:
    """Returns the entry of a method in the legend, with its number of runs in the games, such as 2 to 5."""
    least, most = min(counts), max(counts)
    if most == 1:
        return method
    return f"{method} ({count_runs(most) if least == most else f'{least} to {count_runs(most)}'})"


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
