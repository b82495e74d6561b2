"""Trained best responses in reports: the learning curve of one, and those that lie in the folders of runs."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, FiniteFloat

from dancfr.errors import DancfrError, RunError, reason
from dancfr.evaluation.statistics import Band
from dancfr.methods.agent_name import parse_name
from dancfr.methods.best_response.config import RESULT
from dancfr.report.plots import Line, Panel, Plot, draw_lines

FIGURE = "exploit.png"


def write_figure(folder: Path, result: Mapping[str, Any]) -> str:
    """Draws the curve of a result of `dancfr exploit` to a file in a folder; returns its path.

    Raises:
        RunError: the file cannot be written.
    """
    path = folder / FIGURE
    try:
        path.write_bytes(draw(result).png)
    except OSError as error:
        raise RunError(f"cannot write {path}: {reason(error)}") from None
    return str(path)


def draw(result: Mapping[str, Any]) -> Plot:
    """Draws the mean return of the response over training games, one line per seat."""
    lines = []
    for number, (seat, points) in enumerate(result["seat_curves"].items()):
        x, y = np.array(points, np.float64).T
        lines.append(Line(f"moving {seat}", Band(x, y, np.zeros_like(y), y, y, 1, known=False), number, number))
    title = f"A best response to {result['agent']} in {result['game']}"
    low, high = result["value_ci95"]
    note = (
        f"In {result['eval_games']:,} new games the chosen nets have a mean return of {result['value']:+.3f} "
        f"(95 % interval {low:+.3f} to {high:+.3f})."
    )
    panel = Panel(title, "training games", "mean return", lines, reference=(result["value"], "the result"))
    return draw_lines("exploit", title, note, [panel], "return", note)


class Response(BaseModel):
    """The part of a result of `dancfr exploit` that reports show."""

    agent: str
    value: FiniteFloat
    value_ci95: tuple[FiniteFloat, FiniteFloat]
    bound_by: str
    games: int
    seconds: FiniteFloat
    starts: tuple[str, ...]
    eval_games: int


def read_responses(run: Path, first_name: str) -> list[tuple[Path, Response]]:
    """The results of best responses to the agent of a run that are stored in folders of the run, as
    ``dancfr exploit RUN --out RUN/response`` does; those of other agents and damaged files are left out.

    Args:
        run: Folder of the run.
        first_name: Name of the folder when the run was started; it may have been renamed after the response.
    """
    found, names = [], (os.path.basename(os.path.realpath(run)), first_name)
    for file in sorted(run.glob(f"*/{RESULT}")):
        try:
            response = Response.model_validate_json(file.read_bytes())
            base = parse_name(response.agent).base
            own = Path(base).name in names or os.path.realpath(base) == os.path.realpath(run)  # by way of a link
        except (OSError, ValueError, DancfrError):  # pydantic's ValidationError is a ValueError
            continue
        if own:
            found.append((file.parent, response))
    return found
