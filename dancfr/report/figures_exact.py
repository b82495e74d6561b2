"""Draws the results of exact evaluations: NashConv over the number of sampled decisions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dancfr.evaluation.statistics import over_iterations
from dancfr.report.history import History, Settings
from dancfr.report.plots import Line, Panel, Plot, draw_lines

Published = Mapping[str, Mapping[float, float]]
"""Published NashConv by number of decisions, for each setting."""


def wanted_nash_conv(settings: Settings, published: Published | None = None) -> tuple[str, str, partial[Plot | None]]:
    """Returns the request for the figure `nash_conv_curves`, for `dancfr.report.figures.build`."""
    return "NashConv", "rows of exact evaluations", partial(nash_conv_curves, settings, published or {})


def nash_conv_curves(settings: Settings, published: Published) -> Plot | None:
    """Draws NashConv of each setting's average policy over sampled decisions; published curves are dotted."""
    lines: list[Line] = []
    for i, (setting, members) in enumerate(settings.items()):
        runs = [run for run in members if len(run.nash_conv(decisions=True)[0])]
        if not runs:
            continue
        band = over_iterations([run.nash_conv() for run in runs])
        band = replace(band, x=_decisions(runs, band.x))
        name = f"{setting} ({band.runs} runs)" if band.runs > 1 else setting
        lines.append(Line(name, band, i))
        points = {x: y for x, y in published.get(setting, {}).items() if x <= 1.2 * band.x[-1]}
        if points:
            curve = np.array(list(points), np.float64), np.array(list(points.values()), np.float64)
            lines.append(Line(f"{setting}, published", over_iterations([curve]), i, 2))
    if not lines:
        return None
    title = "NashConv of the average policy over decisions sampled"
    panels = [Panel(title, "decisions", "NashConv", lines, log=True)]
    dotted = " Dotted: published figures." if any(line.dash for line in lines) else ""
    bands = next((f" Band: {line.band.means}." for line in lines if line.band.known), "")
    note = f"Exact, in the unit of the game.{bands}{dotted}"
    return draw_lines("nash-conv", title, note, panels, "NashConv", note)


def _decisions(runs: Sequence[History], iterations: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the number of decisions sampled by the end of each iteration, as a mean over runs."""
    counts = [run.metric("samples/decisions") for run in runs]
    mean: NDArray[np.float64] = np.mean([np.interp(iterations, x, y) for x, y in counts], axis=0)
    return mean
