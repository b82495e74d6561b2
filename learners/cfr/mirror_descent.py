"""Magnetic mirror descent over the whole game in every iteration: `MirrorDescentSolver`.

Sokota et al. 2022, "A unified approach to reinforcement learning, quantal response equilibria, and two-player zero-sum
games", in behavioural form with a uniform magnet. At every infoset I, simultaneously for both players,

    policy(I, a) proportional to (policy(I, a) exp(step q(I, a)))^(1 / (1 + step temperature))

where q(I, a) is the expected return of action a at I against the current policies. It is the tabular, exact limit of a
policy gradient with an entropy bonus. A fixed point is an agent quantal-response equilibrium: policy(I, a) proportional
to exp(q(I, a) / temperature). With a temperature that falls, the last iterate goes towards a Nash equilibrium.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from envs.compiled import kernel
from envs.tree import Tree
from learners.cfr.checks import check_policy, check_weight
from learners.cfr.sequence_form import SequenceForm, chance_reach, last_sequences
from learners.cfr.state import Payoffs
from learners.cfr.treeplex import Treeplex
from learners.cfr.vector import make_plan, multiply

Floats = NDArray[np.float64]

ALGORITHMS: tuple[str, ...] = ("mmd",)


class _Side(NamedTuple):
    """The arrays of one player that an iteration needs; `Q` sequences and `J` infosets of the player.

    Attributes:
        treeplex: The player's decisions.
        payoffs: The player's payoffs in units of the game's largest return, see `SequenceForm.payoffs`.
        reaching: Rows are infosets: times the opponent's plan they give the counterfactual reach probability of each.
        logits: Logarithms of the policy, `float64[Q]`.
        policy: Probability of each sequence at its infoset, `float64[Q]`; 1 for the root.
        plan: Realization plan of the policy, `float64[Q]`.
        total: Sum of the plans of all iterations, `float64[Q]`.
        values: Scratch for counterfactual values, `float64[Q]`.
        reach: Scratch for counterfactual reach probabilities, `float64[J]`.
    """

    treeplex: Treeplex
    payoffs: Payoffs
    reaching: Payoffs
    logits: Floats
    policy: Floats
    plan: Floats
    total: Floats
    values: Floats
    reach: Floats


class MirrorDescentSolver:
    """Solves a whole game by magnetic mirror descent. The last iterate is the result; the average is kept beside it.

    Args:
        form: The game.
        temperature: Weight of the entropy, in units of the largest return.
        step_size: Step of an iteration, in units of 1 / largest return.
        anneal: Divide temperature and step of iteration t by sqrt(t), so that the last iterate approaches a Nash
            equilibrium (Sokota et al. 2022, section 5); otherwise it approaches the quantal-response equilibrium.

    Raises:
        ValueError: the temperature or the step is not positive and finite.
    """

    def __init__(
        self, form: SequenceForm, *, temperature: float = 1.0, step_size: float = 1.0, anneal: bool = True
    ) -> None:
        for name, number in (("temperature", temperature), ("step_size", step_size)):
            if not 0 < number < np.inf:
                raise ValueError(f"{name} must be positive and finite, got {number:g}")
        self.form = form
        self.temperature, self.step_size, self.anneal = temperature, step_size, anneal
        self.iteration = 0
        first, second = (_new_side(form, player) for player in (0, 1))
        self._sides = first, second

    @property
    def nodes(self) -> int:
        """Nodes touched so far: every node of the tree, once for each player."""
        return 2 * self.iteration * self.form.tree.num_nodes

    def run(self, iterations: int) -> None:
        """Runs `iterations` more iterations."""
        _iterate(*self._sides, self.temperature, self.step_size, self.anneal, self.iteration, iterations)
        self.iteration += iterations

    def average_policy(self) -> Floats:
        """Average policy of both players by own reach probability, `float64[S]`; uniform before iteration 1."""
        return self.form.policy((self._sides[0].total, self._sides[1].total))

    def current_policy(self) -> Floats:
        """Policy of both players after the newest iteration, `float64[S]`: the last iterate."""
        policy = self.form.tree.uniform()
        for side in self._sides:
            side.treeplex.to_slots(side.policy, policy)
        return policy

    def start_from(self, policy: Floats, weight: float) -> None:
        """Warm start: continues as if `policy`, `float64[S]`, had been played for `weight` iterations.

        Raises:
            ValueError: the policy is not a distribution at some infoset, or an action has probability 0, from which the
                multiplicative update never returns; or the weight is not positive.
        """
        check_policy(self.form.tree, policy)
        check_weight(weight)
        self.iteration = math.ceil(weight)
        for side in self._sides:
            own = side.treeplex.from_slots(policy)
            if (own <= 0).any():
                raise ValueError("mirror descent cannot start from a policy in which an action has probability 0")
            side.logits[:] = np.log(own)
            side.policy[:] = own
            _set_plan(side)
            side.total[:] = self.iteration * side.plan


def _new_side(form: SequenceForm, player: int) -> _Side:
    treeplex, own = form.players[player], form.payoffs()[player]
    payoffs = own._replace(data=own.data / (form.tree.max_utility or 1.0))
    logits, policy, plan, total, values = (np.zeros(treeplex.num_sequences) for _ in range(5))
    policy[:] = treeplex.from_slots(form.tree.uniform())
    logits[:] = np.log(policy)
    reach = np.zeros(len(treeplex.parent))
    side = _Side(treeplex, payoffs, _reaching(form, player), logits, policy, plan, total, values, reach)
    _set_plan(side)
    return side


def _reaching(form: SequenceForm, player: int) -> Payoffs:
    """Probability of chance on the way to the nodes of each infoset, by the opponent's last sequence there: a sparse
    matrix `[J, opponent's Q]`."""
    tree, treeplex, other = form.tree, form.players[player], form.players[1 - player]
    roots = np.zeros((1, 2), np.int32)
    last = last_sequences(tree, form.players, roots[:, 0], roots)[:, 1 - player]
    row = _rows(tree, treeplex)
    nodes = np.flatnonzero(tree.infoset >= 0)
    nodes = nodes[row[tree.infoset[nodes]] >= 0]
    entries = row[tree.infoset[nodes]], last[nodes]
    matrix = coo_array((chance_reach(tree)[nodes], entries), shape=(len(treeplex.parent), other.num_sequences)).tocsr()
    matrix.sum_duplicates()
    return Payoffs(matrix.indptr.astype(np.uint32), matrix.indices.astype(np.uint32), matrix.data)


def _rows(tree: Tree, treeplex: Treeplex) -> NDArray[np.int64]:
    """Number in the treeplex of each infoset of the tree, `int64[I]`; -1 for others."""
    row = np.full(len(tree.player), -1, np.int64)
    row[treeplex.infoset] = np.arange(len(treeplex.infoset))
    return row


def _set_plan(side: _Side) -> None:
    make_plan(side.treeplex, side.policy[:, None], np.ones((side.treeplex.num_roots, 1)), side.plan[:, None])


@kernel
def _update(side, temperature, step):
    """The update of one player, from the last infosets to the first; then the plan, from the first to the last."""
    parent, begin = side.treeplex.parent, side.treeplex.begin
    policy, logits, values = side.policy, side.logits, side.values
    shrink = 1.0 / (1.0 + step * temperature)
    for i in range(parent.shape[0]):
        j = parent.shape[0] - 1 - i
        first, end = begin[j], begin[j + 1]
        value = 0.0
        for q in range(first, end):
            value += policy[q] * values[q]
        values[parent[j]] += value
        if side.reach[j] <= 0:  # the opponent's plan has underflowed on the way there
            continue
        highest = -np.inf
        for q in range(first, end):
            logits[q] = shrink * (logits[q] + step * values[q] / side.reach[j])
            highest = max(highest, logits[q])
        total = 0.0
        for q in range(first, end):
            policy[q] = np.exp(logits[q] - highest)
            total += policy[q]
        for q in range(first, end):
            policy[q] /= total
            logits[q] -= highest + np.log(total)
    for j in range(parent.shape[0]):
        for q in range(begin[j], begin[j + 1]):
            side.plan[q] = side.plan[parent[j]] * policy[q]


@kernel
def _iterate(first, second, temperature, step, anneal, done, iterations):
    """Runs iterations `done` + 1 to `done` + `iterations`."""
    for t in range(done + 1, done + iterations + 1):
        scale = 1.0 / np.sqrt(t) if anneal else 1.0
        multiply(first.payoffs, second.plan, first.values)
        multiply(first.reaching, second.plan, first.reach)
        multiply(second.payoffs, first.plan, second.values)
        multiply(second.reaching, first.plan, second.reach)
        for side in (first, second):
            for q in range(side.total.shape[0]):
                side.total[q] += side.plan[q]
            _update(side, scale * temperature, scale * step)


__all__ = ["ALGORITHMS", "MirrorDescentSolver"]
