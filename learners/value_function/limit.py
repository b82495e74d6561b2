"""Where a game is cut into a trunk and a bottom: the public states in which the bottom begins.

`N` nodes of the tree, `B` of them at the limit. A game is cut after so many actions of its players, or after so many
moves of chance, whatever the path: both can be counted in any game. The limit must lie along public states, or what
the players know in common would not say on which side of it they are.
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
    """The game cannot be cut there."""


@dataclass(frozen=True)
class Limit:
    """A depth limit.

    Attributes:
        event: What is counted from the root: the players' ``actions``, or the moves of chance, ``chances``.
        count: The bottom begins right after so many of them.
    """

    event: Event
    count: int

    @classmethod
    def parse(cls, text: str) -> "Limit":
        """From ``actions:4`` or ``chances:2``.

        Raises:
            ValueError: it is neither.
        """
        event, _, number = text.partition(":")
        if event not in EVENTS or not number.isascii() or not number.isdigit() or not 1 <= int(number) <= 1000:
            raise ValueError(f"a depth limit is actions:N or chances:N with N from 1 to 1000, not {text!r}")
        return cls("actions" if event == "actions" else "chances", int(number))

    def __str__(self) -> str:
        return f"{self.event}:{self.count}"


def border(tree: Tree, limit: Limit) -> Ints:
    """The nodes at which the bottom begins, `int32[B]`. Games that end there or above belong to the trunk.

    Raises:
        NoLimit: the game says nothing about public states, no play goes that far, or some public state has nodes on
            both sides.
    """
    if tree.public is None or tree.history is None:
        raise NoLimit(f"{tree.name} does not say what is public: a depth limit lies along public states")
    counts = _count(tree, limit.event)
    beyond = counts >= limit.count
    beyond[0] = False
    first = beyond & ~beyond[tree.parent] & (tree.mover != OVER)
    if not first.any():
        raise NoLimit(f"no play of {tree.name} goes on after {limit.count} {limit.event}: choose a lower depth limit")
    above = ~beyond & (tree.mover != OVER)
    both = np.intersect1d(tree.public[beyond & (tree.mover != OVER)], tree.public[above])
    if len(both):
        raise NoLimit(f"{tree.name}: players who see only what is public cannot tell whether {limit} is passed")
    return np.flatnonzero(first).astype(np.int32)


def _count(tree: Tree, event: Event) -> Ints:
    """How many such events lead to each node."""
    happens = tree.mover == CHANCE if event == "chances" else tree.mover >= 0
    counts = np.zeros(tree.num_nodes, np.int32)
    for level in levels(tree):
        parent = tree.parent[level]
        counts[level] = counts[parent] + happens[parent]
    return counts


__all__ = ["EVENTS", "Event", "Limit", "NoLimit", "border"]
