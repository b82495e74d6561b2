"""The `HiddenGame` interface: games of which a player cannot see a part that can be exchanged for another.

A player of such a game sees everything but one of `K` *arrangements*, such as the colours of the opponent's ghosts. The
arrangements that agree with what the player sees are different worlds that the player may be in. A search at play time
draws worlds, and a belief is a probability of each.
"""

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from envs.game import Game, States


@runtime_checkable
class HiddenGame(Game, Protocol):
    """A two-player game of constant sum without chance after the start whose hidden arrangements can be listed."""

    def possible(self, states: States, players: NDArray[np.int8]) -> NDArray[np.bool_]:
        """Returns which arrangements agree with the infostate of `players[b]` in game b, `bool[B, K]`; one at least.

        A result depends on nothing that `players[b]` cannot see in game b or has not seen before.
        """
        ...

    def arrange(self, states: States, players: NDArray[np.int8], chosen: NDArray[np.int64]) -> None:
        """Replaces the state hidden from `players[b]` in game b by the arrangement `chosen[b]`, `int64[B]`, in place.

        Afterwards nothing in the states depends on what was hidden. The chosen arrangements have to be possible.
        """
        ...
