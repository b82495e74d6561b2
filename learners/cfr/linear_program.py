"""Equilibria by linear programming on the sequence form (Koller, Megiddo and von Stengel 1996): an oracle that shares
nothing with CFR but the sequence form."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, hstack

from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.sequence_form import SequenceForm
from learners.cfr.treeplex import Treeplex

TOLERANCE = 1e-5
"""Largest exploitability of a solution, as a share of the largest return."""


class Equilibrium(NamedTuple):
    """A solution of a game.

    Attributes:
        value: Value of the game to player 0, in its own returns.
        policy: Policy of both players, `float64[S]`; uniform where it is not reached.
    """

    value: float
    policy: NDArray[np.float64]


def solve_linear_program(form: SequenceForm) -> Equilibrium:
    """Computes an exact equilibrium of a whole game.

    Raises:
        RuntimeError: HiGHS could not solve the programs, their values disagree, or the policy is not an equilibrium.
    """
    tree = form.tree
    unit = float(np.abs(form.payoff.data).max(initial=0.0)) or 1.0  # HiGHS drops what is below 1e-9
    plans, values = [], []
    for player in (0, 1):
        payoff = form.payoff if player == 0 else -form.transposed
        value, plan = _maximin(form.players[player], form.players[1 - player], payoff / unit)
        plans.append(plan)
        values.append(unit * value)
    if not abs(values[0] + values[1]) <= 1e-6 * tree.max_utility:
        raise RuntimeError(f"the two linear programs of {tree.name} disagree: {values[0]} and {-values[1]}")
    policy = form.policy((plans[0], plans[1]))
    if not (left := evaluate_policy(form, policy).exploitability) <= TOLERANCE * tree.max_utility:
        raise RuntimeError(
            f"HiGHS solved the linear programs of {tree.name} up to an exploitability of {left:.3g} only: the payoffs, "
            "or the chances of their histories, differ by too many orders of magnitude; use cfr+"
        )
    return Equilibrium(values[0] + tree.shift, policy)


def _maximin(own: Treeplex, other: Treeplex, payoff: csr_array) -> tuple[float, NDArray[np.float64]]:
    """Value of the game to a player, and the plan x that guarantees it.

    Maximises u_0 subject to F' u <= A' x, E x = e, x >= 0, where A are the player's payoffs, E and F the constraints of
    both players' plans, and u_0 is the return against a best response.
    """
    constraints, others = _flow(own), _flow(other)
    x, u = payoff.shape[0], others.shape[0]
    objective = np.zeros(x + u)
    objective[x] = -1.0
    right = np.zeros(constraints.shape[0])
    right[0] = 1.0
    solved = linprog(
        objective,
        A_ub=hstack([-payoff.T, others.T]).tocsr(),
        b_ub=np.zeros(payoff.shape[1]),
        A_eq=hstack([constraints, csr_array((constraints.shape[0], u))]).tocsr(),
        b_eq=right,
        bounds=[(0, None)] * x + [(None, None)] * u,
        method="highs",
    )
    if solved.status != 0:
        raise RuntimeError(f"HiGHS could not solve the linear program: {solved.message}")
    return 0.0 - float(solved.fun), np.maximum(solved.x[:x], 0)


def _flow(treeplex: Treeplex) -> csr_array:
    """The constraints of a realization plan, `[J + 1, Q]`: the empty sequence has probability 1, and the actions of an
    infoset sum to the probability of its parent."""
    infosets = len(treeplex.parent)
    counts = treeplex.num_actions
    rows = np.concatenate([[0], np.repeat(np.arange(1, infosets + 1), counts), np.arange(1, infosets + 1)])
    columns = np.concatenate([[0], np.arange(1, treeplex.num_sequences), treeplex.parent])
    values = np.concatenate([np.ones(treeplex.num_sequences), -np.ones(infosets)])
    return coo_array((values, (rows, columns)), shape=(infosets + 1, treeplex.num_sequences)).tocsr()
