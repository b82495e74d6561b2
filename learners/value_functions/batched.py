"""CFR+ (Tammelin 2014) on one part of a game for a batch of `K` ranges.

The `K` problems differ in the reach probabilities of the roots only, so that one pass over payoffs and decisions serves
all of them. Arrays are `float32[Q, K]`, with the problems side by side in memory.
"""

import numpy as np
from numpy.typing import NDArray

from learners.cfr.checks import check_array
from learners.cfr.sequence_form import Pair, SequenceForm, realization_plan, shares
from learners.cfr.state import Rule, check_pair, new_state
from learners.cfr.vector import back_up, iterate, multiply, respond

Array = NDArray[np.float32]

NOISE = 1e-7
"""Regrets up to this share of the largest payoff count as 0, because rounding leaves that much of zero regrets."""


class BatchSolver:
    """Solves a part of a game for a batch of ranges by CFR+, with alternating updates and linear averages.

    Args:
        part: The part.
        roots: Reach probability of each root by the player's own actions, `[R, K]` of each player.

    Raises:
        ValueError: the reach probabilities do not fit the part.
    """

    def __init__(self, part: SequenceForm, roots: Pair) -> None:
        self.part = part
        payoffs = part.payoffs(np.float32)
        first, second = (new_state(*given) for given in zip(part.players, payoffs, roots, strict=True))
        check_pair(first, second)
        self._states = first, second
        largest = max(float(np.abs(p.data).max(initial=0.0)) for p in payoffs)
        self._rule = Rule(True, True, np.inf, np.inf, 1.0, float(np.float32(NOISE * largest)))
        self.iteration = 0

    @property
    def roots(self) -> Pair:
        """Reach probability of each root, `float32[R, K]` of each player."""
        return self._states[0].roots, self._states[1].roots

    def run(self, iterations: int) -> None:
        """Runs `iterations` more iterations."""
        iterate(*self._states, self._rule, self.iteration, iterations)
        self.iteration += iterations

    def select(self, problems: NDArray[np.int64]) -> "BatchSolver":
        """A solver that continues with some of the problems."""
        selected = BatchSolver(self.part, (self.roots[0][:, problems], self.roots[1][:, problems]))
        for state, own in zip(selected._states, self._states, strict=True):
            for name in ("regrets", "policy", "plan", "reach", "average"):
                getattr(state, name)[:] = getattr(own, name)[:, problems]
        selected.iteration = self.iteration
        return selected

    def average_policies(self) -> Pair:
        """Probability of each sequence at its infoset by the average, `float32[Q, K]` of each player; of roots 1."""
        first, second = (shares(state.treeplex, state.average) for state in self._states)
        return first, second

    def values(self, policies: Pair, player: int) -> Array:
        """Counterfactual values of a player's roots if both players play these policies, `float32[R, K]`.

        Args:
            policies: Probability of each sequence at its infoset, `float32[Q, K]` of each player.
            player: Player whose values are returned.
        """
        treeplex, values = self.part.players[player], self._product(policies, player)
        check_array("policies", policies[player], values.shape)
        back_up(treeplex, policies[player], values)
        return values[: treeplex.num_roots].copy()

    def best_values(self, policies: Pair, player: int) -> Array:
        """Like `values`, if the player answers the other's policy with a best response."""
        treeplex, values = self.part.players[player], self._product(policies, player)
        respond(treeplex, values, np.empty_like(values))
        return values[: treeplex.num_roots].copy()

    def _product(self, policies: Pair, player: int) -> Array:
        """Value of the games that end right after each sequence of a player, given the policies, `float32[Q, K]`."""
        own, other = self._states[player], self._states[1 - player]
        plan = realization_plan(other.treeplex, policies[1 - player], other.roots)
        values = np.empty_like(own.values)
        multiply(own.payoffs, plan, values)
        return values


__all__ = ["NOISE", "BatchSolver"]
