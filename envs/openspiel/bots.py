"""Agents as bots and policies of OpenSpiel, and its bots and policies as agents. It imports OpenSpiel.

States are those of the game that an `OpenSpielGame` plays, its ``spiel``, in which simultaneous moves are made in turn.
"""

from collections.abc import Sequence

import numpy as np
import pyspiel
from numpy.typing import NDArray
from open_spiel.python import policy as spiel_policies

from envs.agent import Named, NumberedAgent, Recalls, StatesPolicy
from envs.game import States
from envs.openspiel.game import OpenSpielGame
from envs.openspiel.loading import Spiel

_FIRST = np.zeros(1, np.int64)


class AgentBot(pyspiel.Bot):
    """An agent as a bot of OpenSpiel for one seat, for instance for `pyspiel.evaluate_bots`.

    Args:
        game: The game.
        agent: The agent; bots in other seats need agents of their own (`copy.copy`).
        player: Seat of the bot.
        rng: Source of all random draws.
    """

    def __init__(self, game: OpenSpielGame, agent: NumberedAgent, player: int, rng: np.random.Generator) -> None:
        super().__init__()
        self.game, self.agent, self.player, self._rng = game, agent, player, rng
        self.restart()

    def restart(self) -> None:
        """Starts a game."""
        self.agent.begin(self.game, 1, self._rng)

    def restart_at(self, state: Spiel) -> None:
        """Starts at a state; an agent with memory takes in its moves on the way."""
        self.restart()
        at = self.game.spiel.new_initial_state()
        for choice in state.history():
            if isinstance(self.agent, Recalls) and not at.is_chance_node() and at.current_player() == self.player:
                self.agent.recall(self.game.states_of([at]), _FIRST, np.array([choice]), self._rng)
            at.apply_action(choice)

    def step(self, state: Spiel) -> int:
        """Returns the action that the agent chooses.

        Raises:
            ValueError: another player is to move.
        """
        if state.current_player() != self.player:
            raise ValueError(f"{self.agent.name} plays seat {self.player}, and {state.current_player()} is to move")
        return int(self.agent.act(self.game.states_of([state]), _FIRST, self._rng)[0])

    def provides_policy(self) -> bool:
        """Returns whether the agent knows the probabilities of its actions."""
        return isinstance(self.agent, StatesPolicy)

    def get_policy(self, state: Spiel) -> list[tuple[int, float]]:
        """Returns the legal actions with their probabilities.

        Raises:
            TypeError: the agent does not know them.
        """
        return list(_chances(self.game, self.agent, state).items())

    def step_with_policy(self, state: Spiel) -> tuple[list[tuple[int, float]], int]:
        """Returns the policy, and the action that the agent chooses."""
        return self.get_policy(state), self.step(state)


class AgentPolicy(spiel_policies.Policy):
    """An agent as a policy of OpenSpiel in Python, for instance for `exploitability.nash_conv`.

    An agent whose probabilities depend on its earlier moves is asked as at the start of a game.

    Args:
        game: The game.
        agent: An agent that can say with which probability it plays each action.

    Raises:
        TypeError: it cannot.
    """

    def __init__(self, game: OpenSpielGame, agent: NumberedAgent) -> None:
        if not isinstance(agent, StatesPolicy):
            raise TypeError(f"{agent.name} does not say with which probabilities it plays: use AgentBot")
        super().__init__(game.spiel, list(range(game.spec.num_players)))
        self._adapted, self._agent = game, agent
        agent.begin(game, 1, np.random.default_rng(0))  # draws nothing that `probabilities` depends on

    def action_probabilities(self, state: Spiel, player_id: int | None = None) -> dict[int, float]:
        """Returns the probability of each legal action of the player to move."""
        return _chances(self._adapted, self._agent, state)


class SpielAgent(Named):
    """A bot for each seat, or a policy, of OpenSpiel as an agent. Implements `envs.agent.Agent`.

    Bots are asked at states alone: those that follow a game by `inform_action` do not know its course.

    Args:
        player: A policy of OpenSpiel, in C++ or in Python, or a bot for each seat.
        name: Name of the agent in messages.
    """

    def __init__(self, player: Spiel | Sequence[Spiel], name: str = "openspiel") -> None:
        self.name = name
        self._bots: Sequence[Spiel] | None = player if isinstance(player, Sequence) else None
        self._policy: Spiel = None if isinstance(player, Sequence) else player
        self._game: OpenSpielGame

    def begin(self, game: OpenSpielGame, batch: int, rng: np.random.Generator) -> None:
        """See `Agent.begin`."""
        self._game = game
        for bot in self._bots or ():
            bot.restart()

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """See `Agent.act`; bots draw from generators of their own."""
        lives = self._game.spiel_states(states)
        if self._bots is not None:
            return np.array([self._bots[live.current_player()].step(live.clone()) for live in lives], np.int64)
        bounds = np.cumsum(self.probabilities(states, games), axis=1)
        return np.asarray((bounds <= rng.random((len(states), 1)) * bounds[:, -1:]).sum(axis=1))

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float64]:
        """See `envs.agent.StatesPolicy`.

        Raises:
            TypeError: the agent consists of bots.
        """
        if self._policy is None:
            raise TypeError(f"{self.name} consists of bots, whose probabilities are not known")
        table = np.zeros((len(states), self._game.spec.num_actions))
        for row, live in zip(table, self._game.spiel_states(states), strict=True):
            for action, chance in self._policy.action_probabilities(live).items():
                row[action] = chance
        return table


def _chances(game: OpenSpielGame, agent: NumberedAgent, state: Spiel) -> dict[int, float]:
    if not isinstance(agent, StatesPolicy):
        raise TypeError(f"{agent.name} does not say with which probabilities it plays")
    chances = agent.probabilities(game.states_of([state]), _FIRST)[0]
    return {action: float(chances[action]) for action in state.legal_actions()}


__all__ = ["AgentBot", "AgentPolicy", "SpielAgent"]
