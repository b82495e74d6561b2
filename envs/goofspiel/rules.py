"""Compiled rules of goofspiel: both players bid a card for each prize; the higher bid takes it, a tie discards it."""

import numpy as np

from envs.compiled import kernel
from envs.extensive import CHANCE, OVER

MOST_CARDS = 13
NONE = 255
TIE, FIRST, SECOND = 0, 1, 2
"""Results of a round."""

STATE = np.dtype(
    [
        ("mover", np.int8),
        ("round", np.uint8),
        ("prizes", np.uint8, (MOST_CARDS,)),  # prize of each round, NONE until turned up
        ("bids", np.uint8, (2, MOST_CARDS)),  # card of each round
        ("results", np.uint8, (MOST_CARDS,)),
        ("difference", np.int16),  # points of player 0 minus those of player 1
    ]
)


@kernel
def apply(states, choices, cards, drawn):
    """Turns up prize `choices[b]` where chance is to move, else bids that card.

    Args:
        states: `[B]` records, changed in place.
        choices: Prizes or cards, `int64[B]`.
        cards: Number of cards.
        drawn: Whether chance turns up the prizes.
    """
    for b in range(states.shape[0]):
        s = states[b]
        if s.mover == OVER:
            continue
        if s.mover == CHANCE:
            s.prizes[s.round] = choices[b]
            s.mover = 0
            continue
        s.bids[s.mover, s.round] = choices[b]
        if s.mover == 0:
            s.mover = 1
            continue
        first, second = s.bids[0, s.round], s.bids[1, s.round]
        prize = s.prizes[s.round] + 1
        s.results[s.round] = TIE
        if first > second:
            s.results[s.round] = FIRST
            s.difference += prize
        elif second > first:
            s.results[s.round] = SECOND
            s.difference -= prize
        s.round += 1
        if s.round == cards:
            s.mover = OVER
        elif drawn:
            s.mover = CHANCE
        else:
            s.mover = 0


@kernel
def legal(states, out):
    """Writes the cards in the hand of the player to move into `out`, `bool[B, cards]`."""
    for b in range(states.shape[0]):
        s = states[b]
        out[b, :] = s.mover >= 0
        if s.mover >= 0:
            for r in range(s.round):
                out[b, s.bids[s.mover, r]] = False


@kernel
def prizes_left(states, out):
    """Writes 1 for each prize that has not been turned up, else 0, into `out`, `float64[B, cards]`."""
    for b in range(states.shape[0]):
        out[b, :] = 1.0
        for r in range(states[b].round):
            out[b, states[b].prizes[r]] = 0.0
