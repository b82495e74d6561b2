"""The `Adapter` interface: how an agent that was made for one variant of a game plays another."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from envs.game import Game, States


class Adapter(Protocol):
    """Shows an agent the states of one variant of a game as those of another."""

    @property
    def game(self) -> Game:
        """The variant that the agent is shown."""
        ...

    @property
    def extends(self) -> bool:
        """Whether the flat inputs of the variant that is played begin with those of `game`: nets of the agent can be
        given the further inputs."""
        ...

    def asks(self, states: States) -> NDArray[np.bool_]:
        """Returns in which games the agent is asked, `bool[n]`. In the others `choose` draws."""
        ...

    def choose(self, states: States, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draws an action in games in which the agent is not asked, `int64[n]`, uniformly from the legal ones."""
        ...

    def shown(self, states: States) -> States:
        """Returns states as the agent is shown them."""
        ...


class MakesAdapter(Protocol):
    """The function `adapter` of a game's record."""

    def __call__(self, game: Any, made_for: Mapping[str, Any]) -> Adapter | None:
        """Returns the adapter that an agent needs; None if it plays the game as it is.

        If the agent needs several, this returns one, and is asked again for the `Adapter.game` of that one.

        Args:
            game: The game that is played.
            made_for: Options of the game that the agent was made for; empty if they are unknown.

        Raises:
            ValueError: the agent cannot play the game. The message continues a line that begins with its name.
        """
        ...


__all__ = ["Adapter", "MakesAdapter"]
