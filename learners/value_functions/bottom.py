"""Value solving (paper 003, Experimental Setup): values of the histories at the limit in a solution of the bottom."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from learners.cfr.checks import check_array
from learners.value_functions.batched import BatchSolver
from learners.value_functions.parts import Pair, Split

Array = NDArray[np.float32]

MOST = 20
"""Public states that are hard to solve get at most this multiple of the requested iterations."""

RARE = 1e-5
"""Histories with at most this share of the range of their public state get the value of a best response. The opponent
has no reason to adapt to histories that are reached so rarely, so averages need not converge there (paper 003, Table 1:
counterfactual optimality by best response)."""


class Solved(NamedTuple):
    """Counterfactual values at the limit for `K` pairs of ranges.

    Attributes:
        values: Value of each player's histories if both play the averages found, `float32[H, K]` of each player: the
            sum over the opponent's histories, weighted by their reach probabilities and by chance. For histories that
            are `RARE` the entry of `best`.
        best: Value of the histories for a player who answers best in the bottom, `float32[H, K]` of each player.
    """

    values: Pair
    best: Pair

    def gap(self) -> float:
        """The largest gain of a best response at any history, which bounds the distance to optimal values."""
        return max(float((b - v).max()) for b, v in zip(self.best, self.values, strict=True))


def solve_bottom(split: Split, ranges: Pair, iterations: int = 1000, tolerance: float | None = None) -> Solved:
    """Solves the bottom by CFR+, each public state on its own.

    Args:
        split: The game.
        ranges: Reach probability of each history by the player's own actions, `[H, K]` of each player. They must sum to
            1 in each public state, see `trunks.normalise`, since the bound below which regrets count as 0 is fixed.
        iterations: Iterations of CFR+.
        tolerance: Largest gain of a best response in a public state, as a share of the largest return. Where one of the
            `K` problems exceeds it, that problem is solved for up to `MOST` times as many iterations. None disables
            this.

    Raises:
        ValueError: the ranges do not fit the game.
    """
    allowed = np.inf if tolerance is None else tolerance * split.tree.max_utility
    batch = ranges[0].shape[-1]
    for count, own in zip(split.histories, ranges, strict=True):
        check_array("ranges", own, (count, batch))
    values, best = ([np.zeros((count, batch), np.float32) for count in split.histories] for _ in ("values", "best"))
    for roots, part in split.subgames:
        solver = BatchSolver(part, (ranges[0][roots[0]], ranges[1][roots[1]]))
        unsolved = np.arange(batch)
        for _ in range(MOST):
            solver.run(iterations)
            policies = solver.average_policies()
            gap = np.zeros(len(unsolved), np.float32)
            for player in (0, 1):
                at = np.ix_(roots[player], unsolved)
                answered = solver.best_values(policies, player)
                own = solver.roots[player]
                rare = own <= RARE * own.sum(axis=0)
                values[player][at] = played = np.where(rare, answered, solver.values(policies, player))
                best[player][at] = answered
                gap = np.maximum(gap, (answered - played).max(axis=0))
            hard = np.flatnonzero(gap > allowed)
            if not len(hard):
                break
            solver, unsolved = solver.select(hard), unsolved[hard]
    return Solved((values[0], values[1]), (best[0], best[1]))


__all__ = ["MOST", "RARE", "Solved", "solve_bottom"]
