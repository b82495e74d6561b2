"""An agent of Geister that knows no history of ghosts, in games whose states have it."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from envs.agent import Agent
from envs.game import Game, States
from envs.geister import Geister, history


class WithoutHistory:
    """Shows an agent a game with `history` as one without it. Satisfies `envs.agent.Agent`.

    So agents trained with and without the option can play each other: each observes what it was trained on.

    Args:
        agent: The agent.
        game: The game that is played.
    """

    def __init__(self, agent: Agent, game: Geister) -> None:
        self.name = agent.name
        self._agent = agent
        self._game = replace(game, history=False)

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        self._agent.begin(self._game, batch, rng)

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return self._agent.act(history.without(states), games, rng)
