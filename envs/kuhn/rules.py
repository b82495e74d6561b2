"""Compiled rules of Kuhn poker: one card each, an ante of 1 and a bet of 1; the higher card wins."""

import numpy as np

from envs.compiled import kernel
from envs.extensive import CHANCE, OVER

PASS, BET = 0, 1
NONE = 255
LONGEST = 3

STATE = np.dtype(
    [
        ("mover", np.int8),
        ("cards", np.uint8, (2,)),  # NONE until dealt
        ("actions", np.uint8, (LONGEST,)),
        ("length", np.uint8),  # number of actions
        ("winner", np.int8),
        ("stake", np.int8),
    ]
)


@kernel
def apply(states, choices):
    """Deals card `choices[b]` where chance is to move, else plays that action.

    The actions are `PASS` (check, fold) and `BET` (bet, call). A game ends with a fold, a call, or two checks.
    """
    for b in range(states.shape[0]):
        s = states[b]
        if s.mover == OVER:
            continue
        if s.mover == CHANCE:
            s.cards[0 if s.cards[0] == NONE else 1] = choices[b]
            if s.cards[1] != NONE:
                s.mover = 0
            continue
        s.actions[s.length] = choices[b]
        s.length += 1
        last = choices[b]
        bet_before = s.length > 1 and s.actions[s.length - 2] == BET
        if last == PASS and bet_before:
            s.winner, s.stake = 1 - s.mover, 1
        elif bet_before or (last == PASS and s.length == 2):
            s.winner = 0 if s.cards[0] > s.cards[1] else 1
            s.stake = 2 if bet_before else 1
        s.mover = OVER if s.stake > 0 else 1 - s.mover
