"""The beliefs of a player of Geister: the probability that each ghost of the opponent is red.

``about`` is ``ghosts``, and ``red`` the probability of each ghost by its number, None for those off the board.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from envs.agent import Agent
from envs.belief import Beliefs
from envs.game import States
from envs.geister.game import Geister
from envs.geister.rules import ghost_count, layouts


@runtime_checkable
class TracksGhosts(Protocol):
    """An agent of Geister with a belief."""

    def red_probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
        """Probability that each ghost of the opponent is red, by its number, `[n, ghosts]`."""
        ...


def belief(game: Geister, states: States, agent: Agent, arrangements: NDArray[np.floating[Any]] | None) -> Beliefs:
    """See `envs.belief.TellsBelief`; the colours of ghosts off the board are known or do not matter."""
    players = game.to_move(states)
    if arrangements is None and isinstance(agent, TracksGhosts):
        return _red(game, states, agent.red_probabilities(states, np.zeros(1, np.int64))[0], "tracked")
    weights = game.possible(states, players)[0].astype(np.float64) if arrangements is None else arrangements
    bits = (layouts(game.size)[:, None] >> np.arange(ghost_count(game.size))) & 1
    return _red(game, states, weights @ bits / weights.sum(), "uniform" if arrangements is None else "tracked")


def _red(game: Geister, states: States, red: NDArray[np.floating[Any]], kind: str) -> Beliefs:
    squares = states["square"][0, 1 - int(game.to_move(states)[0])]
    listed = [float(p) if squares[ghost] >= 0 else None for ghost, p in enumerate(red[: ghost_count(game.size)])]
    return {"about": "ghosts", "kind": kind, "red": listed}


__all__ = ["TracksGhosts", "belief"]
