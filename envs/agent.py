"""The `Agent` interface: chooses actions. Bots, network policies, average policies and people implement it."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from envs.game import Game, RaggedGame, States


class Agent(Protocol):
    """Plays games of a batch in lock step.

    `act` receives whole states so that agents need no copy of the rules. An agent may use only what `game.observe`
    shows to the player to move; the tests verify this for the bots.
    """

    name: str

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        """Starts a new batch of `batch` games; an agent with memory forgets the previous batch here."""
        ...

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Chooses actions for n games in which this agent is to move.

        Args:
            states: States of those games, `[n]` records.
            games: Indices of those games in the batch, `int64[n]`, distinct; for agents with a memory per game.
            rng: Source of all random draws.

        Returns:
            A legal action for each game, `int64[n]`.
        """
        ...


class RaggedAgent(Protocol):
    """An `Agent` for a `RaggedGame`: `act` returns action records of the game, `[n]`."""

    name: str

    def begin(self, game: RaggedGame, batch: int, rng: np.random.Generator) -> None: ...

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]: ...
