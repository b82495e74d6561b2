"""Exact evaluation of agents on games that are too large for a tree but can be walked over, see `ExactGame`."""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.agent import Recalls, Seated, StatesPolicy
from envs.capabilities import TOLERANCE, ExactGame
from learners.cfr.exact_evaluation import Evaluation

BLOCK = 1 << 16
"""Number of infosets at which an agent is asked in one call."""

Report = Callable[[float], None]


class NoPolicy(ValueError):
    """An agent cannot say with which probabilities it plays."""


def evaluate_agent(game: ExactGame, agent: object, threads: int, report: Report = lambda done: None) -> Evaluation:
    """Evaluates an agent that plays both sides.

    Args:
        game: The game.
        agent: An `envs.agent.StatesPolicy`, or an `envs.agent.Seated` that consists of such agents.
        threads: Number of threads of the walk; the agent is asked by one.
        report: Called with the fraction of infosets at which the agent has been asked.

    Raises:
        NoPolicy: the agent is not a `StatesPolicy`.
        ValueError: the game is too large for an exact evaluation, or the agent's policy is not a distribution.
    """
    sizes = [game.num_infosets(player) for player in (0, 1)]
    first_policy = whole_policy(game, agent, 0, lambda done: report(done / sum(sizes)))
    second_policy = whole_policy(game, agent, 1, lambda done: report((sizes[0] + done) / sum(sizes)))
    value, first, second = game.evaluate((first_policy, second_policy), threads)
    return Evaluation(value, (first, second), game.spec.max_return)


def whole_policy(
    game: ExactGame, agent: object, player: int, report: Report = lambda done: None
) -> NDArray[np.float32]:
    """Returns an agent's policy at every infoset of a player, `float32[I, A]`.

    An agent whose policy depends on its earlier moves recalls them first.

    Args:
        game, agent: See `evaluate_agent`.
        player: The player for whom the agent plays.
        report: Called with the number of infosets at which the agent has been asked.

    Raises:
        NoPolicy, ValueError: see `evaluate_agent`.
    """
    seated: Any = copy(agent.at_seat(player) if isinstance(agent, Seated) else agent)
    recalls, speaks = isinstance(seated, Recalls), isinstance(seated, StatesPolicy)
    if not speaks:
        raise NoPolicy("it cannot say with which probability it plays each action")
    rng = np.random.default_rng(0)  # probabilities do not depend on it; `recall` may draw what `act` would play by
    out = np.empty((game.num_infosets(player), game.spec.num_actions), np.float32)
    for start in range(0, len(out), BLOCK):
        states = game.infosets(player, start, min(start + BLOCK, len(out)))
        seated.begin(game, len(states), rng)
        if recalls:
            for rows, earlier, actions in game.decisions_before(states, player):
                seated.recall(earlier, rows, actions, rng)
        found = seated.probabilities(states, np.arange(len(states)))
        total = np.where(game.legal(states), found, 0).sum(axis=1)
        if not (sound := np.abs(total - 1) <= TOLERANCE).all():
            raise ValueError(f"its probabilities of the legal actions sum to {total[~sound][0]:g} instead of 1")
        out[start : start + len(states)] = found
        report(start + len(states))
    return out


__all__ = ["NoPolicy", "evaluate_agent", "whole_policy"]
