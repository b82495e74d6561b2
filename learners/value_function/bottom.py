"""Value solving (paper 003, Experimental Setup): what histories at the limit are worth when the bottom is solved."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from learners.value_function.batched import BatchSolver
from learners.value_function.parts import Pair, Split

Array = NDArray[np.float32]

MOST = 4
"""So many times the iterations asked for are spent on a public state that is hard to solve."""


class Solved(NamedTuple):
    """Counterfactual values at the limit for `K` pairs of trunk strategies.

    Attributes:
        values: Of each player's histories when both play the averages found, `float32[H, K]`: sums over the other's
            histories, weighed by their range and by chance.
        best: What they would be worth to a player who answers best in the bottom.
    """

    values: Pair
    best: Pair

    def gap(self) -> float:
        """The largest gain of a best response at any history: how far the values are from optimal ones."""
        return max(float((b - v).max()) for b, v in zip(self.best, self.values, strict=True))


def solve_bottom(split: Split, ranges: Pair, iterations: int = 1000, tolerance: float | None = None) -> Solved:
    """Solves the bottom by CFR+, each public state for itself.

    Args:
        split: The game.
        ranges: Likelihood of each history by the player's own play, `[H, K]` of each player; any scale.
        iterations: Of CFR+.
        tolerance: Where a best response gains more than this, as a share of the largest return, a public state is
            solved further, up to `MOST` times as long; None: never.
    """
    allowed = np.inf if tolerance is None else tolerance * split.tree.max_utility
    lanes = ranges[0].shape[1]
    found = [tuple(np.zeros((count, lanes), np.float32) for count in split.histories) for _ in ("values", "best")]
    values, best = found
    for roots, part in split.subgames:
        reach = (ranges[0][roots[0]], ranges[1][roots[1]])
        solver = BatchSolver(part, reach)
        for _ in range(MOST):
            solver.run(iterations)
            policies = solver.average_policies()
            played = [solver.values(policies, player) for player in (0, 1)]
            answered = [solver.values(policies, player, best=True) for player in (0, 1)]
            if max(float((b - v).max()) for b, v in zip(answered, played, strict=True)) <= allowed:
                break
        for player in (0, 1):
            values[player][roots[player]], best[player][roots[player]] = played[player], answered[player]
    return Solved((values[0], values[1]), (best[0], best[1]))


__all__ = ["Solved", "solve_bottom"]
