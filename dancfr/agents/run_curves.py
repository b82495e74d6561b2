"""The curves of a run: rows of its record by player, policy and opponent, drawn over its iterations."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import UsageError, nearest
from dancfr.notebooks import BAND, axes_for
from dancfr.watch.following import is_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = Mapping[str, Any]
"""A row of `metrics.jsonl`."""

PREFERRED = ("nash_conv", "win_rate")
"""Keys that are drawn if none is named: the first that a run has recorded."""
EXACT = ("nash_conv", "exploitability")
"""Keys whose axis is logarithmic."""
_APART = {"player": "player {}", "policy": "{}", "opponent": "against {}"}
"""Keys that tell rows of an iteration apart, and how a legend names their values."""


def draw(rows: Sequence[Row], key: str | None, title: str, ax: "Axes | None" = None, name: str = "") -> "Axes":
    """Draws the values of a key over iterations, a line for each player, policy and opponent, and returns the axes.

    Win rates have their 95 % intervals.

    Args:
        rows: Rows of the record.
        key: The key; None: see `PREFERRED`.
        title: Title of a new figure.
        ax: Axes to draw on; None makes a figure.
        name: Beginning of the labels on axes that may have other curves.

    Raises:
        UsageError: no row has the key.
    """
    numbers = _numbers(rows)
    if key is None:
        key = next((name for name in PREFERRED if name in numbers), None)
        if key is None:
            raise UsageError(f"the run has recorded no {' and no '.join(PREFERRED)} yet: name another key of its rows")
    if key not in numbers:
        raise UsageError(nearest(key, numbers, "recorded number"))
    alone, ax = ax is None, axes_for(ax, "iteration", key, title, shares=key == "win_rate")
    for label, points in lines(rows, key).items():
        iterations = [row["iteration"] for row in points]
        words = (label or key,) if alone else (name, label, key)
        (line,) = ax.plot(iterations, [row[key] for row in points], marker=".", label=" ".join(filter(None, words)))
        if key == "win_rate":
            low, high = zip(*(row["ci95"] for row in points), strict=True)
            ax.fill_between(iterations, low, high, color=line.get_color(), alpha=BAND)
    if key in EXACT:
        ax.set_yscale("log")
    ax.legend()
    return ax


def series(rows: Sequence[Row], key: str, where: Mapping[str, Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Returns the iterations and the values of a key in the rows that have the entries `where`.

    Raises:
        UsageError: no row has a number under this key, or several rows of an iteration have.
    """
    if key not in (numbers := _numbers(rows)):
        raise UsageError(nearest(key, numbers, "recorded number"))
    chosen = [row for row in rows if all(row.get(name) == value for name, value in where.items())]
    groups = lines(chosen, key)
    points = [row for group in groups.values() for row in group]
    if not points:
        raise UsageError(f"no row with {key} has {', '.join(f'{name}={value!r}' for name, value in where.items())}")
    if len({row["iteration"] for row in points}) < len(points):
        kinds = {name: sorted({str(row[name]) for row in points if name in row}) for name in ("kind", *_APART)}
        such = next(f"{name}={values[0]!r} of {', '.join(values)}" for name, values in kinds.items() if len(values) > 1)
        raise UsageError(f"{key} has several values an iteration: name one, such as {such}")
    points.sort(key=lambda row: row["iteration"])
    return np.array([row["iteration"] for row in points], np.int64), np.array([row[key] for row in points], np.float64)


def lines(rows: Sequence[Row], key: str) -> dict[str, list[Row]]:
    """Returns the rows that have a number under a key, by a label that distinguishes them from the others."""
    found = [row for row in rows if is_number(row.get(key)) and "iteration" in row]
    differing = [name for name in _APART if len({row.get(name) for row in found}) > 1]
    groups: dict[str, list[Row]] = {}
    for row in found:
        label = " ".join(_APART[name].format(row[name]) for name in differing if name in row)
        groups.setdefault(label, []).append(row)
    return groups


def _numbers(rows: Sequence[Row]) -> list[str]:
    """Keys of the rows under which there are numbers."""
    return sorted({name for row in rows for name, value in row.items() if is_number(value)} - {"iteration"})
