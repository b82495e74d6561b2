"""Compiled operations on ragged lists of actions: choose uniformly or by value, and take a part of the lists."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.game import Ragged


@kernel
def choose_rows(offsets, u):
    """Chooses one row of each list uniformly.

    Args:
        offsets: `int64[B + 1]`.
        u: One uniform draw from [0, 1) per list, `float64[B]`.

    Returns:
        The chosen rows, `int64[B]`; -1 for empty lists.
    """
    rows = np.empty(u.shape[0], np.int64)
    for b in range(u.shape[0]):
        count = offsets[b + 1] - offsets[b]
        rows[b] = offsets[b] + np.int64(u[b] * count) if count > 0 else -1
    return rows


@kernel
def best_rows(offsets, values):
    """Returns the row with the highest value of each list, `int64[B]`: the first of equals, -1 for empty lists."""
    rows = np.empty(offsets.shape[0] - 1, np.int64)
    for b in range(rows.shape[0]):
        best = -1
        for n in range(offsets[b], offsets[b + 1]):
            if best < 0 or values[n] > values[best]:
                best = n
        rows[b] = best
    return rows


@kernel
def _take_into(offsets, which, taken, source):
    n = 0
    for i in range(which.shape[0]):
        taken[i] = n
        for row in range(offsets[which[i]], offsets[which[i] + 1]):
            source[n] = row
            n += 1
    taken[which.shape[0]] = n


def take_lists(ragged: Ragged, which: NDArray[np.int64]) -> tuple[Ragged, NDArray[np.int64]]:
    """Returns the lists of the states `which`, and the rows of their actions in `ragged`, `int64[n]`."""
    offsets = np.empty(len(which) + 1, np.int64)
    total = int((ragged.offsets[which + 1] - ragged.offsets[which]).sum())
    source = np.empty(total, np.int64)
    _take_into(ragged.offsets, which, offsets, source)
    opaque = f"V{ragged.rows.dtype.itemsize}"  # NumPy would copy records field by field
    rows = ragged.rows.view(opaque)[source].view(ragged.rows.dtype)
    return Ragged(offsets, rows), source


def find_rows(ragged: Ragged, actions: NDArray[np.void], fields: Sequence[str]) -> NDArray[np.int64]:
    """Returns the first row of each list that agrees with an action in some fields, `int64[B]`; -1 if none does.

    Args:
        ragged: B lists; none is empty.
        actions: An action for each list, `[B]` records.
        fields: Names of fields of the records.
    """
    owner = np.repeat(np.arange(len(actions)), np.diff(ragged.offsets))
    same = np.ones(len(owner), np.bool_)
    for name in fields:
        same &= ragged.rows[name] == actions[name][owner]
    rows = np.asarray(best_rows(ragged.offsets, same.astype(np.float32)))
    return np.where(same[rows], rows, -1)


__all__ = ["best_rows", "choose_rows", "find_rows", "take_lists"]
