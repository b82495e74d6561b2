"""Compiled rules of oshi-zumo: both players bid coins; the higher bid pushes the wrestler one cell (Buro 2003)."""

import numpy as np

from envs.compiled import kernel
from envs.extensive import OVER

MOST_COINS = 50
NONE = 255
TIE, FIRST, SECOND = 0, 1, 2
"""Results of a round: the player who pushed."""

STATE = np.dtype(
    [
        ("mover", np.int8),
        ("round", np.uint8),
        ("coins", np.int8, (2,)),
        ("wrestler", np.int8),  # cells from the middle, positive on the side of player 1
        ("bids", np.uint8, (2, MOST_COINS)),  # coins of each round
        ("results", np.uint8, (MOST_COINS,)),
        ("winner", np.int8),  # -1: none
    ]
)


@kernel
def apply(states, choices, size, least):
    """Bids `choices[b]` coins.

    A round ends with the second bid. The game ends when the wrestler has left the board, or when a player has fewer
    than `least` coins; in that case the opponent pushes once for every `least` coins left.

    Args:
        states: `[B]` records, changed in place.
        choices: Coins, `int64[B]`.
        size: Cells on each side of the middle.
        least: Smallest bid.
    """
    for b in range(states.shape[0]):
        s = states[b]
        if s.mover == OVER:
            continue
        s.bids[s.mover, s.round] = choices[b]
        if s.mover == 0:
            s.mover = 1
            continue
        first, second = s.bids[0, s.round], s.bids[1, s.round]
        s.coins[0] -= first
        s.coins[1] -= second
        s.results[s.round] = TIE
        if first > second:
            s.results[s.round] = FIRST
            s.wrestler += 1
        elif second > first:
            s.results[s.round] = SECOND
            s.wrestler -= 1
        s.round += 1
        s.mover = 0
        if abs(s.wrestler) <= size and (s.coins[0] < least or s.coins[1] < least):
            s.wrestler += s.coins[0] // least - s.coins[1] // least
            s.mover = OVER
        elif abs(s.wrestler) > size:
            s.mover = OVER
        if s.mover == OVER:
            s.winner = 0 if s.wrestler > 0 else 1 if s.wrestler < 0 else -1
