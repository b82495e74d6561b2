"""A tree cut in two, each part by sequences: what solvers of the trunk and of the bottom work on.

Several roots stand where `learners.cfr.sequence_form` has the empty sequence: in the bottom the histories of a player
at the limit. `R` roots, `J` infosets, `Q` sequences, roots included, of a player.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from envs.compiled import kernel
from envs.game import Game
from envs.tree import Tree, compile_tree
from learners.cfr.sequence_form import levels
from learners.value_function.limit import Limit, NoLimit, border
from learners.value_function.public import Encoding, encode

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Pair = tuple[NDArray[Any], NDArray[Any]]
"""Something of player 0, and the same of player 1."""


@dataclass(frozen=True, eq=False)
class Plex:
    """Some of a player's decisions.

    Attributes:
        player: 0 or 1.
        parent: Sequence that leads to each infoset, `uint32[J]`.
        begin: Sequences of infoset j are ``begin[j]`` to ``begin[j + 1]`` - 1, `uint32[J + 1]`; those below
            ``begin[0]`` are the roots.
        infoset: Number of each infoset in the tree, `int32[J]`.
        sequence: Sequence that each of the tree's slots belongs to, `int32[S]`; -1 for slots of other parts. An
            infoset with one action is no decision: its sequence is that of its parent.
    """

    player: int
    parent: NDArray[np.uint32]
    begin: NDArray[np.uint32]
    infoset: Ints
    sequence: Ints

    @property
    def num_roots(self) -> int:
        return int(self.begin[0])

    @property
    def num_sequences(self) -> int:
        return int(self.begin[-1])

    @property
    def counts(self) -> NDArray[np.int64]:
        """Actions of each infoset, `int64[J]`."""
        counts: NDArray[np.int64] = self.begin[1:].astype(np.int64) - self.begin[:-1]
        return counts

    @cached_property
    def owner(self) -> Ints:
        """Root of each sequence, `int32[Q]`."""
        owner = np.arange(self.num_sequences, dtype=np.int32)
        for j in range(len(self.parent)):
            owner[self.begin[j] : self.begin[j + 1]] = owner[self.parent[j]]
        return owner


@dataclass(frozen=True, eq=False)
class Part:
    """Some of a game by sequences of both players.

    Attributes:
        players: Their decisions.
        payoff: Chance times return of player 0 for each pair of sequences, `[Q0, Q1]`, sparse.
        transposed: The same, `[Q1, Q0]`.
    """

    players: tuple[Plex, Plex]
    payoff: csr_array
    transposed: csr_array

    def component(self, roots: tuple[Ints, Ints]) -> "Part":
        """The decisions and payoffs below some roots of each player, renumbered; the others' must not mix with them."""
        players, kept = [], []
        for plex, own in zip(self.players, roots, strict=True):
            chosen = np.flatnonzero(np.isin(plex.owner, own))
            number = np.full(plex.num_sequences, -1, np.int64)
            number[chosen] = np.arange(len(chosen))
            infosets = np.flatnonzero(number[plex.begin[:-1]] >= 0)
            sequence = np.where(plex.sequence >= 0, number[np.maximum(plex.sequence, 0)], -1).astype(np.int32)
            begin = np.append(number[plex.begin[infosets]], len(chosen)).astype(np.uint32)
            parent = number[plex.parent[infosets]].astype(np.uint32)
            players.append(Plex(plex.player, parent, begin, plex.infoset[infosets], sequence))
            kept.append(chosen)
        payoff = self.payoff[kept[0]][:, kept[1]].tocsr()
        return Part((players[0], players[1]), payoff, payoff.T.tocsr())


