"""The state of vector CFR for one player, as named tuples of arrays that Python and compiled functions share.

Shapes as in `learners.cfr.treeplex`; `K` games of a batch, `E` payoffs.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from learners.cfr.checks import check_array
from learners.cfr.treeplex import Treeplex
from learners.cfr.vector import make_plan, normalise

Array = NDArray[Any]

LINE = 64
"""Bytes of a cache line."""


class Payoffs(NamedTuple):
    """The payoffs of a player as a sparse matrix by rows: chance times return for each pair of sequences.

    Attributes:
        indptr: Entries of row q are ``indptr[q]`` to ``indptr[q + 1]`` - 1, `uint32[Q + 1]`; rows are the player's
            sequences.
        indices: The opponent's sequence of each entry, `uint32[E]`.
        data: Payoff of each entry, `float[E]`.
    """

    indptr: NDArray[np.uint32]
    indices: NDArray[np.uint32]
    data: Array


class PlayerState(NamedTuple):
    """The state of CFR for one player. Arrays of a batch have a second axis, `[Q, K]`.

    Attributes:
        treeplex: The player's decisions.
        payoffs: The player's payoffs.
        roots: Probability that the player's own actions before the treeplex lead to each root, `float[R]`.
        regrets: Sum of the regrets, `float[Q]`.
        policy: Probability of each sequence at its infoset, `float[Q]`; roots have 1.
        plan: Realization plan of the policy from roots with probability 1, `float[Q]`.
        reach: Realization plan of the policy from `roots`, `float[Q]`; the same array as `plan` if all of them are 1.
        average: Weighted sum of the plans, `float[Q]`. It sums up `plan` instead of `reach`, or else the policy below a
            root that the player never reaches would have no average, and the root no meaningful value.
        values: Scratch for counterfactual values, `float[Q]`.
    """

    treeplex: Treeplex
    payoffs: Payoffs
    roots: Array
    regrets: Array
    policy: Array
    plan: Array
    reach: Array
    average: Array
    values: Array


class Rule(NamedTuple):
    """The parameters that distinguish the methods of the CFR family.

    Attributes:
        alternating: Whether player 1 answers the new plan of player 0 instead of the old one.
        floor: Regret matching+: negative regrets become 0.
        alpha: After iteration t positive regrets are multiplied by t^alpha / (t^alpha + 1); infinity leaves them.
        beta: The same for negative regrets.
        gamma: Iteration t has weight t^gamma in the average.
        noise: Regrets up to this number count as 0. If actions tie, rounding leaves tiny regrets, which regret matching
            would turn into a policy.
        predictive: The next policy matches the regrets that follow if those of this iteration come again.
    """

    alternating: bool
    floor: bool
    alpha: float
    beta: float
    gamma: float
    noise: float
    predictive: bool = False


def new_state(treeplex: Treeplex, payoffs: Payoffs, roots: Array | None = None) -> PlayerState:
    """The state of a player before the first iteration, with a uniform policy.

    Args:
        treeplex: The player's decisions.
        payoffs: The player's payoffs; their type is that of all arrays.
        roots: Reach probability of each root, `[R, K]`; None stands for a single game with roots of probability 1.

    Raises:
        ValueError: a shape is wrong; the message names the field.
    """
    dtype = payoffs.data.dtype
    shape = (treeplex.num_sequences,) if roots is None else (treeplex.num_sequences, roots.shape[-1])
    if roots is None:
        roots = np.ones(treeplex.num_roots, dtype)
    roots = np.ascontiguousarray(roots, dtype)
    regrets, policy, plan, average, values = (_zeros(shape, dtype) for _ in range(5))
    reach = plan if (roots == 1).all() else _zeros(shape, dtype)
    state = PlayerState(treeplex, payoffs, roots, regrets, policy, plan, reach, average, values)
    check_state(state)
    normalise(treeplex, average.reshape(shape[0], -1), policy.reshape(shape[0], -1))
    set_plans(state)
    return state


def _zeros(shape: tuple[int, ...], dtype: Any) -> Array:
    """Zeros that begin at a cache line, which makes rows of a batch 10 to 20 % faster to work on."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + LINE, np.uint8)
    begin = -memory.ctypes.data % LINE
    return np.asarray(memory[begin : begin + size].view(dtype).reshape(shape))


def check_state(state: PlayerState) -> None:
    """Checks the shapes of a player's arrays.

    Raises:
        ValueError: a shape or an index does not fit; the message names the field.
    """
    treeplex, payoffs = state.treeplex, state.payoffs
    sequences, batch = treeplex.num_sequences, state.roots.shape[1:]
    check_array("begin", treeplex.begin, (len(treeplex.parent) + 1,), np.uint32)
    if (treeplex.parent >= treeplex.begin[:-1]).any():
        raise ValueError("parent must be smaller than the sequences of its infoset")
    check_array("indptr", payoffs.indptr, (sequences + 1,), np.uint32)
    check_array("indices", payoffs.indices, payoffs.data.shape, np.uint32)
    if payoffs.indptr[-1] != len(payoffs.data):
        raise ValueError(f"indptr must end with {len(payoffs.data)}, the number of payoffs, got {payoffs.indptr[-1]}")
    check_array("roots", state.roots, (treeplex.num_roots, *batch), payoffs.data.dtype)
    for name in ("regrets", "policy", "plan", "reach", "average", "values"):
        check_array(name, getattr(state, name), (sequences, *batch), payoffs.data.dtype)


def check_pair(first: PlayerState, second: PlayerState) -> None:
    """Checks that two states are of the same game and batch.

    Raises:
        ValueError: they are not; the message names the field.
    """
    for own, other in ((first, second), (second, first)):
        check_array("policy", other.policy, (other.treeplex.num_sequences, *own.policy.shape[1:]), own.policy.dtype)
        largest = int(own.payoffs.indices.max(initial=0))
        if largest >= other.treeplex.num_sequences:
            raise ValueError(
                f"indices must be below {other.treeplex.num_sequences}, the opponent's sequences, got {largest}"
            )


def set_plans(state: PlayerState) -> None:
    """Computes the realization plans of the policy of a state."""
    rows = state.treeplex.num_sequences
    policy, plan, reach = (a.reshape(rows, -1) for a in (state.policy, state.plan, state.reach))
    roots = state.roots.reshape(state.treeplex.num_roots, -1)
    make_plan(state.treeplex, policy, np.ones_like(roots), plan)
    if reach is not plan:
        make_plan(state.treeplex, policy, roots, reach)


__all__ = ["Payoffs", "PlayerState", "Rule", "check_pair", "check_state", "new_state", "set_plans"]
