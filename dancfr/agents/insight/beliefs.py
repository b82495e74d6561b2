"""An agent's beliefs about the hidden state, in the words of the game (`envs.record.GameRecord.belief`)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.agents.insight.self_play import SelfPlay
from dancfr.games.registry import record_of
from envs.agent import Agent
from envs.belief import Beliefs
from envs.game import GameBase, States
from envs.hidden import HiddenGame
from learners.search.belief import Belief
from learners.search.evaluator import Evaluator
from learners.search.settings import RolloutSettings

History = Sequence[tuple[States, Any]]
"""Earlier decisions of the player, in the order of play: the state, `[1]`, and the action."""


def belief_of(
    agent: Agent,
    game: GameBase,
    states: States,
    history: History = (),
    arrangements: NDArray[np.floating[Any]] | None = None,
) -> Beliefs | None:
    """Returns the belief of an agent about the state hidden from the player to move; None if the game tells none.

    Args:
        agent: The agent, after `begin` with one game and after `recall`.
        game: The game.
        states: The position, `[1]`.
        history: Earlier decisions of the player.
        arrangements: The belief that the agent has searched with, if any; see `envs.belief.TellsBelief`.
    """
    record = record_of(game)
    if record is None or record.belief is None:
        return None
    if arrangements is None and isinstance(game, HiddenGame) and isinstance(agent, Evaluator):
        arrangements = _tracked(agent, game, states, history)
    return record.belief(game, states, agent, arrangements)


def hands_belief(found: SelfPlay | None) -> Beliefs | None:
    """Returns the belief about the opponent's hand in a game with a tree."""
    if found is None or found.hands is None:
        return None
    return {"about": "hands", "kind": "tracked" if found.reached else "uniform", "hands": found.hands}


def _tracked(agent: Evaluator, game: HiddenGame, states: States, history: History) -> NDArray[np.float64]:
    """The probability of each arrangement if the opponent plays the agent's policy, `float64[K]`."""
    zero = np.zeros(1, np.int64)
    belief = Belief(game, agent, 1, RolloutSettings(search=1).doubt)
    for before, action in history:
        belief.update(before, game.to_move(before), zero)
        belief.remember(before, zero, np.full(1, action))
    return np.asarray(belief.update(states, game.to_move(states), zero)[0])


__all__ = ["History", "belief_of", "hands_belief"]
