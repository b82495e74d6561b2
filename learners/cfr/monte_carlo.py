"""Monte Carlo CFR on a tree: chance-sampled, external-sampling, outcome-sampling and VR-MCCFR."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.tree import Tree
from learners.cfr import sampling

Floats = NDArray[np.float64]

ALGORITHMS = ("chance-sampled", "external-sampling", "outcome-sampling", "vr-mccfr")
BASELINES = ("infoset", "history")

_CHUNK = 4096
"""Iterations of one call of a kernel: after each, Python notices that the user wants to stop."""
_WORD = (1 << 64) - 1


class MonteCarloSolver:
    """Learns a policy of both players from sampled traversals; `S` slots of the tree.

    An iteration is one traversal for each player in turn (or one for both, see `alternating`).

    Attributes:
        regrets: Sum of the sampled counterfactual regrets, `float64[S]`, in the unit of the game's returns.
        averages: Sum of the policies, weighted, `float64[S]`.
        iteration: Iterations done.
        nodes: Nodes met so far, those of chance and the ends included, each as often as a traversal came by.
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
        """A solver that has learned nothing.

        Args:
            tree: The game.
            algorithm: One of `ALGORITHMS`.
            seed: Of all that is drawn: the same seed and options give the same result.
            floor: Regret matching+: sums of regrets that fall below 0 become 0 (Tammelin 2014).
            linear: Iteration t counts t times, in the averages and, without `floor`, in the regrets.
            alternating: A traversal for each player in turn; false, for chance-sampled only: one for both.
            epsilon: How often the traverser explores, in outcome sampling and VR-MCCFR.
            decay: Part of a baseline that a new sample replaces, alpha of Schmid et al. (2019).
            baseline: One of `BASELINES`: what a baseline of VR-MCCFR is kept for, an infoset and action (Schmid et
                al. 2019), or a history (Davis et al. 2020).

        Raises:
            ValueError: an option is out of its range.
        """
        _check_choice("algorithm", algorithm, ALGORITHMS)
        _check_choice("baseline", baseline, BASELINES)
        _check_part("epsilon", epsilon)
        _check_part("decay", decay)
        if not alternating and algorithm != "chance-sampled":
            raise ValueError(f"alternating must be true for {algorithm}: only chance-sampled can serve both at once")
        if seed < 0:
            raise ValueError(f"seed must be at least 0, not {seed}")
        self.tree, self.algorithm = tree, algorithm
        self.floor, self.linear, self.alternating = bool(floor), bool(linear), bool(alternating)
        self.epsilon = float(epsilon)
        self.decay = float(decay) if algorithm == "vr-mccfr" else 0.0
        self.by_history = algorithm == "vr-mccfr" and baseline == "history"
        self.iteration = self.nodes = 0
        self.baselines: Floats = np.zeros(tree.num_nodes if self.by_history else tree.num_slots)
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._nodes = sampling.make_nodes(tree)
        self._table = np.zeros(tree.num_slots, sampling.SLOT)
        self._path = np.zeros(len(tree.levels), sampling.STEP)

    @property
    def regrets(self) -> Floats:
        return self._table["regret"]

    @property
    def averages(self) -> Floats:
        return self._table["average"]

    def run(self, iterations: int) -> None:
        """Does so many more iterations."""
        if iterations < 0:
            raise ValueError(f"iterations must be at least 0, not {iterations}")
        end = self.iteration + iterations
        while self.iteration < end:
            count = min(end - self.iteration, _CHUNK)
            self.nodes += self._run(count)
            self.iteration += count

    def _run(self, count: int) -> int:
        """`count` iterations by the algorithm's kernel; nodes met."""
        many = (self._rng, self.iteration, count)
        if self.algorithm == "chance-sampled":
            return sampling.run_chance_sampled(
                self._nodes, self._table, self._path, *many, self.alternating, self.linear, self.floor
            )
        if self.algorithm == "external-sampling":
            return sampling.run_external_sampling(self._nodes, self._table, self._path, *many, self.linear, self.floor)
        options = (self.epsilon, self.decay, self.by_history, self.linear, self.floor)
        return sampling.run_outcome_sampling(self._nodes, self._table, self._path, self.baselines, *many, *options)

    def average_policy(self) -> Floats:
        """What converges to an equilibrium, `float64[S]`; uniform where no average was added yet."""
        return self._normalise(self.averages)

    def current_policy(self) -> Floats:
        """What the next iteration starts with, `float64[S]`: regret matching."""
        return self._normalise(np.maximum(self.regrets, 0.0))

    def _normalise(self, weight: Floats) -> Floats:
        """Policy proportional to `weight`, uniform where it is 0."""
        counts = np.diff(self.tree.slots)
        totals = np.repeat(np.add.reduceat(weight, self.tree.slots[:-1]), counts)
        some = totals > 0
        return np.where(some, weight / np.where(some, totals, 1.0), np.repeat(1.0 / counts, counts))

    def start_from(self, policy: Floats, weight: float) -> None:
        """Forgets what was learned and starts from a policy, as if it had been played for `weight` iterations.

        The averages are what so many iterations with that policy add in the mean. Regrets are `weight` times the
        largest return, chance's probability of the infoset and the policy: regret matching plays it.

        Args:
            policy: Of both players, `float64[S]`.
            weight: More than 0.

        Raises:
            ValueError: the policy is none of this tree, or `weight` is not positive.
        """
        policy = np.asarray(policy, np.float64)
        _check_shape("policy", policy, self.regrets)
        sums = np.add.reduceat(policy, self.tree.slots[:-1])
        if not ((policy >= 0).all() and np.abs(sums - 1).max() <= 1e-6):
            raise ValueError("policy is no distribution: probabilities are at least 0 and sum to 1 at each infoset")
        if not 0 < weight < math.inf:
            raise ValueError(f"weight must be more than 0 and finite, not {weight}")
        chance, own = self._infoset_reaches(policy)
        counts = np.diff(self.tree.slots)
        self.iteration = math.ceil(weight)
        total = self.iteration * (self.iteration + 1) / 2 if self.linear else self.iteration
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

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """All that a solver with the same tree and options needs to go on bit for bit, copied."""
        state: dict[str, NDArray[Any]] = {"regrets": self.regrets.copy(), "averages": self.averages.copy()}
        if self.decay > 0:
            state["baselines"] = self.baselines.copy()
        state["counters"] = np.array([self.iteration, self.nodes], np.int64)
        inner: Any = self._rng.bit_generator.state["state"]
        words = [word for value in (inner["state"], inner["inc"]) for word in (value & _WORD, value >> 64)]
        state["generator"] = np.array(words, np.uint64)
        return state

    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Takes over what `state_dict` returned.

        Raises:
            ValueError: the state is of another tree or algorithm; the solver stays as it was.
        """
        own = self.state_dict()
        if missing := sorted(own.keys() ^ state.keys()):
            raise ValueError(f"the state is of another algorithm than {self.algorithm}: see {', '.join(missing)}")
        for name, array in own.items():
            _check_shape(f"{name} of the state", np.asarray(state[name]), array)
        self.regrets[:], self.averages[:] = state["regrets"], state["averages"]
        if self.decay > 0:
            self.baselines[:] = state["baselines"]
        self.iteration, self.nodes = (int(count) for count in state["counters"])
        words = [int(word) for word in state["generator"]]
        inner = {"state": words[0] | words[1] << 64, "inc": words[2] | words[3] << 64}
        whole = {"bit_generator": "PCG64", "state": inner, "has_uint32": 0, "uinteger": 0}
        self._rng.bit_generator.state = whole


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")


def _check_part(name: str, value: float) -> None:
    if not 0 < value <= 1:
        raise ValueError(f"{name} must be more than 0 and at most 1, not {value}")


def _check_shape(name: str, array: NDArray[Any], own: NDArray[Any]) -> None:
    if array.shape != own.shape or array.dtype != own.dtype:
        told, wanted = (f"{a.dtype}[{', '.join(map(str, a.shape))}]" for a in (array, own))
        raise ValueError(f"{name} is {told}, this solver's is {wanted}: it belongs to another game or other options")


__all__ = ["ALGORITHMS", "BASELINES", "MonteCarloSolver"]