@dataclass(frozen=True, eq=False)
class Split:
    """A game cut at a depth limit.

    Attributes:
        tree: The whole tree.
        limit: Where it is cut.
        trunk: Decisions above, with the games that end there; one root, the empty sequence.
        bottom: Decisions below; the roots are the histories at the limit.
        leaves: Sequence of the trunk that leads to each history at the limit, `int32[H]` of each player.
        encoding: The public states at the limit, and ranges, as vectors.
    """

    tree: Tree
    limit: Limit
    trunk: Part
    bottom: Part
    leaves: tuple[Ints, Ints]
    encoding: Encoding

    @property
    def histories(self) -> tuple[int, int]:
        """How many of each player there are at the limit."""
        return len(self.leaves[0]), len(self.leaves[1])

    @cached_property
    def subgames(self) -> list[tuple[tuple[Ints, Ints], Part]]:
        """The bottom by public states, which have nothing to do with each other: the histories of each, and what is
        below them. All that belongs to one of them fits into a core's cache."""
        found = []
        for state in range(self.encoding.num_public):
            first, second = (np.flatnonzero(own == state).astype(np.int32) for own in self.encoding.public)
            found.append(((first, second), self.bottom.component((first, second))))
        return found

    @cached_property
    def arrivals(self) -> tuple[csr_array, csr_array]:
        """Which histories at the limit a sequence of the trunk leads to, `[Q, H]` of each player, sparse."""
        first, second = (
            csr_array((np.ones(len(own)), (own, np.arange(len(own)))), shape=(plex.num_sequences, len(own)))
            for own, plex in zip(self.leaves, self.trunk.players, strict=True)
        )
        return first, second

    def half_fixed(self, player: int) -> Part:
        """The whole game for one whose trunk is fixed: the roots of `player` are his sequences of the trunk, his
        decisions those of the bottom; the other decides everywhere."""
        tree, upper, lower = self.tree, self.trunk.players, self.bottom.players
        fixed = upper[player]
        entries = self.leaves[player]
        own = _renumber(tree, player, lower[player], fixed, entries)
        free = _plex(tree, 1 - player, np.flatnonzero(tree.player == 1 - player).astype(np.int32), None, 1)
        players = (own, free) if player == 0 else (free, own)
        last = _follow(tree, players, np.zeros(1, np.int32), np.zeros((1, 2), np.int32))
        return _part(tree, players, last, np.ones(tree.num_nodes, np.bool_))


def split_game(game: Game, limit: Limit, tree: Tree | None = None) -> Split:
    """Cuts a game in two.

    Args:
        game: One of which all can be computed, see `envs.tree.compile_tree`.
        limit: Where.
        tree: The game's tree, if it is there already.

    Raises:
        NoLimit: it cannot be cut there.
        TypeError, ValueError: see `envs.tree.compile_tree`.
    """
    tree = compile_tree(game) if tree is None else tree
    nodes = border(tree, limit)
    below = _below(tree, nodes)
    assert tree.history is not None
    assert tree.public is not None
    numbers = [np.unique(tree.history[nodes, player], return_inverse=True)[1].astype(np.int32) for player in (0, 1)]
    public = np.unique(tree.public[nodes], return_inverse=True)[1].astype(np.int32)
    lower = _infosets(tree, below)
    upper = _infosets(tree, ~below)
    if len(np.intersect1d(lower, upper)):
        raise NoLimit(f"{tree.name}: a player at an infoset cannot tell whether {limit} is passed")

    trunk = tuple(_plex(tree, p, upper[tree.player[upper] == p], None, 1) for p in (0, 1))
    last = _follow(tree, trunk, np.zeros(1, np.int32), np.zeros((1, 2), np.int32))
    leaves = []
    for player in (0, 1):
        leaf = np.zeros(int(numbers[player].max()) + 1, np.int32)
        leaf[numbers[player]] = last[nodes, player]
        leaves.append(leaf)
    root = np.full((tree.num_nodes, 2), -1, np.int32)
    root[nodes] = np.stack(numbers, axis=1)
    for level in levels(tree):
        inherited = root[tree.parent[level]]
        root[level] = np.where(root[level] >= 0, root[level], inherited)
    bottom = []
    for player in (0, 1):
        own = lower[tree.player[lower] == player]
        at = np.full(len(tree.player), -1, np.int32)
        decisions = np.flatnonzero(tree.mover == player)
        at[tree.infoset[decisions]] = root[decisions, player]
        bottom.append(_plex(tree, player, own, at, len(leaves[player])))
    below_last = _follow(tree, bottom, nodes, root[nodes])
    encoding = encode(game, tree, nodes, (numbers[0], numbers[1]), public)
    return Split(
        tree=tree,
        limit=limit,
        trunk=_part(tree, trunk, last, ~below),
        bottom=_part(tree, bottom, below_last, below),
        leaves=(leaves[0], leaves[1]),
        encoding=encoding,
    )


def _below(tree: Tree, nodes: Ints) -> NDArray[np.bool_]:
    """Nodes at the limit or beyond."""
    below = np.zeros(tree.num_nodes, np.bool_)
    below[nodes] = True
    for level in levels(tree):
        below[level] |= below[tree.parent[level]]
    return below


