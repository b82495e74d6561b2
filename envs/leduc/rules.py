"""Leduc hold'em, compiled: a card each, betting, a card on the board, betting (Southey et al. 2005)."""

import numpy as np

from envs.compiled import kernel
from envs.extensive import CHANCE, OVER

FOLD, CALL, RAISE = 0, 1, 2
"""Actions; `CALL` checks where nothing is to be called, and from `RAISE` on there is one for each size."""
NONE = 255
LONGEST = 16
"""Actions of a round at most."""

STATE = np.dtype(
    [
        ("mover", np.int8),
        ("cards", np.uint8, (2,)),  # NONE until dealt
        ("board", np.uint8),
        ("round", np.uint8),
        ("raises", np.uint8),  # in this round
        ("acted", np.uint8),  # actions in this round
        ("folded", np.int8),  # who has folded, or -1
        ("bets", np.int16, (2,)),  # chips put in so far, the ante included
        ("actions", np.uint8, (2, LONGEST)),  # by round
    ]
)


@kernel
def apply(states, choices, sizes, together):
    """Deals `choices[b]` where chance is to move, else plays it.

    `sizes[r, k]` is raise k of round r in chips. If `together` is not 0, both hands are one outcome of chance, the
    first card times `together` plus the second.
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
    """Legal actions of the player to move: to fold only where there is something to call."""
    for b in range(states.shape[0]):
        s = states[b]
        out[b, :] = False
        if s.mover >= 0:
            out[b, FOLD] = s.bets[s.mover] < s.bets[1 - s.mover]
            out[b, CALL] = True
            out[b, RAISE:] = s.raises < most_raises


@kernel
def won(states, per_rank, out):
    """Chips that player 0 has won where the game has ended, else 0; `per_rank` cards have the same rank."""
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
