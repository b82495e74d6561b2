"""Draws the results of exact evaluations: NashConv over the number of sampled decisions, or over iterations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import UsageError
from dancfr.evaluation.exploitability import uniform_nash_conv
from dancfr.evaluation.statistics import over_iterations
from dancfr.games.registry import make_game
from dancfr.report.history import History, Settings
from dancfr.report.plots import Line, Panel, Plot, draw_lines

Published = Mapping[str, Mapping[float, float]]
"""Published NashConv by number of decisions, for each setting."""


def wanted_nash_conv(settings: Settings, published: Published | None = None) -> tuple[str, str, partial[Plot | None]]:
    """Returns the request for the figure `nash_conv_curves`, for `dancfr.report.figures.build`."""
    return "NashConv", "rows of exact evaluations", partial(nash_conv_curves, settings, published or {})


def nash_conv_curves(settings: Settings, published: Published) -> Plot | None:
    """Draws NashConv of each setting's average policy over sampled decisions; published curves are dotted.

    Of runs that do not count their decisions, as those of tables, it draws NashConv over iterations.
    """
    lines: list[Line] = []
    counted = any(len(run.nash_conv(decisions=True)[0]) for members in settings.values() for run in members)
    for i, (setting, members) in enumerate(settings.items()):
        runs = [run for run in members if len(run.nash_conv(decisions=counted)[0])]
        if not runs:
            continue
        band = over_iterations([run.nash_conv() for run in runs])
        if counted:
            band = replace(band, x=_decisions(runs, band.x))
        name = f"{setting} ({band.runs} runs)" if band.runs > 1 else setting
        lines.append(Line(name, band, i))
        points = {x: y for x, y in published.get(setting, {}).items() if x <= 1.2 * band.x[-1]}
        if points:
            curve = np.array(list(points), np.float64), np.array(list(points.values()), np.float64)
            lines.append(Line(f"{setting}, published", over_iterations([curve]), i, 2))
    if not lines:
        return None
    title = f"NashConv of the average policy over {'decisions sampled' if counted else 'iterations'}"
    panels = [Panel(title, "decisions" if counted else "iterations", "NashConv", lines, log=True)]
    dotted = " Dotted: published figures." if any(line.dash for line in lines) else ""
    bands = next((f" Band: {line.band.means}." for line in lines if line.band.known), "")
    note = f"Exact, in the unit of the game.{_uniform(settings)}{bands}{dotted}"
    return draw_lines("nash-conv", title, note, panels, "NashConv", note)


def _uniform(settings: Settings) -> str:
    """A sentence on uniform play, if all runs are of one game in which its NashConv is quick to compute or known."""
    runs = [run.config for members in settings.values() for run in members]
    games = [(config.get("game"), config.get("game_options")) for config in runs]
    if not games or any(game != games[0] for game in games):
        return ""
    try:
        found = uniform_nash_conv(make_game(str(games[0][0]), **(games[0][1] or {})))
    except UsageError:  # a game of another version, or of a package that is not installed
        return ""
    return "" if found is None else f" Uniform play has a NashConv of {found:.4g}."


def _decisions(runs: Sequence[History], iterations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the number of decisions sampled by the end of each iteration, as a mean over runs."""
    counts = [run.metric("samples/decisions") for run in runs]
    mean: NDArray[np.float64] = np.mean([np.interp(iterations, x, y) for x, y in counts], axis=0)
    return mean
