"""The constant that the returns of two players add up to, which the rules of a game do not name."""

import numpy as np

from envs.game import ROUNDING, Game
from envs.players import RandomAgent


def half_of_sum(game: Game, games: int = 8) -> float:
    """Returns half of the sum of the returns of two players, as found in a few random games, always the same ones.

    It is 0 where the sums of these games differ, and where the game has more players or declares no constant sum.
    """
    if game.spec.beyond_zero_sum:
        return 0.0
    rng, agent = np.random.default_rng(0), RandomAgent()
    states, sums = game.reset(games, rng), np.zeros(0)
    agent.begin(game, games, rng)
    while True:
        over = game.finished(states)
        if over.any():
            sums = np.append(sums, game.returns(states[over]).sum(axis=1, dtype=np.float64))
            states = states[~over]
            if not len(states):
                break
        game.step(states, agent.act(states, np.arange(len(states)), rng), rng)
    rounding = ROUNDING * game.spec.max_return
    constant = np.ptp(sums) <= rounding < abs(sums[0])  # not where a return is not a number
    return float(sums.mean()) / 2 if constant else 0.0


__all__ = ["half_of_sum"]
