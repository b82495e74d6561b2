"""Monte Carlo CFR on a tree: chance-sampled, external-sampling, outcome-sampling and VR-MCCFR."""

import math

import numpy as np
from numpy.typing import NDArray

from envs.tree import Tree
from learners.cfr import sampling
from learners.cfr.checks import check_policy, check_weight
from learners.cfr.sampling_state import Options, make_tables

Floats = NDArray[np.float64]

ALGORITHMS = ("chance-sampled", "external-sampling", "outcome-sampling", "vr-mccfr")
BASELINES = ("infoset", "history")
WITHOUT_EFFECT = {
    "chance-sampled": ("epsilon", "decay", "baseline"),
    "external-sampling": ("epsilon", "decay", "baseline"),
    "outcome-sampling": ("decay", "baseline"),
    "vr-mccfr": (),
}
"""Options of `MonteCarloSolver` that an algorithm does not read."""

_CHUNK = 4096
"""Iterations of one call of a kernel; Python handles signals between calls."""


class MonteCarloSolver:
    """Learns a policy of both players from sampled traversals; `S` slots of the tree.

    An iteration is one traversal for each player in turn (or one for both, see `alternating`).

    Attributes:
        regrets: Sum of the sampled counterfactual regrets, `float64[S]`, in the unit of the game's returns.
        averages: Weighted sum of the policies, `float64[S]`.
        iteration: Number of iterations done.
        nodes: Number of nodes met, chance and terminal nodes included, each as often as a traversal visited it.
    """

    def __init__(
        self,
        tree: Tree,
        algorithm: str,
        *,
        seed: int,
        floor: bool = False,
        linear: bool = False,
        alternating: bool = True,
        epsilon: float = 0.6,
        decay: float = 0.5,
        baseline: str = "infoset",
    ) -> None:
        """Makes a new solver, with regrets and averages of 0.

        Args:
            tree: The game.
            algorithm: One of `ALGORITHMS`.
            seed: Seed of all random numbers; the same seed and options give the same result.
            floor: Regret matching+: sums of regrets that fall below 0 become 0 (Tammelin 2014).
            linear: Iteration t has weight t, in the averages and, without `floor`, in the regrets.
            alternating: One traversal for each player in turn; false, for chance-sampled only, is one for both.
            epsilon: Probability that the traverser explores, in outcome sampling and VR-MCCFR.
            decay: Share of a baseline that a new sample replaces, alpha of Schmid et al. (2019).
            baseline: One of `BASELINES`: whether a baseline of VR-MCCFR belongs to an infoset and an action (Schmid et
                al. 2019) or to a history (Davis et al. 2020).

        Raises:
            ValueError: an option is out of its range.
        """
        _check_choice("algorithm", algorithm, ALGORITHMS)
        _check_choice("baseline", baseline, BASELINES)
        _check_part("epsilon", epsilon)
        _check_part("decay", decay)
        if not alternating and algorithm != "chance-sampled":
            raise ValueError(f"alternating must be true for {algorithm}: only chance-sampled can update both together")
        if seed < 0:
            raise ValueError(f"seed must be at least 0, got {seed}")
        self.tree, self.algorithm = tree, algorithm
        baselines = algorithm == "vr-mccfr"
        self.options = Options(
            alternating=bool(alternating),
            linear=bool(linear),
            floor=bool(floor),
            epsilon=float(epsilon),
            decay=float(decay) if baselines else 0.0,
            by_history=baselines and baseline == "history",
        )
        self.iteration = self.nodes = 0
        self.tables = make_tables(tree, self.options.by_history)
        self._rng = np.random.Generator(np.random.PCG64(seed))

    @property
    def regrets(self) -> Floats:
        return self.tables.table["regret"]

    @property
    def averages(self) -> Floats:
        return self.tables.table["average"]

    @property
    def baselines(self) -> Floats:
        """Baselines of VR-MCCFR, `float64[S]`, or `float64[N]` if they belong to histories; 0 in other algorithms."""
        return self.tables.baselines

    def run(self, iterations: int) -> None:
        """Runs `iterations` more iterations."""
        if iterations < 0:
            raise ValueError(f"iterations must be at least 0, got {iterations}")
        kernels = {"chance-sampled": sampling.run_chance_sampled, "external-sampling": sampling.run_external_sampling}
        kernel = kernels.get(self.algorithm, sampling.run_outcome_sampling)
        end = self.iteration + iterations
        while self.iteration < end:
            count = min(end - self.iteration, _CHUNK)
            self.nodes += kernel(self.tables, self._rng, self.options, self.iteration, count)
            self.iteration += count

    def average_policy(self) -> Floats:
        """Average policy, which converges to an equilibrium, `float64[S]`; uniform where nothing was added yet."""
        return self._normalise(self.averages)

    def current_policy(self) -> Floats:
        """Policy with which the next iteration starts, `float64[S]`, by regret matching."""
        return self._normalise(np.maximum(self.regrets, 0.0))

    def _normalise(self, weight: Floats) -> Floats:
        """Policy proportional to `weight`, `float64[S]`; uniform where it sums to 0."""
        counts = np.diff(self.tree.slots)
        totals = np.repeat(np.add.reduceat(weight, self.tree.slots[:-1]), counts)
        some = totals > 0
        return np.where(some, weight / np.where(some, totals, 1.0), np.repeat(1.0 / counts, counts))

    def start_from(self, policy: Floats, weight: float) -> None:
        """Discards regrets and averages and starts from a policy, as if it had been played for `weight` iterations.

        The averages are the mean of what that many iterations with the policy would add. Regrets are the product of
        `weight`, the largest return, chance's probability of the infoset, and the policy, so that regret matching
        plays it.

        Args:
            policy: Policy of both players, `float64[S]`.
            weight: Number of iterations, positive.

        Raises:
            ValueError: the policy is not a distribution at some infoset, or `weight` is not positive.
        """
        policy = np.asarray(policy, np.float64)
        check_policy(self.tree, policy)
        check_weight(weight)
        chance, own = self._infoset_reaches(policy)
        counts = np.diff(self.tree.slots)
        self.iteration = math.ceil(weight)
        total = self.iteration * (self.iteration + 1) / 2 if self.options.linear else self.iteration
        self.regrets[:] = weight * self.tree.max_utility * np.repeat(chance, counts) * policy
        self.averages[:] = total * np.repeat(own, counts) * policy
        self.baselines[:] = 0.0

    def _infoset_reaches(self, policy: Floats) -> tuple[Floats, Floats]:
        """Probability of each infoset by chance alone, and by chance and its player, summed over histories."""
        tree, slot = self.tree, self.tree.node_slots()
        reach = np.ones((tree.num_nodes, 3))  # by chance and player 0, by chance and player 1, by chance alone
        for begin, end in zip(tree.levels[1:-1], tree.levels[2:], strict=True):
            level = np.arange(begin, end)
            reach[level] = reach[tree.parent[level]] * tree.probability[level, None]
            acted = level[slot[level] >= 0]
            reach[acted, tree.mover[tree.parent[acted]]] *= policy[slot[acted]]
        decisions = np.flatnonzero(tree.mover >= 0)
        at, size = tree.infoset[decisions], len(tree.player)
        chance, own = np.zeros(size), np.zeros(size)
        np.add.at(chance, at, reach[decisions, 2])
        np.add.at(own, at, reach[decisions, tree.mover[decisions]])
        return chance, own


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def _check_part(name: str, value: float) -> None:
    if not 0 < value <= 1:
        raise ValueError(f"{name} must be more than 0 and at most 1, got {value}")


__all__ = ["ALGORITHMS", "BASELINES", "WITHOUT_EFFECT", "MonteCarloSolver"]
