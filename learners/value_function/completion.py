"""A policy of the whole game from one of the trunk: the bottom is solved below it, and both are put together."""

import numpy as np
from numpy.typing import NDArray

from learners.value_function.batched import BatchSolver
from learners.value_function.parts import Pair, Split
from learners.value_function.trunks import normalise, plans_of, ranges_of

Floats = NDArray[np.float64]


def complete(split: Split, policies: Pair, iterations: int = 1000) -> Floats:
    """The policy of both players on the whole tree, `float64[S]`.

    In the bottom both play what CFR+ finds for the ranges of these trunk policies. Nobody gains by leaving that in the
    bottom alone. Who leaves the trunk as well may gain, even from an equilibrium of it: that a solution of the bottom
    fits these ranges does not say that it fits the trunk (unsafe re-solving; Burch, Johanson and Bowling 2014).

    Args:
        split: The game.
        policies: Of the trunk by sequence, `[Q, 1]` of each player.
        iterations: Of CFR+ in the bottom.
    """
    tree = split.tree
    policy = np.empty(tree.num_slots)
    for plex, own in zip(split.trunk.players, policies, strict=True):
        _write(split, plex.sequence, own[:, 0], policy)
    ranges, _ = normalise(split, ranges_of(split, plans_of(split.trunk, policies)))
    for roots, part in split.subgames:
        solver = BatchSolver(part, (ranges[0][roots[0]], ranges[1][roots[1]]))
        solver.run(iterations)
        for plex, own in zip(part.players, solver.average_policies(), strict=True):
            _write(split, plex.sequence, own[:, 0].astype(np.float64), policy)
    sums = np.add.reduceat(policy, tree.slots[:-1])
    return policy / np.repeat(sums, np.diff(tree.slots))


def _write(split: Split, sequence: NDArray[np.int32], values: Floats, policy: Floats) -> None:
    """Writes the probabilities of sequences to the slots that belong to them; of forced actions 1."""
    tree = split.tree
    forced = np.repeat(np.diff(tree.slots) == 1, np.diff(tree.slots))
    mine = sequence >= 0
    policy[mine] = np.where(forced[mine], 1.0, values[sequence[mine]])


__all__ = ["complete"]
