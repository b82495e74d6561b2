"""CFR+ (Tammelin 2014) on one part of a game for `K` problems at once, compiled.

The problems differ in how likely each root is and nothing else, so that one pass over payoffs and decisions serves all
of them: arrays are `float32[Q, K]`, and what is innermost lies side by side in memory.

A player's own likelihood of a root belongs to the other's values only. His averages are made as if he had got to every
root for sure: weighed by their true likelihood, infosets that he does not get to would have no average, and their
counterfactual values would be wrong.
"""

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from learners.value_function.parts import Pair, Part

Array = NDArray[np.float32]

NOISE = 1e-7
"""Regrets up to this share of the largest payoff count as 0: less than rounding leaves of them."""


class BatchSolver:
    """CFR+, in turn, with linear averages.

    Args:
        part: What is solved.
        reach: How likely each root of each player is by his own play, `float32[R, K]`, both.
    """

    def __init__(self, part: Part, reach: Pair) -> None:
        self.part = part
        self.reach: Pair = tuple(np.ascontiguousarray(r, np.float32) for r in reach)  # type: ignore[assignment]
        self.lanes = reach[0].shape[1]
        self._plexes = [(plex.parent, plex.begin) for plex in part.players]
        matrices = (part.payoff, -part.transposed)
        self._payoffs = [
            (m.indptr.astype(np.uint32), m.indices.astype(np.uint32), m.data.astype(np.float32)) for m in matrices
        ]
        largest = max((float(np.abs(m.data).max(initial=0.0)) for m in matrices), default=0.0)
        self._noise = np.float32(NOISE * largest)
        self._regrets, self._averages, self._values = self._zeros(), self._zeros(), self._zeros()
        self._policies = self._zeros()
        self._plans, self._scaled = self._zeros(), self._zeros()
        self.iteration = 0
        for player in (0, 1):
            parent, begin = self._plexes[player]
            set_uniform(begin, self._policies[player])
            make_plan(parent, begin, self._policies[player], np.ones_like(self.reach[player]), self._plans[player])
            make_plan(parent, begin, self._policies[player], self.reach[player], self._scaled[player])

    def _zeros(self) -> Pair:
        first, second = (np.zeros((plex.num_sequences, self.lanes), np.float32) for plex in self.part.players)
        return first, second

    def run(self, iterations: int) -> None:
        """Runs that many iterations."""
        iterate(
            self._payoffs[0],
            self._payoffs[1],
            self._plexes[0],
            self._plexes[1],
            self._regrets,
            self._policies,
            self._plans,
            self._scaled,
            self._averages,
            self._values,
            self.iteration,
            iterations,
            self._noise,
        )
        self.iteration += iterations

    def only(self, lanes: NDArray[np.int64]) -> "BatchSolver":
        """A solver that goes on with some of the problems."""
        narrowed = BatchSolver(self.part, (self.reach[0][:, lanes], self.reach[1][:, lanes]))
        for name in ("_regrets", "_averages", "_policies", "_plans", "_scaled"):
            first, second = (np.ascontiguousarray(held[:, lanes]) for held in getattr(self, name))
            setattr(narrowed, name, (first, second))
        narrowed.iteration = self.iteration
        return narrowed

    def average_policies(self) -> Pair:
        """Probability of each sequence at its infoset by the average, `float32[Q, K]`; of roots 1."""
        policies = self._zeros()
        for player in (0, 1):
            share(self._plexes[player][1], self._averages[player], policies[player])
        return policies

    def values(self, policies: Pair, player: int, best: bool = False) -> Array:
        """Counterfactual values of a player's roots, `float32[R, K]`.

        Args:
            policies: What is played, see `average_policies`.
            player: Whose values.
            best: That he answers best instead of playing his part.
        """
        other = 1 - player
        plan = np.empty_like(policies[other])
        make_plan(*self._plexes[other], policies[other], self.reach[other], plan)
        parent, begin = self._plexes[player]
        values = np.empty_like(policies[player])
        multiply(*self._payoffs[player], plan, values)
        back_up(parent, begin, policies[player], values, best)
        return values[: begin[0]].copy()


@kernel
def set_uniform(begin, policy):
    """Equal probabilities at every infoset; 1 for roots."""
    policy[: begin[0]] = np.float32(1.0)
    for j in range(begin.shape[0] - 1):
        policy[begin[j] : begin[j + 1]] = 1.0 / (begin[j + 1] - begin[j])


@kernel
def multiply(indptr, indices, data, plan, out):
    """`out` = matrix * `plan`, `[Q, K]`, for a sparse matrix by rows."""
    lanes = plan.shape[1]
    for row in range(indptr.shape[0] - 1):
        for c in range(lanes):
            out[row, c] = np.float32(0.0)
        for k in range(indptr[row], indptr[row + 1]):
            weight, column = data[k], indices[k]
            for c in range(lanes):
                out[row, c] += weight * plan[column, c]


