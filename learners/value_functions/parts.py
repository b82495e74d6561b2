"""A tree cut in two at a depth limit, with each part in sequence form, for solvers of the trunk and of the bottom.

The roots of the trunk are the players' empty sequences, those of the bottom their histories at the limit. `H` histories
of a player at the limit; for the other letters see `learners.cfr.treeplex`.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from envs.game import GameBase
from envs.tree import Tree, compile_tree
from learners.cfr.sequence_form import Pair, SequenceForm, levels, part_form
from learners.cfr.treeplex import Treeplex, make_treeplex
from learners.value_functions.limit import Limit, NoLimit, border
from learners.value_functions.public import Encoding, encode

Ints = NDArray[np.int32]

LEAST, MOST = 1e-25, 1e25
"""Range of the largest return, since samples and subgames are computed in float32."""


@dataclass(frozen=True, eq=False)
class Split:
    """A game cut at a depth limit.

    Attributes:
        tree: The whole tree.
        limit: Where it is cut.
        trunk: The part above the limit, with the games that end there; one root, the empty sequence.
        bottom: The part below; its roots are the histories at the limit.
        leaves: Sequence of the trunk that leads to each history at the limit, `int32[H]` of each player.
        encoding: The public states at the limit, and ranges, as vectors.
    """

    tree: Tree
    limit: Limit
    trunk: SequenceForm
    bottom: SequenceForm
    leaves: tuple[Ints, Ints]
    encoding: Encoding

    @property
    def histories(self) -> tuple[int, int]:
        """Number of histories of each player at the limit."""
        return len(self.leaves[0]), len(self.leaves[1])

    @cached_property
    def subgames(self) -> list[tuple[tuple[Ints, Ints], SequenceForm]]:
        """The bottom by public states, which are independent of each other: for each, the histories of both players and
        the part below them. The data of one public state fit into a core's cache."""
        found = []
        for state in range(self.encoding.num_public):
            first, second = (np.flatnonzero(own == state).astype(np.int32) for own in self.encoding.public)
            found.append(((first, second), self.bottom.below((first, second))))
        return found

    @cached_property
    def arrivals(self) -> tuple[csr_array, csr_array]:
        """Matrix of the histories at the limit that each sequence of the trunk leads to, `[Q, H]` each, sparse."""
        first, second = (
            csr_array((np.ones(len(own)), (own, np.arange(len(own)))), shape=(treeplex.num_sequences, len(own)))
            for own, treeplex in zip(self.leaves, self.trunk.players, strict=True)
        )
        return first, second

    def half_fixed(self, player: int) -> SequenceForm:
        """The whole game with the trunk of `player` fixed.

        The roots of `player` are the sequences of the trunk, with decisions in the bottom only; the other player
        decides everywhere.
        """
        own = self._bottom_under_trunk(player)
        free = make_treeplex(self.tree, 1 - player)
        return part_form(self.tree, (own, free) if player == 0 else (free, own))[0]

    def _bottom_under_trunk(self, player: int) -> Treeplex:
        """A player's decisions in the bottom, with the sequences of the trunk for roots instead of histories."""
        lower, upper = self.bottom.players[player], self.trunk.players[player]
        shift = upper.num_sequences - lower.num_roots
        own = np.arange(lower.num_roots, lower.num_sequences, dtype=np.int32) + shift
        number = np.concatenate([self.leaves[player], own])  # of each sequence of the bottom in the result
        sequence = np.where(lower.sequence >= 0, number[np.maximum(lower.sequence, 0)], upper.sequence)
        return lower._replace(
            parent=number[lower.parent].astype(np.uint32),
            begin=(lower.begin.astype(np.int64) + shift).astype(np.uint32),
            sequence=sequence.astype(np.int32),
        )


def split_game(game: GameBase, limit: Limit, tree: Tree | None = None) -> Split:
    """Cuts a game in two.

    Args:
        game: A game that has a tree, see `envs.tree.compile_tree`.
        limit: Where to cut.
        tree: The game's tree, if the caller has it.

    Raises:
        NoLimit: the game cannot be cut there.
        TypeError, ValueError: see `envs.tree.compile_tree`; or the largest return is out of the range of float32.
    """
    tree = compile_tree(game) if tree is None else tree
    if tree.max_utility and not LEAST <= tree.max_utility <= MOST:
        raise ValueError(f"{tree.name}: returns must be from {LEAST:g} to {MOST:g} here, got {tree.max_utility:g}")
    nodes = border(tree, limit)
    assert tree.history is not None
    assert tree.public is not None
    # Histories and public states at the limit, numbered from 0.
    numbers = [np.unique(tree.history[nodes, player], return_inverse=True)[1].astype(np.int32) for player in (0, 1)]
    public = np.unique(tree.public[nodes], return_inverse=True)[1].astype(np.int32)
    roots = np.stack(numbers, axis=1)
    # The node at the limit above each node, which shows whether the node is below the limit.
    start = np.full(tree.num_nodes, -1, np.int32)
    start[nodes] = np.arange(len(nodes))
    for level in levels(tree):
        start[level] = np.maximum(start[level], start[tree.parent[level]])
    below = start >= 0
    upper, lower = _infosets(tree, ~below), _infosets(tree, below)
    if len(np.intersect1d(lower, upper)):
        raise NoLimit(f"{tree.name}: some infoset has nodes on both sides of {limit}: choose another depth limit")

    trunk_players = [make_treeplex(tree, p, upper[tree.player[upper] == p]) for p in (0, 1)]
    trunk, last = part_form(tree, (trunk_players[0], trunk_players[1]), inside=~below)
    leaves, bottom_players = [], []
    for player in (0, 1):
        leaf = np.zeros(int(numbers[player].max()) + 1, np.int32)
        leaf[numbers[player]] = last[nodes, player]
        leaves.append(leaf)
        # All nodes of an infoset are below the same history of its player.
        decisions = np.flatnonzero(below & (tree.mover == player))
        history = np.full(len(tree.player), -1, np.int32)
        history[tree.infoset[decisions]] = numbers[player][start[decisions]]
        own = lower[tree.player[lower] == player]
        bottom_players.append(make_treeplex(tree, player, own, history, len(leaf)))
    bottom, _ = part_form(tree, (bottom_players[0], bottom_players[1]), nodes, roots, below)
    return Split(
        tree=tree,
        limit=limit,
        trunk=trunk,
        bottom=bottom,
        leaves=(leaves[0], leaves[1]),
        encoding=encode(game, tree, nodes, (numbers[0], numbers[1]), public),
    )


def _infosets(tree: Tree, chosen: NDArray[np.bool_]) -> Ints:
    """Infosets with nodes among those chosen, ascending."""
    found = np.unique(tree.infoset[chosen & (tree.mover >= 0)])
    return found.astype(np.int32)


__all__ = ["Pair", "Split", "split_game"]
