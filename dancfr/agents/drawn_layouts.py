"""An agent of Geister that has never chosen its colours, in games in which players do."""

from copy import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from envs.agent import Agent, Recalls, copy_with
from envs.game import Game, States
from envs.geister import Geister, rules


class DrawnLayouts:
    """Draws the colours for an agent and shows it the rest of the game. Satisfies `envs.agent.Agent`.

    Most agents are trained in games that begin with random colours (``random_setup=true``), and their nets have no
    output for the choice of a layout. Drawn uniformly, the colours are what they have seen in training, so these agents
    can play those who do choose.

    Args:
        agent: The agent, made for the game with random colours.
        game: The game that is played, with ``random_setup=false``.

    Attributes:
        agent: As given.
        game: The game as the agent is shown it.
    """

    def __init__(self, agent: Agent, game: Geister) -> None:
        self.name = agent.name
        self.agent = agent
        self.game = replace(game, random_setup=True)
        self._layouts = len(rules.layouts(game.size))

    def __copy__(self) -> "DrawnLayouts":
        made: DrawnLayouts = copy_with(self, agent=copy(self.agent))
        return made

    @staticmethod
    def begun(states: States) -> NDArray[np.bool_]:
        """Returns in which games both players have chosen their colours, `bool[n]`."""
        found: NDArray[np.bool_] = states["placed"] == 2
        return found

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        self.agent.begin(self.game, batch, rng)

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        begun = self.begun(states)
        if begun.all():
            return self.agent.act(states, games, rng)
        actions = rng.integers(self._layouts, size=len(states))
        if begun.any():
            actions[begun] = self.agent.act(states[begun], games[begun], rng)
        return actions

    def recall(
        self, states: States, games: NDArray[np.int64], actions: NDArray[np.int64], rng: np.random.Generator
    ) -> None:
        """See `envs.agent.Recalls`; the choice of colours is not the agent's."""
        begun = self.begun(states)
        if isinstance(self.agent, Recalls) and begun.any():
            self.agent.recall(states[begun], games[begun], actions[begun], rng)
