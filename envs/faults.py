"""Faults of a game of one's own, found and worded here for play, trees and checks alike."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.game import States

MOST_SHOWN = 8
"""Probabilities that an error shows."""


def chance_fault(found: object, games: int, slack: float) -> str | None:
    """Returns the fault of an answer of `chance` in a few words, or None.

    Args:
        found: What it returned; right are probabilities `[games, outcomes]`.
        games: Number of games that were asked about.
        slack: How much the sum of a row may differ from 1.
    """
    if not isinstance(found, np.ndarray) or found.ndim != 2 or len(found) != games:
        got = f"an array {found.shape}" if isinstance(found, np.ndarray) else type(found).__name__
        return f"chance returned {got}, expected an array ({games}, outcomes)"
    if (bad := np.flatnonzero((found < 0).any(axis=1))).size:
        return f"chance returned {_shown(found[bad[0]])}, expected probabilities, of which none is negative"
    sums = found.sum(axis=1, dtype=np.float64)
    if (bad := np.flatnonzero(~(np.abs(sums - 1) <= slack))).size:  # also a sum that is not a number
        row, off = found[bad[0]], sums[bad[0]] - 1
        close = abs(off) < 1e-6
        total = f"1 + ({off:.2g})" if close else f"{sums[bad[0]]:.6g}"
        cure = ": compute them in float64" if close else ""
        return f"chance returned {_shown(row)}, which sum to {total}, expected probabilities that sum to 1{cure}"
    return None


def _shown(row: NDArray[Any]) -> str:
    """The first probabilities of a row."""
    return f"[{', '.join(f'{each:.6g}' for each in row[:MOST_SHOWN])}{', ...' if len(row) > MOST_SHOWN else ''}]"


def changed(before: States, after: States) -> NDArray[np.bool_]:
    """Returns which records differ in a field, `bool[B]`; NaN is equal to itself."""
    names, size = before.dtype.names or (), len(before)
    different = [_differ(before[name], after[name]).reshape(size, -1).any(axis=1) for name in names]
    return np.asarray(np.any(different, axis=0))


def _differ(before: NDArray[Any], after: NDArray[Any]) -> NDArray[np.bool_]:
    """Returns the places where two arrays differ."""
    different = np.asarray(before != after)
    if before.dtype.kind in "fc":
        different &= ~(np.isnan(before) & np.isnan(after))
    return different


def unchanged_fault(method: str, choice: int) -> str:
    """Returns the fault of a game whose state is the same after a choice, and which therefore need not end."""
    return (
        f"{method} did not change the state at the choice {choice}: it has to change the states that it is given, in "
        "place, and to name the next mover in them; a game that may come back to a state needs a counter in it"
    )


def endless_fault(decisions: int) -> str:
    """Returns the fault of a game that still runs after the most decisions that its spec allows."""
    return (
        f"a game still runs after {decisions:,} decisions, spec.max_plies: end it by then, or raise max_plies to the "
        "most decisions that a game can have"
    )


def long_fault(choices: int) -> str:
    """Returns the fault of a game that still runs after more choices than any bound on chance allows."""
    return (
        f"after {choices:,} choices of players and of chance a game still runs; `apply` has to change the states that "
        "it is given, and to name the next mover in them"
    )


__all__ = ["chance_fault", "changed", "endless_fault", "long_fault", "unchanged_fault"]
