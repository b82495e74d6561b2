"""The agent that searches before it moves."""

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from envs.game import Game, States
from envs.hidden import HiddenGame
from learners.search.belief import Belief
from learners.search.evaluator import Evaluator
from learners.search.search import Roots, search
from learners.search.settings import RolloutSettings

ROWS = 4096
"""Roll-outs in lock step, about; of more games than that, some are searched after the others."""


class SearchAgent:
    """Improves an agent's policy by roll-outs before each move. Satisfies `envs.agent.Agent`.

    It uses only what its player can observe: worlds are drawn from a belief, which follows from the observations. Each
    decision draws one number from `rng`, from which all its other draws follow, so a batch of games is played like its
    games one by one.

    Args:
        agent: The policy and values.
        game: The rules of the game that it is to play.
        settings: How to search.

    Attributes:
        agent, settings: As given.

    Raises:
        ValueError: the game's hidden arrangements cannot be exchanged.
    """

    def __init__(self, agent: Evaluator, game: Game, settings: RolloutSettings) -> None:
        self.name = agent.name
        self.agent, self.settings = agent, settings
        self._check(game)
        self._game: HiddenGame | None = None

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        """See `Agent.begin`.

        Raises:
            ValueError: the game's hidden arrangements cannot be exchanged.
        """
        self._game = self._check(game)
        self.agent.begin(game, batch, rng)
        self._belief = Belief(self._game, self.agent, batch, self.settings.doubt)

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """See `Agent.act`."""
        started, game, settings = perf_counter(), self._game, self.settings
        if game is None:
            raise RuntimeError(f"{self.name}: call begin(game, batch, rng) before act")
        players, legal = game.to_move(states), game.legal(states)
        policy, _ = self.agent.evaluate(game.observe(states, players), legal, players)
        belief = self._belief.update(states, players, games)
        seeds = rng.integers(2**63, size=len(states))
        generators = [np.random.Generator(np.random.Philox(key=int(seed))) for seed in seeds]
        roots = Roots(states, players, policy, belief, generators)
        actions = np.empty(len(states), np.int64)
        step = max(1, ROWS // (settings.worlds * settings.candidates))
        for first in range(0, len(states), step):
            part = slice(first, first + step)
            until = started + (settings.ms or 0.0) / 1000 * min(first + step, len(states))
            actions[part] = search(game, self.agent, settings, roots.part(part), until)
        self._belief.remember(states, games, actions)
        return actions

    def _check(self, game: Game) -> HiddenGame:
        if not isinstance(game, HiddenGame):
            raise ValueError(f"search has to draw what is hidden, which {game.spec.name} cannot do")
        return game
