"""An agent that plays another variant of a game than it was made for, by the adapter of the game."""

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import UsageError
from dancfr.games.registry import record_of
from envs.adapter import Adapter
from envs.agent import Agent, Named, Recalls, Widens, copy_with
from envs.game import Game, GameBase, States


class AdaptedAgent(Named):
    """Shows an agent a game as the variant that it knows. Satisfies `envs.agent.Agent`.

    Args:
        agent: The agent, made for `adapter.game`.
        adapter: How it is shown the game.
        game: The game that is played.

    Attributes:
        agent, adapter: As given.
    """

    def __init__(self, agent: Agent, adapter: Adapter, game: Game) -> None:
        self.name = agent.name
        self.agent, self.adapter, self._played = agent, adapter, game

    def __copy__(self) -> "AdaptedAgent":
        return copy_with(self, agent=copy(self.agent))

    def with_inputs(self) -> Agent:
        """See `envs.agent.Adapted`."""
        if not self.adapter.extends:
            return self
        return self.agent.widened(self._played) if isinstance(self.agent, Widens) else self.agent

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        self.agent.begin(self.adapter.game, batch, rng)

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        asked = self.adapter.asks(states)
        if asked.all():
            return self.agent.act(self.adapter.shown(states), games, rng)
        actions = np.empty(len(states), np.int64)
        actions[~asked] = self.adapter.choose(states[~asked], rng)
        if asked.any():
            actions[asked] = self.agent.act(self.adapter.shown(states[asked]), games[asked], rng)
        return actions

    def recall(
        self, states: States, games: NDArray[np.int64], actions: NDArray[np.int64], rng: np.random.Generator
    ) -> None:
        """See `envs.agent.Recalls`; an agent without memory recalls nothing, and none the adapter's draws."""
        asked = self.adapter.asks(states)
        if isinstance(self.agent, Recalls) and asked.any():
            self.agent.recall(self.adapter.shown(states[asked]), games[asked], actions[asked], rng)


def adapter_of(name: str, game: GameBase, made_for: Mapping[str, Any]) -> Adapter | None:
    """Returns the adapter with which an agent plays another variant of the game than its own; None if it needs none.

    Args:
        name: Name of the agent.
        game: The game that is played.
        made_for: Options of the game that the agent was made for.

    Raises:
        UsageError: the agent cannot play the game.
    """
    record = record_of(game)
    if record is None or record.adapter is None:
        return None
    try:
        return record.adapter(game, made_for)
    except ValueError as error:
        raise UsageError(f"{name} {error}") from None


__all__ = ["AdaptedAgent", "adapter_of"]
