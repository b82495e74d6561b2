"""The curves of a run: rows of its record by player, policy and opponent, drawn over iterations, decisions or time."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dancfr.arguments import read
from dancfr.errors import UsageError, nearest
from dancfr.notebooks import BAND, axes_for
from dancfr.values import is_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Row = Mapping[str, Any]
"""A row of `metrics.jsonl`."""

PREFERRED = ("nash_conv", "win_rate")
"""Keys that are drawn if none is named: the first that a run has recorded."""
EXACT = ("nash_conv", "exploitability")
"""Keys whose axis is logarithmic."""
X_KEYS = {"iterations": "iteration", "decisions": "decisions", "seconds": "elapsed_s"}
"""Axes that a curve may be drawn over, each with its key in a row, see `with_decisions`."""
_X_LABELS = {"iterations": "iteration", "decisions": "decisions", "seconds": "seconds of training"}
_APART = {"player": "player {}", "policy": "{}", "opponent": "against {}"}
"""Keys that tell rows of an iteration apart, and how a legend names their values."""


def draw(
    rows: Sequence[Row], key: str | None, title: str, name: str, ax: "Axes | None" = None, x: str = "iterations"
) -> "Axes":
    """Draws the values of a key, a line for each player, policy and opponent, and returns the axes.

    Win rates have their 95 % intervals, if all points of a line have them.

    Args:
        rows: Rows of the record.
        key: The key; None: see `PREFERRED`.
        title: Title of a new figure.
        name: Name of the run, with which labels begin.
        ax: Axes to draw on; None makes a figure.
        x: A name of `X_KEYS`.

    Raises:
        UsageError: no row has the key, or none of those that have it has the number to draw it over.
    """
    key = chosen_key(rows, key)
    groups = curves_of(rows, key, x)
    alone, ax = ax is None, axes_of_curves(ax, key, x, title)
    for label, points in groups.items():
        places = [row[X_KEYS[x]] for row in points]
        words = (name, label or key) if alone else (name, label, key)
        (line,) = ax.plot(places, [row[key] for row in points], marker=".", label=" ".join(filter(None, words)))
        if key == "win_rate" and all("ci95" in row for row in points):
            low, high = zip(*(row["ci95"] for row in points), strict=True)
            ax.fill_between(places, low, high, color=line.get_color(), alpha=BAND)
    ax.legend()
    return ax


def chosen_key(rows: Sequence[Row], key: str | None) -> str:
    """Returns the key that is drawn: the given one, or the first of `PREFERRED` that the rows have.

    Raises:
        UsageError: no row has a number under it, or under any of these.
    """
    read(key, str | None, "plot: key")
    numbers = _numbers(rows)
    if key is None:
        key = next((name for name in PREFERRED if name in numbers), None)
        if key is None:
            raise UsageError(f"the run has recorded no {' and no '.join(PREFERRED)} yet: name another key of its rows")
    if key not in numbers:
        raise UsageError(nearest(key, numbers, "recorded number"))
    return key


def curves_of(rows: Sequence[Row], key: str, x: str) -> dict[str, list[Row]]:
    """Returns the rows that have numbers under a key and at a place, see `lines`.

    Raises:
        UsageError: `x` is not a name of `X_KEYS`, or no row with the key has the number to draw it over.
    """
    if read(x, str, "plot: x") not in X_KEYS:
        raise UsageError(f"plot: {nearest(x, list(X_KEYS), 'x')}")
    groups = lines([row for row in rows if is_number(row.get(X_KEYS[x]))], key)
    if not groups:
        known = [other for other, at in X_KEYS.items() if any(is_number(r.get(at)) and key in r for r in rows)]
        raise UsageError(f"plot: rows with {key} have no {x}: draw them over {' or '.join(known) or 'another x'}")
    return groups


def axes_of_curves(ax: "Axes | None", key: str, x: str, title: str) -> "Axes":
    """Returns axes for curves of a key over `x`, see `dancfr.notebooks.axes_for`."""
    ax = axes_for(ax, _X_LABELS[x], key, title, shares=key == "win_rate")
    if key in EXACT:
        ax.set_yscale("log")
    return ax


def with_decisions(rows: Sequence[Row], counter: str | None, kinds: Collection[str]) -> list[dict[str, Any]]:
    """Returns rows, those of some kinds with the decisions by the end of their iteration as ``decisions``, if known.

    Args:
        rows: All rows of the record.
        counter: Key of training rows that counts decisions, see `dancfr.methods.method.Method`.
        kinds: Kinds of rows that get the number.
    """
    known = {row["iteration"]: row[counter] for row in rows if counter is not None and is_number(row.get(counter))}
    found = [dict(row) for row in rows]
    for row in found:
        if row.get("kind") in kinds and row.get("iteration") in known:
            row.setdefault("decisions", known[row["iteration"]])
    return found


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
        such = [f"{name}={values[0]!r} of {', '.join(values)}" for name, values in kinds.items() if len(values) > 1]
        cure = f"name one, such as {such[0]}" if such else "name an entry of the rows that differs, see run.rows()"
        raise UsageError(f"{key} has several values an iteration: {cure}")
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
