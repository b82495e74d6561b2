"""Treeplexes: the decisions of one player, numbered by sequences (Koller, Megiddo and von Stengel 1996).

A sequence stands for the actions of a player on the way to a node. It is either a root of the treeplex, or an action
at an infoset. The treeplex of a whole game has one root, the empty sequence; that of a subgame has one root for each of
the player's histories at its border. Sequences are numbered roots first, then infoset by infoset, parents first, so
that the actions of an infoset are neighbours. An infoset with one action is not a decision: its action has the number
of the sequence that leads to the infoset.

Shapes: `R` roots, `J` infosets with a choice, `Q` sequences, roots included, `S` slots and `I` infosets of the tree.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.tree import Tree

Ints = NDArray[np.int32]
Unsigned = NDArray[np.uint32]


class Treeplex(NamedTuple):
    """The decisions of one player, for Python and for compiled functions.

    Attributes:
        player: Number of the player.
        parent: Sequence that leads to each infoset, `uint32[J]`.
        begin: The sequences of infoset j are ``begin[j]`` to ``begin[j + 1]`` - 1, `uint32[J + 1]`; those below
            ``begin[0]`` are the roots.
        infoset: Number of each infoset in the tree, `int32[J]`.
        slot: The tree's slot of each sequence that is not a root, `int32[Q - R]`.
        sequence: Sequence of each of the tree's slots, `int32[S]`; -1 for slots outside of this treeplex.
    """

    player: int
    parent: Unsigned
    begin: Unsigned
    infoset: Ints
    slot: Ints
    sequence: Ints

    @property
    def num_roots(self) -> int:
        """`R`."""
        return int(self.begin[0])

    @property
    def num_sequences(self) -> int:
        """`Q`."""
        return int(self.begin[-1])

    @property
    def num_actions(self) -> NDArray[np.int64]:
        """Actions of each infoset, `int64[J]`."""
        begin = self.begin.astype(np.int64)
        return begin[1:] - begin[:-1]

    def from_slots(self, policy: NDArray[Any]) -> NDArray[Any]:
        """Converts a policy by slot, `[S]`, to one by sequence, `[Q]`. Roots have probability 1."""
        converted = np.ones(self.num_sequences, policy.dtype)
        converted[self.num_roots :] = policy[self.slot]
        return converted

    def to_slots(self, policy: NDArray[Any], out: NDArray[Any]) -> None:
        """Writes a policy by sequence, `[Q]`, into one by slot, `[S]`. Other slots, forced actions among them, stay."""
        out[self.slot] = policy[self.num_roots :]

    def restrict(self, sequences: NDArray[np.integer]) -> "Treeplex":
        """The treeplex of some sequences, ascending: some roots with all that is below them."""
        number = np.full(self.num_sequences + 1, -1, np.int32)  # the last entry stands for slots outside
        number[sequences] = np.arange(len(sequences))
        infosets = np.flatnonzero(number[self.begin[:-1]] >= 0)
        return Treeplex(
            player=self.player,
            parent=number[self.parent[infosets]].astype(np.uint32),
            begin=np.append(number[self.begin[infosets]], len(sequences)).astype(np.uint32),
            infoset=self.infoset[infosets],
            slot=self.slot[sequences[sequences >= self.num_roots] - self.num_roots],
            sequence=number[self.sequence],
        )


def make_treeplex(
    tree: Tree, player: int, infosets: Ints | None = None, roots: Ints | None = None, num_roots: int = 1
) -> Treeplex:
    """Builds the treeplex of a player.

    Args:
        tree: The tree.
        player: Number of the player.
        infosets: The player's infosets in the treeplex, ascending, forced ones included; None stands for all.
        roots: Root of each infoset of the tree, `int32[I]`, read where no sequence of the treeplex leads to the
            infoset; None stands for root 0.
        num_roots: `R`.
    """
    if infosets is None:
        infosets = np.flatnonzero(tree.player == player).astype(np.int32)
    counts = np.diff(tree.slots)[infosets]
    choice = counts > 1
    sequence = np.full(tree.num_slots, -1, np.int32)
    parent = np.empty(len(infosets), np.uint32)
    above = np.zeros(len(tree.player), np.int32) if roots is None else roots
    _number_sequences(infosets, tree.slots, tree.parent_slot, above, num_roots, sequence, parent)
    free = np.flatnonzero(np.isin(tree.slot_infoset, infosets[choice])).astype(np.int32)  # in the order of sequences
    return Treeplex(
        player=player,
        parent=parent[choice],
        begin=(num_roots + np.concatenate([[0], np.cumsum(counts[choice])])).astype(np.uint32),
        infoset=infosets[choice],
        slot=free,
        sequence=sequence,
    )


@kernel
def _number_sequences(infosets, slots, parent_slot, roots, num_roots, sequence, parent):
    """Numbers the slots of infosets, parents first, and finds the sequence that leads to each infoset."""
    following = num_roots
    for k in range(infosets.shape[0]):
        i = infosets[k]
        # The infoset is below the player's last action, if the treeplex has that, else below its root.
        above = roots[i]
        if parent_slot[i] >= 0 and sequence[parent_slot[i]] >= 0:
            above = sequence[parent_slot[i]]
        parent[k] = above
        # A forced action shares the number of its parent; others get numbers of their own.
        forced = slots[i + 1] - slots[i] == 1
        for s in range(slots[i], slots[i + 1]):
            sequence[s] = above if forced else following
            following += not forced


@kernel
def find_roots(treeplex):
    """Root above each sequence, `int64[Q]`."""
    root = np.arange(np.int64(treeplex.begin[-1]))
    for j in range(treeplex.parent.shape[0]):
        root[treeplex.begin[j] : treeplex.begin[j + 1]] = root[treeplex.parent[j]]
    return root


__all__ = ["Treeplex", "find_roots", "make_treeplex"]
