"""The sequence form of a tree or of a part of it (Koller, Megiddo and von Stengel 1996), the input of vector CFR, best
responses and linear programs.

Decisions are treeplexes, see `learners.cfr.treeplex`, and payoffs are a sparse matrix over pairs of sequences. A
realization plan `x`, `float64[Q]`, holds the product of a player's own probabilities along each sequence, so that the
expected return is bilinear: x' A y.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from envs.tree import NoConstantSum, Tree
from learners.cfr.checks import check_array
from learners.cfr.state import Payoffs
from learners.cfr.treeplex import Treeplex, find_roots, make_treeplex
from learners.cfr.vector import make_plan, normalise

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Pair = tuple[NDArray[Any], NDArray[Any]]
"""An array of player 0 and the same of player 1."""


@dataclass(frozen=True, eq=False)
class SequenceForm:
    """A tree, or a part of it, by sequences.

    Attributes:
        tree: The whole tree.
        players: Decisions of both players.
        payoff: Chance times return of player 0 for each pair of sequences, `[Q0, Q1]`, sparse.
        transposed: The same, `[Q1, Q0]`.
    """

    tree: Tree
    players: tuple[Treeplex, Treeplex]
    payoff: csr_array
    transposed: csr_array

    def payoffs(self, dtype: type = np.float64) -> tuple[Payoffs, Payoffs]:
        """The payoffs of each player for compiled functions, of this type."""
        first, second = (
            Payoffs(m.indptr.astype(np.uint32), m.indices.astype(np.uint32), m.data.astype(dtype))
            for m in (self.payoff, -self.transposed)
        )
        return first, second

    def gradient(self, player: int, plan: Floats) -> Floats:
        """Value of the games that end right after each sequence of `player`, against the other's plan: `[Q]` or
        `[Q, K]`."""
        return np.asarray(self.payoff @ plan if player == 0 else -(self.transposed @ plan))

    def plans(self, policy: Floats) -> tuple[Floats, Floats]:
        """Realization plans of both players' policies, `float64[S]`, from roots of probability 1."""
        check_array("policy", policy, (self.tree.num_slots,))
        first, second = (realization_plan(t, t.from_slots(policy)[:, None])[:, 0] for t in self.players)
        return first, second

    def policy(self, weights: Pair) -> Floats:
        """The policy by slot, `float64[S]`, that is proportional to weights by sequence, `float64[Q]` of each player.

        Weights may be realization plans or sums of them. The policy is uniform where the weights of an infoset sum to
        0, and at infosets outside of this part of the tree.
        """
        policy = self.tree.uniform()
        for treeplex, own in zip(self.players, weights, strict=True):
            treeplex.to_slots(shares(treeplex, own[:, None])[:, 0], policy)
        return policy

    def value(self, policy: Floats) -> float:
        """Expected return of player 0."""
        first, second = self.plans(policy)
        return float(first @ (self.payoff @ second))

    def below(self, roots: tuple[Ints, Ints]) -> "SequenceForm":
        """The part below some roots of each player. Payoffs between these roots and others must be 0."""
        first, second = (
            np.flatnonzero(np.isin(find_roots(treeplex), own))
            for treeplex, own in zip(self.players, roots, strict=True)
        )
        payoff = self.payoff[first][:, second].tocsr()
        players = (self.players[0].restrict(first), self.players[1].restrict(second))
        return SequenceForm(self.tree, players, payoff, payoff.T.tocsr())

    @property
    def bytes(self) -> int:
        """Memory of the payoffs and decisions."""
        arrays = [a for treeplex in self.players for a in treeplex if isinstance(a, np.ndarray)]
        for matrix in (self.payoff, self.transposed):
            arrays += [matrix.data, matrix.indices, matrix.indptr]
        return sum(a.nbytes for a in arrays)


def sequence_form(tree: Tree) -> SequenceForm:
    """The sequence form of a whole tree.

    Raises:
        NoConstantSum: the tree is one of more than two players, or of returns without a constant sum.
    """
    if tree.payoffs is not None:
        raise NoConstantSum.of(tree.name, tree.num_players)
    return part_form(tree, (make_treeplex(tree, 0), make_treeplex(tree, 1)))[0]


