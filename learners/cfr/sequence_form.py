"""The sequence form of a tree (Koller, Megiddo and von Stengel 1996): what vector CFR, best responses and linear
programs work on.

`Q` sequences of a player: the empty one, number 0, then a block for each of his `J` infosets, parents first. An infoset
with one action is no decision: its sequence is that of its parent, which leaves out much of a game with forced moves.
A realization plan `x`, `float64[Q]`, holds the product of a player's own probabilities along each sequence.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from envs.compiled import kernel
from envs.tree import Tree

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Treeplex:
    """The decisions of one player.

    Attributes:
        player: 0 or 1.
        parent: Sequence that leads to each infoset, `uint32[J]`.
        begin: Sequences of infoset j are ``begin[j]`` to ``begin[j + 1]`` - 1, `uint32[J + 1]`; ``begin[0]`` is 1.
        infoset: Number of each infoset in the tree, `int32[J]`.
        slot: The tree's slots of this player, `int32`, all of them, forced ones too.
        sequence: Sequence of each of those slots.
        forced: Which of those slots are the only one of their infoset.
    """

    player: int
    parent: NDArray[np.uint32]
    begin: NDArray[np.uint32]
    infoset: Ints
    slot: Ints
    sequence: Ints
    forced: NDArray[np.bool_]

    @property
    def num_sequences(self) -> int:
        return int(self.begin[-1])

    def plan(self, policy: Floats) -> Floats:
        """Realization plan of a policy by slot, `float64[S]` to `float64[Q]`."""
        plan = np.ones(self.num_sequences)
        plan[self.sequence[~self.forced]] = policy[self.slot[~self.forced]]
        multiply_down(self.parent, self.begin, plan)
        return plan

    def policy(self, weights: Floats, policy: Floats) -> None:
        """Writes the policy with weights `float64[Q]` of the actions of each infoset into `policy`, `float64[S]`.

        Weights may be a realization plan, or any sum of such; where all are 0 the policy is uniform.
        """
        shares = np.empty(self.num_sequences)
        normalise(self.begin, weights, shares)
        policy[self.slot] = np.where(self.forced, 1.0, shares[self.sequence])


@dataclass(frozen=True, eq=False)
class SequenceForm:
    """A tree by sequences.

    Attributes:
        tree: The tree.
        players: Decisions of both.
        payoff: Chance times return of player 0 for each pair of sequences, `[Q0, Q1]`, sparse.
        transposed: The same, `[Q1, Q0]`.
    """

    tree: Tree
    players: tuple[Treeplex, Treeplex]
    payoff: csr_array
    transposed: csr_array

    def gradient(self, player: int, plan: Floats) -> Floats:
        """Counterfactual return of each sequence of `player` against the other's plan, of what ends right there."""
        return self.payoff @ plan if player == 0 else -(self.transposed @ plan)

    def plans(self, policy: Floats) -> tuple[Floats, Floats]:
        """Realization plans of both players' policies, `float64[S]`."""
        first, second = (plex.plan(policy) for plex in self.players)
        return first, second

    def policy(self, weights: tuple[Floats, Floats]) -> Floats:
        """Both players' policies, `float64[S]`, see `Treeplex.policy`."""
        policy = np.empty(self.tree.num_slots)
        for plex, own in zip(self.players, weights, strict=True):
            plex.policy(own, policy)
        return policy

    def value(self, policy: Floats) -> float:
        """Expected return of player 0."""
        first, second = self.plans(policy)
        return float(first @ (self.payoff @ second))

    @property
    def bytes(self) -> int:
        """Memory of the payoffs and decisions."""
        held = [vars(plex).values() for plex in self.players]
        arrays = [a for values in held for a in values if isinstance(a, np.ndarray)]
        for matrix in (self.payoff, self.transposed):
            arrays += [matrix.data, matrix.indices, matrix.indptr]
        return sum(a.nbytes for a in arrays)


