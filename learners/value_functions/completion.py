"""Completion of a policy of the trunk: the bottom is solved below it, which gives a policy of the whole game."""

import numpy as np
from numpy.typing import NDArray

from learners.value_functions.batched import BatchSolver
from learners.value_functions.parts import Pair, Split
from learners.value_functions.trunks import normalise, plans_of, ranges_of

Floats = NDArray[np.float64]


def complete(split: Split, policies: Pair, iterations: int = 1000) -> Floats:
    """Completes a policy of the trunk to a policy of both players on the whole tree, `float64[S]`.

    In the bottom, both players play the solution that CFR+ finds for the ranges of the trunk policies. No player gains
    by deviating in the bottom alone. A player who also deviates in the trunk may gain, even if the trunk belongs to an
    equilibrium: a solution of the bottom for these ranges need not fit the trunk (unsafe re-solving; Burch, Johanson
    and Bowling 2014).

    Args:
        split: The game.
        policies: Policy of the trunk by sequence, `[Q, 1]` of each player.
        iterations: Iterations of CFR+ in the bottom.

    Raises:
        ValueError: the policies do not fit the trunk.
    """
    tree = split.tree
    policy = tree.uniform()
    ranges, _ = normalise(split, ranges_of(split, plans_of(split.trunk, policies)))
    for treeplex, own in zip(split.trunk.players, policies, strict=True):
        treeplex.to_slots(own[:, 0], policy)
    for roots, part in split.subgames:
        solver = BatchSolver(part, (ranges[0][roots[0]], ranges[1][roots[1]]))
        solver.run(iterations)
        for treeplex, own in zip(part.players, solver.average_policies(), strict=True):
            treeplex.to_slots(own[:, 0], policy)
    sums = np.add.reduceat(policy, tree.slots[:-1])  # 1 except for rounding in float32
    return np.asarray(policy / np.repeat(sums, np.diff(tree.slots)))


__all__ = ["complete"]
