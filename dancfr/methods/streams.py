"""Names of the streams of random numbers that a run draws from beside those of its games.

A stream is a `numpy.random.SeedSequence` of the run's seed, the iteration, the player where players are apart, and the
last word below. Games use the number of their chunk as the last word, which is smaller than all of these.
"""

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """Last word of a seed: what the random numbers decide."""

    FIT = 2**31
    """Rows of the minibatches of a Q, baseline or value net."""
    ADVANTAGE_FIT = 2**31 + 1
    """Rows of the minibatches of an advantage net."""
    EVALUATION = 2**31 + 2
    """Games of an evaluation."""
    OPPONENTS = 2**31 + 3
    """Which former nets opponents play by."""
    AVERAGE_FIT = 2**31 + 4
    """Rows of the minibatches of a net of the average policy."""
    NET = 2**31 + 5
    """Initial weights of a net."""


def net_seed(seed: int, player: int, kind: int) -> int:
    """Seed of the initial weights of a net, below 2**32: independent for every run, player and kind of net.

    Args:
        seed: Of the run.
        player: Whose net it is, from 0.
        kind: Number of the kind of net within the method, from 0.
    """
    return int(np.random.SeedSequence((seed, player, kind, Stream.NET)).generate_state(1)[0])
