"""Compiled rules of Leduc hold'em: one card each, betting, a card on the board, betting (Southey et al. 2005)."""

import numpy as np

from envs.compiled import kernel
from envs.extensive import CHANCE, OVER

FOLD, CALL, RAISE = 0, 1, 2
"""Actions. `CALL` checks if there is no bet; `RAISE` + k raises by size k of the round."""
NONE = 255
LONGEST = 16
"""Upper bound on the actions of a round."""

STATE = np.dtype(
    [
        ("mover", np.int8),
        ("cards", np.uint8, (2,)),  # NONE until dealt
        ("board", np.uint8),
        ("round", np.uint8),
        ("raises", np.uint8),  # in this round
        ("acted", np.uint8),  # actions in this round
        ("folded", np.int8),  # player who has folded, or -1
        ("bets", np.int16, (2,)),  # chips paid so far, including the ante
        ("actions", np.uint8, (2, LONGEST)),  # by round
    ]
)


@kernel
def apply(states, choices, sizes, together):
    """Deals card `choices[b]` where chance is to move, else plays that action.

    Args:
        states: `[B]` records, changed in place.
        choices: Cards or actions, `int64[B]`.
        sizes: Chips of raise k in round r, `int16[2, K]`.
        together: If positive, one outcome of chance deals both hands: first card * `together` + second card.
    """
    for b in range(states.shape[0]):
        s = states[b]
        if s.mover == OVER:
            continue
        if s.mover == CHANCE:
            if s.cards[0] == NONE and together > 0:
                s.cards[0], s.cards[1] = choices[b] // together, choices[b] % together
                s.mover = 0
            elif s.cards[0] == NONE:
                s.cards[0] = choices[b]
            elif s.cards[1] == NONE:
                s.cards[1] = choices[b]
                s.mover = 0
            else:
                s.board = choices[b]
                s.mover = 0
            continue
        me, other = s.mover, 1 - s.mover
        s.actions[s.round, s.acted] = choices[b]
        s.acted += 1
        if choices[b] == FOLD:
            s.folded = me
            s.mover = OVER
        elif choices[b] >= RAISE:
            s.bets[me] = s.bets[other] + sizes[s.round, choices[b] - RAISE]
            s.raises += 1
            s.mover = other
        else:
            s.bets[me] = s.bets[other]
            if s.acted == 1:
                s.mover = other
            elif s.round == 0:
                s.round, s.raises, s.acted = 1, 0, 0
                s.mover = CHANCE
            else:
                s.mover = OVER


@kernel
def legal(states, most_raises, out):
    """Writes the legal actions of the player to move into `out`, `bool[B, A]`; folding requires a bet to call."""
    for b in range(states.shape[0]):
        s = states[b]
        out[b, :] = False
        if s.mover >= 0:
            out[b, FOLD] = s.bets[s.mover] < s.bets[1 - s.mover]
            out[b, CALL] = True
            out[b, RAISE:] = s.raises < most_raises


@kernel
def won(states, per_rank, out):
    """Writes the chips won by player 0 into `out`, `float64[B]`, 0 while a game runs; `per_rank` cards share a rank."""
    for b in range(states.shape[0]):
        s = states[b]
        out[b] = 0.0
        if s.mover != OVER:
            continue
        winner = -1
        if s.folded >= 0:
            winner = 1 - s.folded
        else:
            first, second, board = s.cards[0] // per_rank, s.cards[1] // per_rank, s.board // per_rank
            if first != second:
                if first == board or (second != board and first > second):
                    winner = 0
                else:
                    winner = 1
        if winner >= 0:
            out[b] = s.bets[1] if winner == 0 else -s.bets[0]
