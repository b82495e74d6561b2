"""Value solving (paper 003, Experimental Setup): what histories at the limit are worth when the bottom is solved."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from learners.value_function.batched import BatchSolver
from learners.value_function.parts import Pair, Split

Array = NDArray[np.float32]

MOST = 20
"""So many times the iterations asked for are spent at most where a public state is hard to solve."""

RARE = 1e-5
"""Histories with at most this share of the range of their public state are worth what a best response wins there: the
other player has no reason to answer what is played so rarely, so that averages need not come to rest there (paper 003,
Table 1: counterfactual optimality by best response)."""


class Solved(NamedTuple):
    """Counterfactual values at the limit for `K` pairs of trunk strategies.

    Attributes:
        values: Of each player's histories when both play the averages found, `float32[H, K]`: sums over the other's
            histories, weighed by their range and by chance. Of histories that are `RARE` when he answers best there.
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
        ranges: Likelihood of each history by the player's own play, `[H, K]` of each player. They sum to 1 in each
            public state, see `trunks.normalise`: what regrets count as 0 is fixed.
        iterations: Of CFR+.
        tolerance: Where a best response gains more than this in a public state, as a share of the largest return, that
            one of the `K` is solved further there, up to `MOST` times as long; None: never.
    """
    allowed = np.inf if tolerance is None else tolerance * split.tree.max_utility
    lanes = ranges[0].shape[1]
    values, best = ([np.zeros((count, lanes), np.float32) for count in split.histories] for _ in ("values", "best"))
    for roots, part in split.subgames:
        solver, open_lanes = BatchSolver(part, (ranges[0][roots[0]], ranges[1][roots[1]])), np.arange(lanes)
        for _ in range(MOST):
            solver.run(iterations)
            policies = solver.average_policies()
            gap = np.zeros(len(open_lanes), np.float32)
            for player in (0, 1):
                at = np.ix_(roots[player], open_lanes)
                answered = solver.values(policies, player, best=True)
                own = solver.reach[player]
                rare = own <= RARE * own.sum(axis=0)
                values[player][at] = played = np.where(rare, answered, solver.values(policies, player))
                best[player][at] = answered
                gap = np.maximum(gap, (answered - played).max(axis=0))
            hard = np.flatnonzero(gap > allowed)
            if not len(hard):
                break
            solver, open_lanes = solver.only(hard), open_lanes[hard]
    return Solved((values[0], values[1]), (best[0], best[1]))


__all__ = ["Solved", "solve_bottom"]
