"""CFR over the whole game in every iteration: `VectorSolver`."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from learners.cfr.checks import check_policy, check_weight
from learners.cfr.sequence_form import SequenceForm
from learners.cfr.state import Rule, check_pair, new_state, set_plans
from learners.cfr.vector import iterate

Floats = NDArray[np.float64]

NOISE = 1e-12
"""Regrets up to this share of the largest return count as 0, see `learners.cfr.state.Rule`."""


class Variant(NamedTuple):
    """A method of the CFR family; see `learners.cfr.state.Rule` for the attributes.

    `alternating` is the default, which the caller may override.
    """

    floor: bool = False
    alternating: bool = True
    alpha: float = math.inf
    beta: float = math.inf
    gamma: float = 0.0
    predictive: bool = False


VARIANTS: Mapping[str, Variant] = {
    "cfr": Variant(alternating=False),
    "cfr+": Variant(floor=True, gamma=1.0),
    "linear-cfr": Variant(alpha=1.0, beta=1.0, gamma=1.0),
    "dcfr": Variant(alpha=1.5, beta=0.0, gamma=2.0),
    "pcfr+": Variant(floor=True, gamma=2.0, predictive=True),
    "dcfr+": Variant(floor=True, alpha=1.5, gamma=4.0),
    "pdcfr+": Variant(floor=True, alpha=2.3, gamma=5.0, predictive=True),
}
"""CFR: Zinkevich et al. 2007. CFR+: Tammelin 2014. Linear CFR, and DCFR with 3/2, 0 and 2: Brown and Sandholm 2019.
PCFR+: Farina, Kroer and Sandholm 2021 (arXiv 2007.14358). DCFR+ with 3/2 and 4, and PDCFR+ with 2.3 and 5: Xu et al.
2024 (arXiv 2404.13891)."""


class VectorSolver:
    """Solves a whole game in sequence form by CFR, CFR+, Linear, Discounted or predictive CFR.

    Args:
        form: The game.
        algorithm: A key of `VARIANTS`.
        alternating: Whether player 1 answers the newest policy of player 0; None leaves it to the algorithm.

    Raises:
        ValueError: there is no such algorithm.
    """

    def __init__(self, form: SequenceForm, algorithm: str = "cfr+", *, alternating: bool | None = None) -> None:
        if algorithm not in VARIANTS:
            raise ValueError(f"algorithm must be one of {', '.join(VARIANTS)}, got {algorithm!r}")
        self.form, self.algorithm = form, algorithm
        self.variant = VARIANTS[algorithm]
        self.alternating = self.variant.alternating if alternating is None else alternating
        self.iteration = 0
        payoffs = form.payoffs()
        self._states = new_state(form.players[0], payoffs[0]), new_state(form.players[1], payoffs[1])
        check_pair(*self._states)

    @property
    def nodes(self) -> int:
        """Nodes touched so far: every node of the tree, once for each player."""
        return 2 * self.iteration * self.form.tree.num_nodes

    def run(self, iterations: int) -> None:
        """Runs `iterations` more iterations."""
        v = self.variant
        noise = NOISE * self.form.tree.max_utility
        rule = Rule(self.alternating, v.floor, v.alpha, v.beta, v.gamma, noise, v.predictive)
        iterate(*self._states, rule, self.iteration, iterations)
        self.iteration += iterations

    def average_policy(self) -> Floats:
        """Average policy of both players, `float64[S]`; uniform where it is not reached, as before iteration 1."""
        return self.form.policy((self._states[0].average, self._states[1].average))

    def current_policy(self) -> Floats:
        """Policy of the next iteration, `float64[S]`: the last iterate."""
        return self.form.policy((self._states[0].policy, self._states[1].policy))

    def start_from(self, policy: Floats, weight: float) -> None:
        """Warm start: continues as if `policy`, `float64[S]`, had been played for `weight` iterations.

        Regrets are `weight` times the largest return times the policy, so that regret matching plays it; the average
        begins with the policy at the weight of that many iterations.

        Raises:
            ValueError: the policy is not a distribution at some infoset, or the weight is not positive.
        """
        check_policy(self.form.tree, policy)
        check_weight(weight)
        self.iteration = math.ceil(weight)
        total = float((np.arange(1.0, self.iteration + 1) ** self.variant.gamma).sum())
        for state in self._states:
            state.policy[:] = state.treeplex.from_slots(policy)
            set_plans(state)
            state.regrets[:] = weight * self.form.tree.max_utility * state.policy
            state.average[:] = total * state.plan


__all__ = ["NOISE", "VARIANTS", "Variant", "VectorSolver"]
