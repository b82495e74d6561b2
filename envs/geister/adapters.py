"""Agents of Geister in games with other options: players who choose the colours, and states with a history."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.adapter import Adapter
from envs.game import States
from envs.geister import history, rules
from envs.geister.game import Geister


class DrawnLayouts:
    """Draws the colours for an agent that has never chosen them, and shows it the rest of the game.

    Most agents are trained in games that begin with random colours (``random_setup=true``), and their nets have no
    output for the choice of a layout. Drawn uniformly, the colours are what they have seen in training, so these agents
    can play those who do choose.

    Args:
        game: The game that is played, with ``random_setup=false``.
    """

    extends = False

    def __init__(self, game: Geister) -> None:
        self.game = replace(game, random_setup=True)
        self._layouts = len(rules.layouts(game.size))

    def asks(self, states: States) -> NDArray[np.bool_]:
        """See `Adapter.asks`: in games in which both players have chosen their colours."""
        found: NDArray[np.bool_] = states["placed"] == 2
        return found

    def choose(self, states: States, rng: np.random.Generator) -> NDArray[np.int64]:
        return rng.integers(self._layouts, size=len(states))

    def shown(self, states: States) -> States:
        return states


class WithoutHistory:
    """Shows an agent a game with `history` as one without it, so that each agent observes the game of its training.

    Args:
        game: The game that is played.
    """

    extends = True

    def __init__(self, game: Geister) -> None:
        self.game = replace(game, history=False)

    def asks(self, states: States) -> NDArray[np.bool_]:
        return np.ones(len(states), np.bool_)

    def choose(self, states: States, rng: np.random.Generator) -> NDArray[np.int64]:
        raise NotImplementedError("the agent is asked in every game")

    def shown(self, states: States) -> States:
        return history.without(states)


def adapter(game: Geister, made_for: Mapping[str, Any]) -> Adapter | None:
    """See `envs.adapter.MakesAdapter`."""
    if not game.random_setup and made_for.get("random_setup", True):
        return DrawnLayouts(game)
    observes = bool(made_for.get("history"))
    if observes and not game.history:
        raise ValueError("observes the history of ghosts, which the game at hand lacks: use history=true")
    return WithoutHistory(game) if game.history and not observes else None


__all__ = ["DrawnLayouts", "WithoutHistory", "adapter"]