def sequence_form(tree: Tree) -> SequenceForm:
    """The sequence form of a tree."""
    sequences = np.empty(tree.num_slots, np.int32)
    players = (_treeplex(tree, 0, sequences), _treeplex(tree, 1, sequences))
    last, chance = _follow(tree, sequences)
    ends = np.flatnonzero(tree.utility)
    shape = tuple(plex.num_sequences for plex in players)
    weight = chance[ends] * tree.utility[ends]
    payoff = coo_array((weight, (last[ends, 0], last[ends, 1])), shape=shape).tocsr()
    payoff.sum_duplicates()
    return SequenceForm(tree, players, payoff, payoff.T.tocsr())


def _treeplex(tree: Tree, player: int, sequences: Ints) -> Treeplex:
    """The decisions of `player`, whose part of `sequences`, by slot, is filled."""
    own = np.flatnonzero(tree.player == player)
    counts = np.diff(tree.slots)[own]
    free = own[counts > 1]
    begin = np.concatenate([[1], 1 + np.cumsum(counts[counts > 1])]).astype(np.uint32)
    _number_sequences(own, tree.slots, tree.parent_slot, sequences)
    before = tree.parent_slot[free]
    mine = np.flatnonzero(tree.player[tree.slot_infoset] == player)
    return Treeplex(
        player=player,
        parent=np.where(before < 0, 0, sequences[before]).astype(np.uint32),
        begin=begin,
        infoset=free.astype(np.int32),
        slot=mine.astype(np.int32),
        sequence=sequences[mine],
        forced=np.diff(tree.slots)[tree.slot_infoset[mine]] == 1,
    )


@kernel
def _number_sequences(infosets, slots, parent_slot, sequences):
    """Numbers the slots of infosets, parents first; a forced action goes by its parent's number."""
    following = 1
    for i in infosets:
        begin, end = slots[i], slots[i + 1]
        if end - begin == 1:
            sequences[begin] = 0 if parent_slot[i] < 0 else sequences[parent_slot[i]]
            continue
        for s in range(begin, end):
            sequences[s] = following
            following += 1


def levels(tree: Tree) -> Iterator[slice]:
    """Nodes of each depth below the root."""
    for begin, end in zip(tree.levels[1:-1].tolist(), tree.levels[2:].tolist(), strict=True):
        yield slice(begin, end)


def _follow(tree: Tree, sequences: Ints) -> tuple[Ints, Floats]:
    """Last sequence of each player, `int32[N, 2]`, and probability of chance, `float64[N]`, at every node."""
    slot = tree.node_slots()
    last = np.zeros((tree.num_nodes, 2), np.int32)
    chance = np.ones(tree.num_nodes)
    for level in levels(tree):
        parent = tree.parent[level]
        chance[level] = chance[parent] * tree.probability[level]
        last[level] = last[parent]
        for player in (0, 1):
            moved = np.flatnonzero(tree.mover[parent] == player) + level.start
            last[moved, player] = sequences[slot[moved]]
    return last, chance


@kernel
def multiply_down(parent, begin, plan):
    """Turns probabilities by sequence into a realization plan, in place."""
    plan[0] = 1.0
    for j in range(parent.shape[0]):
        reach = plan[parent[j]]
        for q in range(begin[j], begin[j + 1]):
            plan[q] *= reach


@kernel
def normalise(begin, weights, shares):
    """Share of each sequence in the weights of its infoset; uniform where they sum to 0."""
    shares[0] = 1.0
    for j in range(begin.shape[0] - 1):
        total = 0.0
        for q in range(begin[j], begin[j + 1]):
            total += weights[q]
        for q in range(begin[j], begin[j + 1]):
            shares[q] = weights[q] / total if total > 0 else 1.0 / (begin[j + 1] - begin[j])


__all__ = ["SequenceForm", "Treeplex", "levels", "multiply_down", "normalise", "sequence_form"]
