"""The figure of a trained best response."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dancfr.errors import RunError, reason
from dancfr.evaluation.statistics import Band
from dancfr.report.plots import Line, Panel, Plot, draw_lines

FIGURE = "exploit.png"


def write_figure(folder: Path, result: Mapping[str, Any]) -> str:
    """Draws the curve of a result of `dancfr exploit` into a folder; the path of the figure.

    Raises:
        RunError: it cannot be written.
    """
    path = folder / FIGURE
    try:
        path.write_bytes(draw(result).png)
    except OSError as error:
        raise RunError(f"{path} could not be written: {reason(error)}") from None
    return str(path)


def draw(result: Mapping[str, Any]) -> Plot:
    """The curve: mean return of the response by training games, in each seat."""
    lines = []
    for number, (seat, points) in enumerate(result["seat_curves"].items()):
        x, y = np.array(points, np.float64).T
        lines.append(Line(f"moving {seat}", Band(x, y, np.zeros_like(y), y, y, 1, known=False), number, number))
    title = f"A best response to {result['agent']} in {result['game']}"
    low, high = result["value_ci95"]
    note = (
        f"In {result['eval_games']:,} fresh games the chosen nets win {result['value']:+.3f} a game "
        f"(95 % interval {low:+.3f} to {high:+.3f})."
    )
    panel = Panel(title, "training games", "mean return", lines, reference=(result["value"], "the result"))
    return draw_lines("exploit", title, note, [panel], "return", note)
