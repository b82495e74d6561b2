"""Roll-outs: games that the agent plays against itself from an action on, and the value where they end.

`M` roll-outs in lock step.
"""

import numpy as np
from numpy.typing import NDArray

from envs.game import Game, States
from learners.regret_matching import apply_threshold, draw_actions
from learners.search.evaluator import Evaluator


def roll_out(
    game: Game,
    agent: Evaluator,
    states: States,
    players: NDArray[np.int8],
    actions: NDArray[np.int64],
    draws: NDArray[np.float32],
    trace: float,
) -> NDArray[np.float32]:
    """Plays an action in each state, continues with the agent's policy, and returns the return of each roll-out.

    A roll-out that has not ended after D plies has the value of the player who is to move then, with its sign changed
    if that is the opponent, and with the agent's `offset`. With `trace` below 1 the return is the lambda-return of the
    values at all depths: the value after k plies has weight (1 - trace) * trace^k, and the rest of the weight is that
    of the end.

    Args:
        game: A two-player game whose returns have a constant sum, without chance after the start.
        agent: Plays both sides.
        states: `[M]` records, in which the roll-outs are played.
        players: Whose return counts, `int8[M]`.
        actions: The first action of each roll-out, `int64[M]`.
        draws: Uniform draws from [0, 1) for the actions of each ply, `float32[D, M]`.
        trace: Lambda, from 0 to 1.

    Returns:
        The returns, `float32[M]`.
    """
    returns = np.zeros(len(states), np.float32)
    rows = np.arange(len(states))  # the roll-outs that still run
    limit, weight = game.spec.max_return - abs(agent.offset), 1.0
    chance = np.random.default_rng(0)  # `Game.step` asks for a generator, but there is no chance
    for ply in range(len(draws) + 1):
        game.step(states, actions, chance)
        over = game.finished(states)
        if over.any():
            ended = rows[over]
            returns[ended] += np.float32(weight) * game.returns(states[over])[np.arange(len(ended)), players[ended]]
            states, rows = states[~over], rows[~over]
            if not len(rows):
                break
        movers = game.to_move(states)
        legal = game.legal(states)
        policy, values = agent.evaluate(game.observe(states, movers), legal, movers)
        own = agent.offset + np.clip(np.where(movers == players[rows], values, -values), -limit, limit)
        if ply == len(draws):
            returns[rows] += np.float32(weight) * own
            break
        if trace < 1:
            returns[rows] += np.float32(weight * (1 - trace)) * own
            weight *= trace
        actions, _ = draw_actions(apply_threshold(policy, agent.threshold), legal, draws[ply, rows])
    return returns