def part_form(
    tree: Tree,
    players: tuple[Treeplex, Treeplex],
    starts: Ints | None = None,
    roots: NDArray[np.int32] | None = None,
    inside: NDArray[np.bool_] | None = None,
) -> tuple[SequenceForm, NDArray[np.int32]]:
    """The sequence form of a part of a tree.

    Args:
        tree: The tree.
        players: Decisions of both players in the part.
        starts: Nodes where the part begins, `int32[B]`; None stands for the tree's root.
        roots: Root of each player at each of them, `int32[B, 2]`; None stands for root 0.
        inside: Nodes of the part, `bool[N]`; None stands for all.

    Returns:
        The form, and the last sequence of each player at each node from the starts down, `int32[N, 2]`.
    """
    starts = np.zeros(1, np.int32) if starts is None else starts
    roots = np.zeros((len(starts), 2), np.int32) if roots is None else roots
    last = last_sequences(tree, players, starts, roots)
    chance = chance_reach(tree)
    ends = np.flatnonzero(tree.utility if inside is None else inside & (tree.utility != 0))
    weight = chance[ends] * tree.utility[ends]
    shape = (players[0].num_sequences, players[1].num_sequences)
    payoff = coo_array((weight, (last[ends, 0], last[ends, 1])), shape=shape).tocsr()
    payoff.sum_duplicates()
    return SequenceForm(tree, players, payoff, payoff.T.tocsr()), last


def chance_reach(tree: Tree) -> Floats:
    """Returns the reach probability of chance at each node, `float64[N]`."""
    reach = np.ones(tree.num_nodes)
    for level in levels(tree):
        reach[level] = reach[tree.parent[level]] * tree.probability[level]
    return reach


def last_sequences(
    tree: Tree, players: Sequence[Treeplex], starts: Ints, roots: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Returns the last sequence of each player at the nodes from `starts` down, `int32[N, P]`; `roots` are those at the
    starts, `int32[B, P]`."""
    slot = tree.node_slots()
    last = np.zeros((tree.num_nodes, len(players)), np.int32)
    last[starts] = roots
    begun = np.zeros(tree.num_nodes, np.bool_)
    begun[starts] = True
    for level in levels(tree):
        nodes = np.arange(level.start, level.stop)
        nodes = nodes[~begun[level]]
        nodes = nodes[begun[tree.parent[nodes]]]
        last[nodes] = last[tree.parent[nodes]]
        begun[nodes] = True
        for player in range(len(players)):
            moved = nodes[tree.mover[tree.parent[nodes]] == player]
            own = players[player].sequence[slot[moved]]
            last[moved, player] = np.where(own >= 0, own, last[moved, player])
    return last


def realization_plan(treeplex: Treeplex, policy: NDArray[Any], roots: NDArray[Any] | None = None) -> NDArray[Any]:
    """Realization plans of a batch of policies, `[Q, K]`.

    Args:
        treeplex: The player's decisions.
        policy: Probability of each sequence at its infoset, `[Q, K]`.
        roots: Reach probability of each root, `[R, K]`; None stands for 1.

    Raises:
        ValueError: a shape is wrong.
    """
    batch = policy.shape[-1]
    if roots is None:
        roots = np.ones((treeplex.num_roots, batch), policy.dtype)
    check_array("policy", policy, (treeplex.num_sequences, batch))
    check_array("roots", roots, (treeplex.num_roots, batch))
    plan = np.empty_like(policy)
    make_plan(treeplex, policy, roots, plan)
    return plan


def shares(treeplex: Treeplex, weights: NDArray[Any]) -> NDArray[Any]:
    """Policies proportional to weights, `[Q, K]`, see `learners.cfr.vector.normalise`.

    Raises:
        ValueError: a shape is wrong.
    """
    check_array("weights", weights, (treeplex.num_sequences, weights.shape[-1]))
    policy = np.empty_like(weights)
    normalise(treeplex, weights, policy)
    return policy


def levels(tree: Tree) -> Iterator[slice]:
    """Nodes of each depth below the root."""
    for begin, end in zip(tree.levels[1:-1].tolist(), tree.levels[2:].tolist(), strict=True):
        yield slice(begin, end)


__all__ = [
    "Pair",
    "SequenceForm",
    "chance_reach",
    "last_sequences",
    "levels",
    "part_form",
    "realization_plan",
    "sequence_form",
    "shares",
]
