"""Depth-limited solving: CFR of the trunk, with a value function in the place of the bottom (paper 003, Depth-limited
Solver).

DL-CFR+ is CFR+ of the trunk: in every iteration the players' ranges at the limit go to the value function, and what it
says of each history adds to the value of the sequence that leads there. CFR-D (Burch, Johanson and Bowling 2014) is
CFR with the bottom solved anew in every iteration. `K` solutions, which differ in where they start, run side by side.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from learners.value_function.batched import advance, make_plan, multiply, set_uniform, share, step
from learners.value_function.bottom import solve_bottom
from learners.value_function.parts import Pair, Split
from learners.value_function.trunks import normalise, ranges_of

Floats = NDArray[np.float64]

NOISE = 1e-9
"""Regrets up to this share of the largest return count as 0."""


class ValueFunction(Protocol):
    """What histories at the limit are worth."""

    def values(self, ranges: Pair) -> Pair:
        """Counterfactual values of each player's histories for both players' ranges, `[H, K]` each."""
        ...


class ZeroValues:
    """That everything below the limit is worth nothing: what a solver can do without a value function."""

    def values(self, ranges: Pair) -> Pair:
        return np.zeros(ranges[0].shape), np.zeros(ranges[1].shape)


class SolvedValues:
    """The bottom solved for the very ranges that are asked for: optimal but for what CFR+ leaves open.

    Args:
        split: The game.
        iterations: Of CFR+ in the bottom.
    """

    def __init__(self, split: Split, iterations: int = 1000) -> None:
        self.split, self.iterations = split, iterations

    def values(self, ranges: Pair) -> Pair:
        """See `ValueFunction`; found for ranges that sum to 1 in each public state, and scaled back."""
        scaled, sums = normalise(self.split, ranges)
        found = solve_bottom(self.split, scaled, self.iterations).values
        public = self.split.encoding.public
        return found[0] * sums[1][public[0]], found[1] * sums[0][public[1]]


class Variant(NamedTuple):
    """What makes one depth-limited solver of the other.

    Attributes:
        floor: Regret matching+.
        alternating: Whether player 1 answers the newest policy of player 0, with values asked for again.
        gamma: Iteration t weighs t^gamma in the average.
    """

    floor: bool
    alternating: bool
    gamma: float


VARIANTS: Mapping[str, Variant] = {"dl-cfr+": Variant(True, True, 1.0), "cfr-d": Variant(False, False, 0.0)}


class DepthLimitedSolver:
    """DL-CFR+ or CFR-D on the trunk of a game.

    Args:
        split: The game.
        function: What the histories at the limit are worth.
        algorithm: A key of `VARIANTS`.
        start: Policies that the first iteration plays, by sequence of the trunk, `[Q, K]` of each player; None: one
            solution that starts uniformly.

    Attributes:
        plans: Realization plans of what the next iteration plays, `float64[Q, K]`.

    Raises:
        ValueError: no such algorithm.
    """

    def __init__(
        self,
        split: Split,
        function: ValueFunction,
        algorithm: str = "dl-cfr+",
        start: tuple[NDArray, NDArray] | None = None,
    ) -> None:
        if algorithm not in VARIANTS:
            raise ValueError(f"algorithm must be one of {', '.join(VARIANTS)}, not {algorithm!r}")
        self.split, self.function, self.variant = split, function, VARIANTS[algorithm]
        self.iteration = 0
        self._lanes = 1 if start is None else start[0].shape[1]
        matrices = (split.trunk.payoff, -split.trunk.transposed)
        self._payoffs = [(m.indptr.astype(np.uint32), m.indices.astype(np.uint32), m.data) for m in matrices]
        self._plexes = [(plex.parent, plex.begin) for plex in split.trunk.players]
        self._regrets, self._averages, self._policies = self._zeros(), self._zeros(), self._zeros()
        self.plans = self._zeros()
        for player, (parent, begin) in enumerate(self._plexes):
            if start is None:
                set_uniform(begin, self._policies[player])
            else:
                self._policies[player][:] = start[player]
            make_plan(parent, begin, self._policies[player], np.ones((1, self._lanes)), self.plans[player])

    def _zeros(self) -> Pair:
        first, second = (np.zeros((plex.num_sequences, self._lanes)) for plex in self.split.trunk.players)
        return first, second

    def run(self, iterations: int) -> None:
        """Runs that many iterations."""
        for _ in range(iterations):
            self.iteration += 1
            if self.variant.alternating:
                for player in (0, 1):
                    leaves = self.function.values(ranges_of(self.split, self.plans))
                    self._update(player, leaves[player], self.plans[1 - player])
            else:
                leaves = self.function.values(ranges_of(self.split, self.plans))
                before = self.plans[0].copy()
                self._update(0, leaves[0], self.plans[1])
                self._update(1, leaves[1], before)

    def _update(self, player: int, leaves: Floats, other: Floats) -> None:
        """Regrets, policy and average of a player, whose opponent has the plan `other`."""
        parent, begin = self._plexes[player]
        values = np.empty_like(self.plans[player])
        multiply(*self._payoffs[player], other, values)
        values += self.split.arrivals[player] @ leaves
        noise, policy = NOISE * self.split.tree.max_utility, self._policies[player]
        step(parent, begin, values, self._regrets[player], policy, noise, self.variant.floor)
        weight = float(self.iteration) ** self.variant.gamma
        plan = self.plans[player]
        advance(parent, begin, policy, plan, plan, self._averages[player], weight)

    def current_policies(self) -> Pair:
        """What the next iteration plays, by sequence of the trunk, `[Q, K]` of each player."""
        return self._policies[0].copy(), self._policies[1].copy()

    def average_policies(self) -> Pair:
        """Average policies of the trunk by sequence, `float64[Q, K]` of each player; uniform where not reached."""
        policies = self._zeros()
        for player, (_, begin) in enumerate(self._plexes):
            share(begin, self._averages[player], policies[player])
        return policies


__all__ = ["VARIANTS", "DepthLimitedSolver", "SolvedValues", "ValueFunction", "Variant", "ZeroValues"]
