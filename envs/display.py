"""The `Display` interface: a game as a player may see it, as JSON. Pages draw it; nothing here is HTML."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from envs.game import States

Plain = dict[str, Any]
"""A JSON object."""


class Display(Protocol):
    """Writes down a game for a viewer: a player, or None for one who may see everything.

    What a player gets depends on nothing that the rules hide from this player, as long as the game runs.
    """

    def scene(self, state: np.void, viewer: int | None) -> Plain:
        """The game as the viewer sees it."""
        ...

    def choices(self, states: States) -> list[Plain]:
        """The legal actions of the player to move in one game, `[1]` records, in the order of `Position.actions`.

        Each has a ``label``, English text, and what else the page needs.
        """
        ...

    def event(self, before: np.void, action: Any, after: np.void, viewer: int | None) -> Plain:
        """The event of a move for the viewer: a ``label``, and everything else that the page needs."""
        ...


@runtime_checkable
class Terse(Protocol):
    """A display of a game with so many choices that their descriptions would make a long message."""

    def offer(self, states: States) -> list[Any]:
        """The choices in the order of `Display.choices`, in as few characters as the page can do with."""
        ...


@runtime_checkable
class Secretive(Protocol):
    """A display of a game in which a player is not even told of every decision of the others."""

    def told(self, before: np.void, action: Any, after: np.void, player: int) -> bool:
        """Whether a player is told, before the next own decision, that this one was made."""
        ...


def offered(display: Display, states: States) -> list[Any]:
    """The choices of the player to move as a page gets them."""
    return display.offer(states) if isinstance(display, Terse) else display.choices(states)
