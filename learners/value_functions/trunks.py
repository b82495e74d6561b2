"""Batches of policies of the trunk, and the ranges that they lead to at the limit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from learners.cfr.sequence_form import Pair, SequenceForm, realization_plan
from learners.value_functions.parts import Split

PURE = 0.1
"""Share of the infosets with a random pure strategy (paper 003's full version)."""


def random_policies(split: Split, batch: int, rng: np.random.Generator, pure: float = PURE) -> Pair:
    """Draws random policies of both players in the trunk, `float32[Q, K]` by sequence.

    At each infoset, a policy is either drawn uniformly from all distributions, or plays one action with certainty.

    Args:
        split: The game.
        batch: `K`, the number of policies.
        rng: Random numbers.
        pure: Probability that a policy is pure at an infoset.
    """
    policies = []
    for treeplex in split.trunk.players:
        counts = treeplex.num_actions
        weights = rng.standard_exponential((treeplex.num_sequences, batch))
        policy = np.ones((treeplex.num_sequences, batch))
        if len(counts):
            body = weights[treeplex.num_roots :]
            offsets = treeplex.begin[:-1].astype(np.int64) - treeplex.num_roots
            mixed = body / np.repeat(np.add.reduceat(body, offsets), counts, axis=0)
            chosen = body == np.repeat(np.maximum.reduceat(body, offsets), counts, axis=0)
            certain = np.repeat(rng.random((len(counts), batch)) < pure, counts, axis=0)
            policy[treeplex.num_roots :] = np.where(certain, chosen, mixed)
        policies.append(policy.astype(np.float32))
    return policies[0], policies[1]


def plans_of(part: SequenceForm, policies: Pair) -> Pair:
    """Realization plans of policies by sequence, `[Q, K]`, from roots of probability 1."""
    first, second = (realization_plan(t, policy) for t, policy in zip(part.players, policies, strict=True))
    return first, second


def ranges_of(split: Split, plans: Pair) -> Pair:
    """Reach probability of each history at the limit by the player's own plan of the trunk, `[H, K]`."""
    first, second = (plan[leaves] for plan, leaves in zip(plans, split.leaves, strict=True))
    return first, second


def sums_by_public(split: Split, player: int, amounts: NDArray[Any]) -> NDArray[Any]:
    """Sums over the histories of each public state, `[H, K]` to `[S, K]`."""
    total: NDArray[Any] = split.encoding.groups[player].astype(amounts.dtype) @ amounts
    return total


def normalise(split: Split, ranges: Pair, rng: np.random.Generator | None = None) -> tuple[Pair, Pair]:
    """Scales ranges, `[H, K]`, so that they sum to 1 in each public state.

    A player who does not reach a public state at all gets a range there that is drawn at random, or a uniform one
    without a generator: counterfactual values have degree 0 in the player's own range, and the other player's values
    are multiplied by the sum, 0.

    Returns:
        The scaled ranges, `[H, K]` of each player, and their sums before, `[S, K]` of each player.
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
