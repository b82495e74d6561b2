"""The agent that searches before it moves."""

from copy import copy
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.agent import Named, copy_with
from envs.game import Game, GameBase, States
from envs.hidden import HiddenGame
from envs.insight import Insight, limited, normalised, with_gaps
from learners.search.belief import Belief
from learners.search.evaluator import Evaluator
from learners.search.search import Candidates, Roots, search
from learners.search.settings import RolloutSettings

ROWS = 4096
"""Roll-outs in lock step, about; of more games than that, some are searched after the others."""


class Searched(NamedTuple):
    """The findings of a search in n decisions with C candidates each.

    Attributes:
        policy: The agent's policy before the search, `float32[n, A]`.
        value: The value of each infostate to the agent before the search, `float32[n]`; see `Evaluator.evaluate`.
        belief: Probability of each arrangement of what is hidden, `float64[n, K]`.
        actions: The candidates, `int64[n, C]`.
        means: Mean return of the roll-outs of each, `float64[n, C]`; NaN where there was none.
        tries: Number of these roll-outs, `int64[n, C]`.
        chosen: The actions to play, `int64[n]`.
    """

    policy: NDArray[np.float32]
    value: NDArray[np.float32]
    belief: NDArray[np.float64]
    actions: NDArray[np.int64]
    means: NDArray[np.float64]
    tries: NDArray[np.int64]
    chosen: NDArray[np.int64]


class SearchAgent(Named):
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

    def __init__(self, agent: Evaluator, game: GameBase, settings: RolloutSettings) -> None:
        self.name = agent.name
        self.agent, self.settings = agent, settings
        self._check(game)
        self._game: HiddenGame | None = None

    def __copy__(self) -> "SearchAgent":
        return copy_with(self, agent=copy(self.agent))

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
        actions = self.search(states, games, rng).chosen
        self._belief.remember(states, games, actions)
        return actions

    def recall(
        self, states: States, games: NDArray[np.int64], actions: NDArray[np.int64], rng: np.random.Generator
    ) -> None:
        """See `envs.agent.Recalls`."""
        self._belief.update(states, self._begun(self._game).to_move(states), games)
        self._belief.remember(states, games, actions)

    def search(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> Searched:
        """Decides like `act`, and returns the findings of the search.

        To be called once for each decision, and followed by the move: the belief takes in what the opponent has done.
        """
        started, game, settings = perf_counter(), self._begun(self._game), self.settings
        players, legal = game.to_move(states), game.legal(states)
        policy, value = self.agent.evaluate(game.observe(states, players), legal, players)
        belief = self._belief.update(states, players, games)
        seeds = rng.integers(2**63, size=len(states))
        generators = [np.random.Generator(np.random.Philox(key=int(seed))) for seed in seeds]
        roots = Roots(states, players, policy, belief, generators)
        found: list[Candidates] = []
        step = max(1, ROWS // (settings.worlds * settings.candidates))
        for first in range(0, len(states), step):
            part = slice(first, first + step)
            until = started + (settings.ms or 0.0) / 1000 * min(first + step, len(states))
            found.append(search(game, self.agent, settings, roots.part(part), until))
        means, tries = (np.concatenate(each) for each in zip(*(one.means() for one in found), strict=True))
        actions, chosen = (np.concatenate(each) for each in ([c.actions for c in found], [c.best() for c in found]))
        return Searched(policy, value, belief, actions, means, tries, chosen)

    def think(self, states: States, rng: np.random.Generator) -> Insight:
        """See `envs.insight.Thinks`."""
        game = self._begun(self._game)
        found, legal = self.search(states, np.zeros(1, np.int64), rng), np.flatnonzero(game.legal(states)[0])
        values, tries = np.full(game.spec.num_actions, np.nan), np.zeros(game.spec.num_actions, np.int64)
        values[found.actions[0]], tries[found.actions[0]] = found.means[0], found.tries[0]
        chosen = int(found.chosen[0])
        searched = tries[chosen] > 0
        return Insight(
            policy=[float(action == chosen) for action in legal],
            source="search",
            prior=normalised(found.policy[0, legal]),
            values=with_gaps(values[legal]),
            values_are="returns",
            tries=tries[legal].tolist(),
            value=float(values[chosen]) if searched else limited(float(found.value[0]) + self.agent.offset, game),
            value_from="search" if searched else "net",
            arrangements=found.belief[0],
        )

    def _check(self, game: GameBase) -> HiddenGame:
        if not isinstance(game, HiddenGame):
            raise ValueError(f"search has to draw the hidden state, which {game.spec.name} cannot do")
        return game