def _infosets(tree: Tree, chosen: NDArray[np.bool_]) -> Ints:
    """Infosets with nodes among those chosen, in order."""
    found = np.unique(tree.infoset[chosen & (tree.mover >= 0)])
    return found.astype(np.int32)


def _plex(tree: Tree, player: int, infosets: Ints, roots: Ints | None, num_roots: int) -> Plex:
    """The decisions at these infosets of a player.

    Args:
        roots: Root above each infoset of the tree, where no sequence of this part is; None: always the first.
        num_roots: How many there are.
    """
    counts = np.diff(tree.slots)[infosets]
    begin = np.concatenate([[num_roots], num_roots + np.cumsum(counts[counts > 1])]).astype(np.uint32)
    sequence = np.full(tree.num_slots, -1, np.int32)
    parent = np.empty(len(infosets), np.uint32)
    above = np.zeros(len(tree.player), np.int32) if roots is None else roots
    _number(infosets, tree.slots, tree.parent_slot, above, num_roots, sequence, parent)
    return Plex(player, parent[counts > 1], begin, infosets[counts > 1], sequence)


@kernel
def _number(infosets, slots, parent_slot, roots, first, sequence, parent):
    """Numbers the slots of infosets, parents first, and finds the sequence that leads to each infoset."""
    following = first
    for k in range(infosets.shape[0]):
        i = infosets[k]
        before = parent_slot[i]
        above = roots[i]
        if before >= 0 and sequence[before] >= 0:
            above = sequence[before]
        parent[k] = above
        begin, end = slots[i], slots[i + 1]
        if end - begin == 1:
            sequence[begin] = above
            continue
        for s in range(begin, end):
            sequence[s] = following
            following += 1


def _renumber(tree: Tree, player: int, lower: Plex, upper: Plex, entries: Ints) -> Plex:
    """The bottom's decisions of a player, with the sequences of his trunk for roots instead of histories."""
    shift = upper.num_sequences - lower.num_roots
    move = np.concatenate([entries, np.arange(lower.num_roots, lower.num_sequences, dtype=np.int32) + shift])
    sequence = np.where(lower.sequence >= 0, move[np.maximum(lower.sequence, 0)], upper.sequence)
    return Plex(
        player,
        move[lower.parent].astype(np.uint32),
        (lower.begin.astype(np.int64) + shift).astype(np.uint32),
        lower.infoset,
        sequence.astype(np.int32),
    )


def _follow(tree: Tree, players: Sequence[Plex], starts: Ints, roots: NDArray[np.int32]) -> NDArray[np.int32]:
    """Last sequence of each player at the nodes from `starts` down, `int32[N, 2]`; `roots` are those at the starts."""
    slot = tree.node_slots()
    last = np.zeros((tree.num_nodes, 2), np.int32)
    last[starts] = roots
    begun = np.zeros(tree.num_nodes, np.bool_)
    begun[starts] = True
    for level in levels(tree):
        nodes = np.arange(level.start, level.stop)
        nodes = nodes[~begun[level]]
        nodes = nodes[begun[tree.parent[nodes]]]
        last[nodes] = last[tree.parent[nodes]]
        begun[nodes] = True
        for player in (0, 1):
            moved = nodes[tree.mover[tree.parent[nodes]] == player]
            own = players[player].sequence[slot[moved]]
            last[moved, player] = np.where(own >= 0, own, last[moved, player])
    return last


def _part(tree: Tree, players: Sequence[Plex], last: NDArray[np.int32], chosen: NDArray[np.bool_]) -> Part:
    """The games that end at the nodes chosen, by sequences."""
    chance = np.ones(tree.num_nodes)
    for level in levels(tree):
        chance[level] = chance[tree.parent[level]] * tree.probability[level]
    ends = np.flatnonzero(chosen & (tree.utility != 0))
    weight = chance[ends] * tree.utility[ends]
    shape = tuple(plex.num_sequences for plex in players)
    payoff = coo_array((weight, (last[ends, 0], last[ends, 1])), shape=shape).tocsr()
    payoff.sum_duplicates()
    return Part((players[0], players[1]), payoff, payoff.T.tocsr())


__all__ = ["Pair", "Part", "Plex", "Split", "split_game"]
