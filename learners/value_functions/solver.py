"""Depth-limited solving: CFR on the trunk, with a value function in place of the bottom (paper 003, Depth-limited
Solver).

DL-CFR+ is CFR+ on the trunk: in every iteration the value function gets the players' ranges at the limit, and its value
of each history is added to the value of the sequence that leads there. CFR-D (Burch, Johanson and Bowling 2014) is CFR
with the bottom solved again in every iteration. `K` solutions, which differ in their initial policies, run in parallel.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from learners.cfr.checks import check_array
from learners.cfr.sequence_form import shares
from learners.cfr.state import Rule, check_pair, new_state, set_plans
from learners.cfr.vector import multiply, update_player
from learners.value_functions.bottom import solve_bottom
from learners.value_functions.parts import Pair, Split
from learners.value_functions.trunks import normalise, ranges_of

Floats = NDArray[np.float64]

NOISE = 1e-9
"""Regrets up to this share of the largest return count as 0."""


class ValueFunction(Protocol):
    """Values of the histories at the limit."""

    def values(self, ranges: Pair) -> Pair:
        """Counterfactual values of each player's histories for both players' ranges, `[H, K]` of each player."""
        ...


class ZeroValues:
    """The value function that is 0 everywhere: a baseline that ignores the bottom."""

    def values(self, ranges: Pair) -> Pair:
        return np.zeros(ranges[0].shape), np.zeros(ranges[1].shape)


class SolvedValues:
    """Values from solving the bottom for the given ranges: optimal up to the accuracy of CFR+.

    Args:
        split: The game.
        iterations: Iterations of CFR+ in the bottom.
    """

    def __init__(self, split: Split, iterations: int = 1000) -> None:
        self.split, self.iterations = split, iterations

    def values(self, ranges: Pair) -> Pair:
        """See `ValueFunction`. The bottom is solved for ranges that sum to 1 in each public state; values are scaled
        back."""
        scaled, sums = normalise(self.split, ranges)
        found = solve_bottom(self.split, scaled, self.iterations).values
        public = self.split.encoding.public
        return found[0] * sums[1][public[0]], found[1] * sums[0][public[1]]


class Variant(NamedTuple):
    """The parameters that distinguish the depth-limited solvers.

    Attributes:
        floor: Regret matching+: negative regrets become 0.
        alternating: Whether player 1 answers the newest policy of player 0, which evaluates the value function twice.
        gamma: Iteration t has weight t^gamma in the average.
    """

    floor: bool
    alternating: bool
    gamma: float


VARIANTS: Mapping[str, Variant] = {"dl-cfr+": Variant(True, True, 1.0), "cfr-d": Variant(False, False, 0.0)}


class DepthLimitedSolver:
    """DL-CFR+ or CFR-D on the trunk of a game.

    Args:
        split: The game.
        function: Values of the histories at the limit.
        algorithm: A key of `VARIANTS`.
        start: Policies of the first iteration by sequence of the trunk, `[Q, K]` of each player; None stands for one
            solution with a uniform start.

    Raises:
        ValueError: there is no such algorithm, or `start` does not fit the trunk.
    """

    def __init__(
        self,
        split: Split,
        function: ValueFunction,
        algorithm: str = "dl-cfr+",
        start: tuple[NDArray[Any], NDArray[Any]] | None = None,
    ) -> None:
        if algorithm not in VARIANTS:
            raise ValueError(f"algorithm must be one of {', '.join(VARIANTS)}, got {algorithm!r}")
        self.split, self.function, self.variant = split, function, VARIANTS[algorithm]
        self.iteration = 0
        floor, alternating, gamma = self.variant
        noise = NOISE * split.tree.max_utility
        self._rule = Rule(alternating, floor, np.inf, np.inf, gamma, noise)
        certain = np.ones((1, 1 if start is None else start[0].shape[1]))
        players, payoffs = split.trunk.players, split.trunk.payoffs()
        self._states = new_state(players[0], payoffs[0], certain), new_state(players[1], payoffs[1], certain)
        check_pair(*self._states)
        if start is not None:
            for state, policy in zip(self._states, start, strict=True):
                check_array("start", policy, state.policy.shape)
                state.policy[:] = policy
                set_plans(state)

    @property
    def plans(self) -> Pair:
        """Realization plans of the policies of the next iteration, `float64[Q, K]` of each player."""
        return self._states[0].plan, self._states[1].plan

    def run(self, iterations: int) -> None:
        """Runs `iterations` more iterations."""
        for _ in range(iterations):
            self.iteration += 1
            if self.variant.alternating:
                for player in (0, 1):
                    leaves = self.function.values(ranges_of(self.split, self.plans))
                    self._evaluate(player, leaves[player])
                    update_player(self._states[player], self._rule, self.iteration)
            else:
                leaves = self.function.values(ranges_of(self.split, self.plans))
                for player in (0, 1):
                    self._evaluate(player, leaves[player])
                for state in self._states:
                    update_player(state, self._rule, self.iteration)

    def _evaluate(self, player: int, leaves: Floats) -> None:
        """Writes the value of the games that end, or are cut, right after each sequence into a state's `values`.

        `leaves` are the values of the player's histories at the limit, `[H, K]`.
        """
        own, other = self._states[player], self._states[1 - player]
        multiply(own.payoffs, other.plan, own.values)
        np.add(own.values, self.split.arrivals[player] @ leaves, out=own.values)

    def current_policies(self) -> Pair:
        """Policies of the next iteration, by sequence of the trunk, `[Q, K]` of each player."""
        return self._states[0].policy.copy(), self._states[1].policy.copy()

    def average_policies(self) -> Pair:
        """Average policies by sequence of the trunk, `float64[Q, K]` of each player; uniform where not reached."""
        first, second = (shares(state.treeplex, state.average) for state in self._states)
        return first, second


__all__ = ["VARIANTS", "DepthLimitedSolver", "SolvedValues", "ValueFunction", "Variant", "ZeroValues"]
