"""CFR over the whole game in every iteration: `VectorSolver`."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from learners.cfr.best_response import check_policy
from learners.cfr.sequence_form import SequenceForm
from learners.cfr.vector import iterate

Floats = NDArray[np.float64]

NOISE = 1e-12
"""Regrets up to this share of the largest return count as 0, see `learners.cfr.vector.update_regrets`."""


class Variant(NamedTuple):
    """What makes one method of the family of another.

    Attributes:
        floor: Regret matching+: negative regrets become 0.
        alternating: Whether the players take turns within an iteration, unless the caller says otherwise.
        alpha, beta: Discounts of positive and of negative regrets, t^alpha / (t^alpha + 1); infinity: none.
        gamma: Iteration t weighs t^gamma in the average.
    """

    floor: bool = False
    alternating: bool = True
    alpha: float = math.inf
    beta: float = math.inf
    gamma: float = 0.0


VARIANTS: Mapping[str, Variant] = {
    "cfr": Variant(alternating=False),
    "cfr+": Variant(floor=True, gamma=1.0),
    "linear-cfr": Variant(alpha=1.0, beta=1.0, gamma=1.0),
    "dcfr": Variant(alpha=1.5, beta=0.0, gamma=2.0),
}
"""CFR: Zinkevich et al. 2007. CFR+: Tammelin 2014. Linear CFR, and DCFR with 3/2, 0 and 2: Brown and Sandholm 2019."""


class VectorSolver:
    """CFR, CFR+, Linear or Discounted CFR on a game in sequence form.

    Args:
        form: The game.
        algorithm: A key of `VARIANTS`.
        alternating: Whether player 1 answers the newest policy of player 0; None leaves it to the algorithm.

    Raises:
        ValueError: no such algorithm.
    """

    def __init__(self, form: SequenceForm, algorithm: str = "cfr+", *, alternating: bool | None = None) -> None:
        if algorithm not in VARIANTS:
            raise ValueError(f"algorithm must be one of {', '.join(VARIANTS)}, not {algorithm!r}")
        self.form, self.algorithm = form, algorithm
        self.variant = VARIANTS[algorithm]
        self.alternating = self.variant.alternating if alternating is None else alternating
        self.iteration = 0
        self.regrets = self._zeros()
        self.averages = self._zeros()
        self._values = self._zeros()
        self._policies = self._zeros()
        matrices = (form.payoff, form.transposed)
        self._payoffs = [(m.indptr.astype(np.uint32), m.indices.astype(np.uint32), m.data) for m in matrices]
        self._set_policy(form.tree.uniform())

    def _zeros(self) -> tuple[Floats, Floats]:
        first, second = (np.zeros(plex.num_sequences) for plex in self.form.players)
        return first, second

    def _set_policy(self, policy: Floats) -> None:
        """What the next iteration plays."""
        for plex, own in zip(self.form.players, self._policies, strict=True):
            own[plex.sequence[~plex.forced]] = policy[plex.slot[~plex.forced]]
        self._plans = self.form.plans(policy)

    @property
    def nodes(self) -> int:
        """Nodes touched so far: every one of the tree, once for each player."""
        return 2 * self.iteration * self.form.tree.num_nodes

    def run(self, iterations: int) -> None:
        """Runs that many iterations."""
        first, second = ((plex.parent, plex.begin) for plex in self.form.players)
        variant = self.variant
        by_first, by_second = self._payoffs
        iterate(
            by_first,
            by_second,
            first,
            second,
            self.regrets,
            self._policies,
            self._plans,
            self.averages,
            self._values,
            self.iteration,
            iterations,
            self.alternating,
            variant.floor,
            variant.alpha,
            variant.beta,
            variant.gamma,
            NOISE * self.form.tree.max_utility,
        )
        self.iteration += iterations

    def average_policy(self) -> Floats:
        """Average policy of both players, `float64[S]`; uniform where it is not reached, as before iteration 1."""
        return self.form.policy(self.averages)

    def current_policy(self) -> Floats:
        """What the next iteration plays, `float64[S]`: the last iterate."""
        return self.form.policy(self._policies)

    def start_from(self, policy: Floats, weight: float) -> None:
        """Warm start: as if `policy`, `float64[S]`, had been played for `weight` iterations.

        Regrets are `weight` times the largest return times the policy, so that regret matching plays it; the average
        begins with the policy at the weight of so many iterations.

        Raises:
            ValueError: no distribution, or a weight that is not positive.
        """
        check_policy(self.form, policy)
        if not 0 < weight < math.inf:
            raise ValueError(f"weight must be positive, not {weight}")
        self._set_policy(policy)
        self.iteration = math.ceil(weight)
        total = float((np.arange(1.0, self.iteration + 1) ** self.variant.gamma).sum())
        for player in (0, 1):
            self.regrets[player][:] = weight * self.form.tree.max_utility * self._policies[player]
            self.averages[player][:] = total * self._plans[player]

    def state_dict(self) -> dict[str, Any]:
        """All that a later `load_state_dict` needs to go on to the bit."""
        state: dict[str, Any] = {"iteration": np.int64(self.iteration)}
        for player in (0, 1):
            for name in ("regrets", "averages", "_policies", "_plans"):
                state[f"{name.strip('_')}.{player}"] = getattr(self, name)[player].copy()
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Reverse of `state_dict`.

        Raises:
            ValueError: the state is of another game.
        """
        mine = self.state_dict()
        for name, array in mine.items():
            found = state.get(name)
            if found is None or np.shape(found) != np.shape(array):
                told = "missing" if found is None else f"of shape {list(np.shape(found))}, not {list(np.shape(array))}"
                raise ValueError(f"the saved state is not of {self.form.tree.name}: {name} is {told}")
        for player in (0, 1):
            for name in ("regrets", "averages", "_policies", "_plans"):
                getattr(self, name)[player][:] = state[f"{name.strip('_')}.{player}"]
        self.iteration = int(state["iteration"])


__all__ = ["NOISE", "VARIANTS", "Variant", "VectorSolver"]
