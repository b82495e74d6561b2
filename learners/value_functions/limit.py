"""Depth limits: where a game is cut into a trunk and a bottom.

A game is cut after a number of actions of its players, or after a number of moves of chance, on every path; both can be
counted in any game. The limit must lie along public states, so that the players' common knowledge determines on which
side of it they are. `N` nodes of the tree, `B` of them at the limit.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from envs.extensive import CHANCE, OVER
from envs.tree import Tree
from learners.cfr.sequence_form import levels

Event = Literal["actions", "chances"]
EVENTS: tuple[Event, ...] = ("actions", "chances")

Ints = NDArray[np.int32]


class NoLimit(ValueError):
    """The game cannot be cut at this depth limit."""


@dataclass(frozen=True)
class Limit:
    """A depth limit.

    Attributes:
        event: Events that are counted from the root: the players' ``actions``, or the moves of chance, ``chances``.
        count: Number of events after which the bottom begins.
    """

    event: Event
    count: int

    @classmethod
    def parse(cls, text: str) -> "Limit":
        """Reads a limit such as ``actions:4`` or ``chances:2``.

        Raises:
            ValueError: the text is not a limit.
        """
        event, _, number = text.partition(":")
        if event not in EVENTS or not number.isascii() or not number.isdigit() or not 1 <= int(number) <= 1000:
            raise ValueError(f"a depth limit must be actions:N or chances:N with N from 1 to 1000, got {text!r}")
        return cls("actions" if event == "actions" else "chances", int(number))

    def __str__(self) -> str:
        return f"{self.event}:{self.count}"


def border(tree: Tree, limit: Limit) -> Ints:
    """Finds the nodes at which the bottom begins, `int32[B]`. Games that end there or above belong to the trunk.

    Raises:
        NoLimit: the game does not define public states, no play reaches the limit, or some public state has nodes on
            both sides of it.
    """
    if tree.public is None or tree.history is None:
        raise NoLimit(f"{tree.name} does not define public states, which a depth limit needs")
    counts = _count(tree, limit.event)
    beyond = counts >= limit.count
    beyond[0] = False
    first = beyond & ~beyond[tree.parent] & (tree.mover != OVER)
    if not first.any():
        raise NoLimit(f"no play of {tree.name} continues after {limit.count} {limit.event}: choose a lower depth limit")
    above = ~beyond & (tree.mover != OVER)
    both = np.intersect1d(tree.public[beyond & (tree.mover != OVER)], tree.public[above])
    if len(both):
        raise NoLimit(f"{tree.name}: some public state has nodes on both sides of {limit}: choose another depth limit")
    return np.flatnonzero(first).astype(np.int32)


def _count(tree: Tree, event: Event) -> Ints:
    """Number of such events on the way to each node, `int32[N]`."""
    happens = tree.mover == CHANCE if event == "chances" else tree.mover >= 0
    counts = np.zeros(tree.num_nodes, np.int32)
    for level in levels(tree):
        parent = tree.parent[level]
        counts[level] = counts[parent] + happens[parent]
    return counts


__all__ = ["EVENTS", "Event", "Limit", "NoLimit", "border"]
