"""Faults of a game that lists its chance events, found and worded here for play, trees and checks alike."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

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


__all__ = ["chance_fault"]
