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
    """Draws the win rate of each row's agent against each column's agent, or in a game with stakes its mean return,
    best rating first, with numbers of games."""
    from matplotlib.figure import Figure

    ratings, table, stakes = standings["ratings"], standings["table"], standings["stakes"]
    names = [each["agent"] for each in ratings]
    size = 1.2 + 0.62 * len(names)
    longest = max(map(len, names))
    figure = Figure(figsize=(size + 1.6 + 0.07 * longest, size + 0.3), dpi=DPI, layout="constrained", facecolor="white")
    axis = figure.subplots()
    key, least, most = ("win_rate", 0.0, 1.0) if stakes is None else ("mean_return", *_bounds(table))
    shown = np.array([[table[row].get(column, {}).get(key, np.nan) for column in names] for row in names])
    image = axis.imshow(shown, cmap="PuOr_r", vmin=least, vmax=most)
    for i, row in enumerate(names):
        for j, column in enumerate(names):
            if column in table[row]:
                text = f"{100 * shown[i, j]:.1f}" if stakes is None else f"{shown[i, j]:+.2g}"
                dark = abs(2 * (shown[i, j] - least) / (most - least) - 1) > 0.6
                _write_cell(axis, i, j, text, table[row][column]["games"], "white" if dark else "black")
    axis.set_xticks(range(len(names)), [str(place) for place in range(1, len(names) + 1)], fontsize=SMALL)
    axis.set_yticks(range(len(names)), [_label(place, each) for place, each in enumerate(ratings, 1)], fontsize=SMALL)
    axis.xaxis.tick_top()
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    form = "{x:+.2g}" if stakes is not None else lambda share, _: f"{100 * share:.0f} %"
    bar = figure.colorbar(image, ax=axis, shrink=0.6, ticks=[least, (least + most) / 2, most], format=form)
    bar.ax.tick_params(labelsize=SMALL)
    title = f"{'Win rates' if stakes is None else 'Mean returns'} in {standings['game']}"
    entries = "Games that the row's agent has won against the column's, in %, and their number; draws count for neither"
    if stakes is not None:
        entries = "Mean return of the row's agent against the column's, and the number of games"
    note = f"{entries}. Elo ratings with 95 % intervals, relative to the mean; {standings['games']:,} games."
    frame(figure, [axis], title, note)
    rows = tuple((each["agent"], f"{each['rating']:+.0f}", f"{each['games']:,}") for each in ratings)
    alt = f"{title}. " + "; ".join(f"{name} {rating} Elo" for name, rating, _ in rows) + "."
    return Plot("league", title, note, alt, png_of(figure), ("agent", "Elo", "games"), rows)


def _bounds(table: Mapping[str, Mapping[str, Any]]) -> tuple[float, float]:
    """Returns the ends of the scale of mean returns, as far from 0 as the largest of them."""
    largest = max((abs(cell["mean_return"]) for row in table.values() for cell in row.values()), default=0.0) or 1.0
    return -largest, largest


def _write_cell(axis: Any, i: int, j: int, text: str, games: int, colour: str) -> None:
    """Writes a win rate or mean return and the number of games into a cell."""
    axis.text(j, i - 0.12, text, ha="center", va="center", fontsize=SMALL + 1, color=colour)
    axis.text(j, i + 0.24, f"{games:,}", ha="center", va="center", fontsize=SMALL - 2, color=colour)


def _label(place: int, rating: Mapping[str, Any]) -> str:
    """Returns the label of a row: place, name, and rating with half the width of its interval."""
    low, high = rating["ci95"]
    return f"{rating['agent']}  {rating['rating']:+.0f} ± {(high - low) / 2:.0f}  {place}"
