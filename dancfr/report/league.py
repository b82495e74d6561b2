"""Draws the win rates of all pairs of a league as a matrix."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dancfr.errors import RunError, reason
from dancfr.report.plots import DPI, SMALL, Plot, frame, png_of
from learners.storage import replacing

FIGURE = "matrix.png"


def write_matrix(folder: Path, standings: Mapping[str, Any]) -> str:
    """Draws standings, as `dancfr league` computes them, to a file in a folder; returns its path.

    Raises:
        RunError: the file cannot be written; an earlier file of that name is unchanged.
    """
    path = folder / FIGURE
    try:
        with replacing(path) as file:
            file.write(draw(standings).png)
    except OSError as error:
        raise RunError(f"cannot write {path}: {reason(error)}") from None
    return str(path)


def draw(standings: Mapping[str, Any]) -> Plot:
    """Draws the win rate of each row's agent against each column's agent, best rating first, with numbers of games."""
    from matplotlib.figure import Figure

    ratings, table = standings["ratings"], standings["table"]
    names = [each["agent"] for each in ratings]
    size = 1.2 + 0.62 * len(names)
    longest = max(map(len, names))
    figure = Figure(figsize=(size + 1.6 + 0.07 * longest, size + 0.3), dpi=DPI, layout="constrained", facecolor="white")
    axis = figure.subplots()
    rates = np.array([[table[row].get(column, {}).get("win_rate", np.nan) for column in names] for row in names])
    image = axis.imshow(rates, cmap="PuOr_r", vmin=0, vmax=1)
    for i, row in enumerate(names):
        for j, column in enumerate(names):
            if column in table[row]:
                _write_cell(axis, i, j, table[row][column])
    axis.set_xticks(range(len(names)), [str(place) for place in range(1, len(names) + 1)], fontsize=SMALL)
    axis.set_yticks(range(len(names)), [_label(place, each) for place, each in enumerate(ratings, 1)], fontsize=SMALL)
    axis.xaxis.tick_top()
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axis, shrink=0.6, ticks=[0, 0.5, 1], format=lambda share, _: f"{100 * share:.0f} %")
    bar.ax.tick_params(labelsize=SMALL)
    title = f"Win rates in {standings['game']}"
    note = (
        f"Games that the row's agent has won against the column's, in %, and their number; draws count for neither. "
        f"Elo ratings with 95 % intervals, relative to the mean; {standings['games']:,} games."
    )
    frame(figure, [axis], title, note)
    rows = tuple((each["agent"], f"{each['rating']:+.0f}", f"{each['games']:,}") for each in ratings)
    alt = f"{title}. " + "; ".join(f"{name} {rating} Elo" for name, rating, _ in rows) + "."
    return Plot("league", title, note, alt, png_of(figure), ("agent", "Elo", "games"), rows)


def _write_cell(axis: Any, i: int, j: int, pair: Mapping[str, Any]) -> None:
    """Writes win rate and number of games into a cell."""
    rate = pair["win_rate"]
    colour = "white" if abs(rate - 0.5) > 0.3 else "black"
    axis.text(j, i - 0.12, f"{100 * rate:.1f}", ha="center", va="center", fontsize=SMALL + 1, color=colour)
    axis.text(j, i + 0.24, f"{pair['games']:,}", ha="center", va="center", fontsize=SMALL - 2, color=colour)


def _label(place: int, rating: Mapping[str, Any]) -> str:
    """Returns the label of a row: place, name, and rating with half the width of its interval."""
    low, high = rating["ci95"]
    return f"{rating['agent']}  {rating['rating']:+.0f} ± {(high - low) / 2:.0f}  {place}"
