"""An agent's beliefs about the hidden state, in the words of a game. They depend on its player's infostate alone."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from envs.agent import Agent
from envs.game import States

Beliefs = dict[str, Any]
"""A belief as JSON.

    about: What it is about; the page of a game may draw it by this, see ``belief`` in `docs/how-to/play.md`.
    kind: ``tracked`` follows from the moves seen, with the agent's own policy as that of the others; ``learned`` also
        follows from them, by a net that has learned from other games; ``uniform`` counts all that the player cannot
        rule out alike.
    hands: In games that add nothing of their own: the probability of each hand of the opponent, by its description.

Games add to it: Geister ``red``, card games ``others``; see their modules ``belief``.
"""

KINDS = ("tracked", "learned", "uniform")
"""The kinds of beliefs."""


class TellsBelief(Protocol):
    """The function `belief` of a game's record."""

    def __call__(
        self, game: Any, states: States, agent: Agent, arrangements: NDArray[np.floating[Any]] | None
    ) -> Beliefs:
        """Returns the beliefs of an agent in a position.

        Args:
            game: The rules.
            states: The position, `[1]`.
            agent: The agent of the player to move, after `begin` and `recall`; it may have a belief of its own.
            arrangements: In an `envs.hidden.HiddenGame`, the probability of each arrangement, `[K]`, up to a factor;
                None where it is not known, or the game is another one.
        """
        ...


__all__ = ["KINDS", "Beliefs", "TellsBelief"]
