"""Names of a run's streams of random numbers, except for those of its games.

The entropy of a stream is the run's seed, the iteration, the player if each player has a stream, and one of the words
below. The last word of games is the number of their chunk, which is smaller than all of these.
"""

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """Last word of a seed, by the purpose of the random numbers."""

    FIT = 2**31
    """Rows of the minibatches of a Q, baseline or value net."""
    ADVANTAGE_FIT = 2**31 + 1
    """Rows of the minibatches of an advantage net."""
    EVALUATION = 2**31 + 2
    """Games of an evaluation."""
    OPPONENTS = 2**31 + 3
    """Which former nets opponents play by."""
    AVERAGE_FIT = 2**31 + 4
    """Rows of the minibatches of an average-policy net."""
    NET = 2**31 + 5
    """Initial weights of a net."""


def net_seed(seed: int, player: int, kind: int) -> int:
    """Returns the seed of the initial weights of a net, below 2**32; independent for every run, player and kind of net.

    Args:
        seed: Seed of the run.
        player: Player that the net belongs to, from 0.
        kind: Index of the kind of net within the method, from 0.
    """
    return int(np.random.SeedSequence((seed, player, kind, Stream.NET)).generate_state(1)[0])
