"""An agent of Geister that knows no history of ghosts, in games whose states have it."""

from copy import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from envs.agent import Agent, Recalls, copy_with
from envs.game import Game, States
from envs.geister import Geister, history
from learners.policy_gradient.agent import PolicyAgent
from learners.policy_gradient.mixture import PolicyMixture

_FIRST = "hidden0.w"
"""Name of the weights of the inputs, `[inputs, width]`; those of the history follow the others."""


class WithoutHistory:
    """Shows an agent a game with `history` as one without it. Satisfies `envs.agent.Agent`.

    So agents trained with and without the option can play each other: each observes what it was trained on.

    Args:
        agent: The agent.
        game: The game that is played.

    Attributes:
        agent: As given.
        game: The game as the agent is shown it.
    """

    def __init__(self, agent: Agent, game: Geister) -> None:
        self.name = agent.name
        self.agent = agent
        self.game, self._played = replace(game, history=False), game

    def __copy__(self) -> "WithoutHistory":
        made: WithoutHistory = copy_with(self, agent=copy(self.agent))
        return made

    def with_inputs(self) -> Agent:
        """The same policy as nets that read the history, too, with weights of 0; the agent itself if it has no nets
        of one player's view and of flat inputs. So a response can begin with it, and learn what the history is good
        for."""
        agent = self.agent.guide if isinstance(self.agent, PolicyMixture) else self.agent
        if not isinstance(agent, PolicyAgent) or agent.network.trunk != "flat":
            return agent
        wider = self._played.spec.shapes["flat"][0]
        nets = [net | {_FIRST: _widened(net[_FIRST], wider)} for net in agent.weights]
        return PolicyAgent(self._played, agent.network, nets, agent.name, agent.threshold)

    @staticmethod
    def shown(states: States) -> States:
        """Returns states as the agent is shown them."""
        return history.without(states)

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        self.agent.begin(self.game, batch, rng)

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return self.agent.act(self.shown(states), games, rng)

    def recall(
        self, states: States, games: NDArray[np.int64], actions: NDArray[np.int64], rng: np.random.Generator
    ) -> None:
        """See `envs.agent.Recalls`; an agent without memory recalls nothing."""
        if isinstance(self.agent, Recalls):
            self.agent.recall(self.shown(states), games, actions, rng)


def _widened(matrix: NDArray[np.float32], inputs: int) -> NDArray[np.float32]:
    """A matrix with rows of zeros for further inputs."""
    return np.concatenate([matrix, np.zeros((inputs - len(matrix), matrix.shape[1]), np.float32)])
