"""Strategies of the trunk for many problems at once, and the ranges that they lead to at the limit."""

import numpy as np
from numpy.typing import NDArray

from learners.value_function.batched import make_plan
from learners.value_function.parts import Pair, Part, Split

Array = NDArray[np.float32]

PURE = 0.1
"""Share of the infosets with a random pure strategy (paper 003's full version)."""


def random_policies(split: Split, lanes: int, rng: np.random.Generator, pure: float = PURE) -> Pair:
    """Random strategies of both players in the trunk, `float32[Q, K]` by sequence: at each infoset mixed, uniformly
    from all distributions, or one action for sure.

    Args:
        split: The game.
        lanes: `K`, how many.
        rng: Draws them.
        pure: How often an infoset has one action for sure.
    """
    policies = []
    for plex in split.trunk.players:
        counts = plex.counts
        weights = rng.standard_exponential((plex.num_sequences, lanes))
        starts = plex.begin[:-1].astype(np.int64)
        policy = np.ones((plex.num_sequences, lanes))
        if len(counts):
            body = weights[plex.begin[0] :]
            offsets = starts - plex.begin[0]
            mixed = body / np.repeat(np.add.reduceat(body, offsets), counts, axis=0)
            chosen = body == np.repeat(np.maximum.reduceat(body, offsets), counts, axis=0)
            certain = np.repeat(rng.random((len(counts), lanes)) < pure, counts, axis=0)
            policy[plex.begin[0] :] = np.where(certain, chosen, mixed)
        policies.append(policy.astype(np.float32))
    return policies[0], policies[1]


def plans_of(part: Part, policies: Pair) -> Pair:
    """Realization plans of policies by sequence, `float32[Q, K]`, of parts with one root."""
    plans = []
    for plex, policy in zip(part.players, policies, strict=True):
        plan = np.empty_like(policy)
        make_plan(plex.parent, plex.begin, policy, np.ones((plex.num_roots, policy.shape[1]), np.float32), plan)
        plans.append(plan)
    return plans[0], plans[1]


def ranges_of(split: Split, plans: Pair) -> Pair:
    """Likelihood of each history at the limit by the player's own plan of the trunk, `[H, K]`."""
    first, second = (plan[leaves] for plan, leaves in zip(plans, split.leaves, strict=True))
    return first, second


def sums_by_public(split: Split, player: int, amounts: NDArray) -> NDArray:
    """Sums over the histories of each public state, `[H, K]` to `[S, K]`."""
    total: NDArray = split.encoding.groups[player].astype(amounts.dtype) @ amounts
    return total


def normalise(split: Split, ranges: Pair, rng: np.random.Generator | None = None) -> tuple[Pair, Pair]:
    """Ranges that sum to 1 in each public state, `[H, K]`, and the sums they had, `[S, K]`, of each player.

    Where a player does not get to a public state at all, his range there is drawn at random, or is uniform without a
    generator: counterfactual values have degree 0 in the own range, and for the other's values his sum is 0.
    """
    scaled, sums = [], []
    for player in (0, 1):
        public, own = split.encoding.public[player], ranges[player]
        total = sums_by_public(split, player, own)
        other = np.ones_like(own) if rng is None else rng.standard_exponential(own.shape).astype(own.dtype)
        filled = np.where(total[public] > 0, own, other)
        scaled.append(filled / sums_by_public(split, player, filled)[public])
        sums.append(total)
    return (scaled[0], scaled[1]), (sums[0], sums[1])


__all__ = ["PURE", "normalise", "plans_of", "random_policies", "ranges_of", "sums_by_public"]
