"""Exact evaluation of agents on games that are too large for a tree but can be walked over, see `ExactGame`."""

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial

import numpy as np
from numpy.typing import NDArray

from envs.agent import Agent, Mixes, Recalls
from envs.capabilities import ExactGame
from learners.cfr.asked_policy import NoPolicy, asked, for_player
from learners.cfr.exact_evaluation import Evaluation

BLOCK = 1 << 16
"""Number of infosets at which an agent is asked in one call."""

LEAST_REACH = 1e-30
"""Reach probability below which an infoset counts as out of reach, so that sums stay within `float32`."""

Report = Callable[[float], None]


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

    Of an agent that draws one of several policies for a whole game, this is their average by own reach probability
    (Kuhn 1953). Another agent whose policy depends on its earlier moves recalls them first.

    Args:
        game, agent: See `evaluate_agent`.
        player: The player for whom the agent plays.
        report: Called with the number of infosets at which the agent has been asked.

    Raises:
        NoPolicy, ValueError: see `evaluate_agent`.
    """
    seated = for_player(agent, player)
    if isinstance(seated, Mixes) and (parts := seated.parts(player)):
        return _average_by_reach(game, parts, player, report)
    return _asked(game, seated, player, True, report)


def _average_by_reach(
    game: ExactGame, parts: Sequence[tuple[float, Agent]], player: int, report: Report
) -> NDArray[np.float32]:
    """The average of policies, of which one is drawn for a whole game, by own reach probability.

    At an infoset that none of them reaches, which has no effect on values, it is the last one's.
    """
    infosets = game.num_infosets(player)
    summed, reached = np.zeros((infosets, game.spec.num_actions), np.float32), np.zeros(infosets)
    for number, (share, part) in enumerate(parts):
        done = partial(_report_part, report, number * infosets, len(parts))
        policy = _asked(game, copy(part), player, False, done)
        weight = share * game.own_reach(player, policy)
        reached += weight
        for start in range(0, infosets, BLOCK):
            at = slice(start, start + BLOCK)
            summed[at] += weight[at, None] * policy[at]
    for start in range(0, infosets, BLOCK):
        at = slice(start, start + BLOCK)
        known = reached[at, None] > LEAST_REACH
        summed[at] = np.where(known, summed[at] / np.where(known, reached[at, None], 1), policy[at])
    return summed


def _report_part(report: Report, before: int, parts: int, done: float) -> None:
    report((before + done) / parts)


def _asked(game: ExactGame, agent: Agent, player: int, recalls: bool, report: Report) -> NDArray[np.float32]:
    """The policy of an agent that is asked at every infoset, if `recalls` after it has recalled its earlier moves.

    Raises:
        NoPolicy, ValueError: see `evaluate_agent`.
    """
    rng = np.random.default_rng(0)  # probabilities do not depend on it; `recall` may draw what `act` would play by
    out = np.empty((game.num_infosets(player), game.spec.num_actions), np.float32)
    for start in range(0, len(out), BLOCK):
        states = game.infosets(player, start, min(start + BLOCK, len(out)))
        agent.begin(game, len(states), rng)
        if recalls and isinstance(agent, Recalls):
            for rows, earlier, actions in game.decisions_before(states, player):
                agent.recall(earlier, rows, actions, rng)
        out[start : start + len(states)] = asked(game, agent, states)
        report(start + len(states))
    return out


__all__ = ["NoPolicy", "evaluate_agent", "whole_policy"]
