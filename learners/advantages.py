"""Generalised advantage estimates of the decisions of many games (Schulman et al. 2016, eq. 11 to 16)."""

import numpy as np

from envs.compiled import fast

_ZERO = np.float32(0)


@fast
def estimate_advantages(game, player, value, returns, discount, trace, advantage):
    """Advantages along each player's own decisions, from the last to the first.

    A player's next state is that of the next own decision, at most one a ply; after the last one comes the return.
    Rewards fall at the end of a game only:

        delta_i = gamma * v_{i+1} - v_i, and R - v_n at the last decision
        advantage_i = delta_i + gamma * lambda * advantage_{i+1}

    Args:
        game: Number of the game of each decision, in the order of play, `int32[n]`.
        player: Who decides, `int8[n]`.
        value: v, of the infostate to its player, `float32[n]`.
        returns: R, `float32[games, players]`.
        discount: Gamma.
        trace: Lambda.
        advantage: Result, `float32[n]`.
    """
    ahead_value = returns.copy()
    ahead_advantage = np.zeros(returns.shape, np.float32)
    last = np.ones(returns.shape, np.bool_)
    for i in range(len(game) - 1, -1, -1):
        g, p = game[i], player[i]
        gamma = np.float32(1) if last[g, p] else np.float32(discount)
        delta = gamma * ahead_value[g, p] - value[i]
        advantage[i] = delta + gamma * np.float32(trace) * ahead_advantage[g, p]
        ahead_value[g, p] = value[i]
        ahead_advantage[g, p] = advantage[i]
        last[g, p] = False