@kernel
def step(parent, begin, values, regrets, policy, noise, floor):
    """Counterfactual values from the ends up, regrets, and the next policy by regret matching+.

    Args:
        parent, begin: See `Plex`.
        values: What ends right after each sequence is worth, `[Q, K]`; becomes the counterfactual value.
        regrets: `[Q, K]`, updated.
        policy: `[Q, K]`, replaced by the next one.
        noise: Regrets up to this count as 0.
        floor: Whether negative regrets become 0 (regret matching+).
    """
    lanes = values.shape[1]
    value = np.empty(lanes, values.dtype)
    total = np.empty(lanes, values.dtype)
    infosets = parent.shape[0]
    for i in range(infosets):
        j = infosets - 1 - i
        first, end, above = begin[j], begin[j + 1], parent[j]
        for c in range(lanes):
            value[c] = 0.0
            total[c] = 0.0
        for q in range(first, end):
            for c in range(lanes):
                value[c] += policy[q, c] * values[q, c]
        for c in range(lanes):
            values[above, c] += value[c]
        for q in range(first, end):
            for c in range(lanes):
                regret = regrets[q, c] + (values[q, c] - value[c])
                positive = regret if regret > noise else values.dtype.type(0.0)
                total[c] += positive
                regrets[q, c] = positive if floor else regret
                policy[q, c] = positive
        even = 1.0 / (end - first)
        for c in range(lanes):
            value[c] = 0.0 if total[c] > 0 else even
            total[c] = values.dtype.type(1.0) / total[c] if total[c] > 0 else values.dtype.type(0.0)
        for q in range(first, end):
            for c in range(lanes):
                policy[q, c] = policy[q, c] * total[c] + value[c]


@kernel
def advance(parent, begin, policy, plan, scaled, averages, weight):
    """Adds `weight` times the plan to its average, then makes the plans of the next policy: `plan` from roots that are
    certain, `scaled` from roots as likely as they are."""
    lanes = policy.shape[1]
    for j in range(parent.shape[0]):
        above = parent[j]
        for q in range(begin[j], begin[j + 1]):
            for c in range(lanes):
                averages[q, c] += weight * plan[q, c]
                plan[q, c] = plan[above, c] * policy[q, c]
                scaled[q, c] = scaled[above, c] * policy[q, c]


@kernel
def make_plan(parent, begin, policy, roots, plan):
    """The plan of a policy from roots of these likelihoods."""
    lanes = policy.shape[1]
    plan[: begin[0]] = roots
    for j in range(parent.shape[0]):
        for q in range(begin[j], begin[j + 1]):
            for c in range(lanes):
                plan[q, c] = plan[parent[j], c] * policy[q, c]


@kernel
def share(begin, weights, policy):
    """Share of each sequence in the weights of its infoset; uniform where they sum to 0, 1 for roots."""
    lanes = weights.shape[1]
    policy[: begin[0]] = np.float32(1.0)
    for j in range(begin.shape[0] - 1):
        for c in range(lanes):
            total = weights.dtype.type(0.0)
            for q in range(begin[j], begin[j + 1]):
                total += weights[q, c]
            for q in range(begin[j], begin[j + 1]):
                policy[q, c] = weights[q, c] / total if total > 0 else 1.0 / (begin[j + 1] - begin[j])


@kernel
def back_up(parent, begin, policy, values, best):
    """Turns what ends right after each sequence into counterfactual values from the ends up, in place."""
    lanes = values.shape[1]
    infosets = parent.shape[0]
    for i in range(infosets):
        j = infosets - 1 - i
        for c in range(lanes):
            first, end = begin[j], begin[j + 1]
            found = values[first, c] if best else policy[first, c] * values[first, c]
            for q in range(first + 1, end):
                if best:
                    found = max(found, values[q, c])
                else:
                    found += policy[q, c] * values[q, c]
            values[parent[j], c] += found


@kernel
def iterate(
    first_payoff,
    second_payoff,
    first,
    second,
    regrets,
    policies,
    plans,
    scaled,
    averages,
    values,
    done,
    iterations,
    noise,
):
    """Iterations `done` + 1 to `done` + `iterations`: each player in turn answers the other's plan.

    Args:
        first_payoff, second_payoff: `(indptr, indices, data)` of each player's payoffs, by his sequences.
        first, second: `(parent, begin)` of each player.
        regrets, policies, plans, scaled, averages, values: `[Q, K]` of each player, pairs; see `step` and `advance`.
        noise: Regrets up to this count as 0.
    """
    for t in range(done + 1, done + iterations + 1):
        weight = np.float32(t)
        multiply(first_payoff[0], first_payoff[1], first_payoff[2], scaled[1], values[0])
        step(first[0], first[1], values[0], regrets[0], policies[0], noise, True)
        advance(first[0], first[1], policies[0], plans[0], scaled[0], averages[0], weight)
        multiply(second_payoff[0], second_payoff[1], second_payoff[2], scaled[0], values[1])
        step(second[0], second[1], values[1], regrets[1], policies[1], noise, True)
        advance(second[0], second[1], policies[1], plans[1], scaled[1], averages[1], weight)


__all__ = ["BatchSolver"]
