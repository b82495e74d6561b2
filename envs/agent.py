"""The `Agent` seam: who chooses actions. Bots, network policies, average policies and people all are one."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from envs.game import Game, RaggedGame, States


class Agent(Protocol):
    """Plays any number of games of a batch in lock step.

    `act` gets whole states so that agents need no copy of the rules; an agent may look only at what `game.observe`
    would show the player to move, which the tests hold for the bots.
    """

    name: str

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        """A new batch of `batch` games starts: forget whatever was remembered of the last one."""
        ...

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Actions for n games in which this agent is to move.

        Args:
            states: The states of those games, `[n]` records.
            games: Their places in the batch, `int64[n]`, distinct: for agents that remember something a game.
            rng: Source of every random draw.

        Returns:
            A legal action for each, `int64[n]`.
        """
        ...


class RaggedAgent(Protocol):
    """The same for games with ragged actions: `act` returns action records of the game, `[n]`."""

    name: str

    def begin(self, game: RaggedGame, batch: int, rng: np.random.Generator) -> None: ...

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]: ...
