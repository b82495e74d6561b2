"""Beta beliefs about which ghost of the opponent is blue, and how a move changes them (paper 002, IV-A)."""

from typing import Literal

import numpy as np

from envs.compiled import kernel
from envs.geister.rules import move
from learners.geister_beliefs.tables import (
    FIRST_BLUE,
    LEGAL,
    NODE,
    ROWS_OF_OWN,
    SIZE,
    probability,
    row_of,
    slot_of,
)

Update = Literal["paper", "exact", "none"]
"""How a posterior becomes a Beta belief again. Either way the sum of its parameters grows by 1 a move.

    paper: the posterior is added to the parameters, as eq. (7) says. Its mean is then not that of the posterior.
    exact: the mean becomes that of the posterior, as the text says.
    none: beliefs stay as they are, so that an agent knows nothing but the board.
"""
UPDATES: dict[str, int] = {"none": 0, "paper": 1, "exact": 2}
"""Their numbers in kernels."""


@kernel
def believe(node, action, sums, update, forced):
    """Changes the belief of the player who is not to move by the move that the other is about to make.

    Its likelihoods are the average policy's, in the belief states that the mover would be in with either ghost blue
    (eq. 6, whose likelihood we read as that of each state, since as printed it is the same for both). A move that the
    average never makes in either state changes no mean.
    """
    if update == 0:
        return
    mover = node.to_move
    belief = node.belief[1 - mover]
    first, second = belief[0], belief[1]
    total = first + second
    a = first * _likelihood(node, mover, action, np.uint8(FIRST_BLUE), sums, forced)
    b = second * _likelihood(node, mover, action, np.uint8(3 - FIRST_BLUE), sums, forced)
    mean = a / (a + b) if a + b > 0 else first / total
    if update == 1:
        belief[0] = first + mean
        belief[1] = second + (1 - mean)
    else:
        belief[0] = (total + 1) * mean
        belief[1] = (total + 1) * (1 - mean)


@kernel
def _likelihood(node, mover, action, red, sums, forced):
    row = row_of(node, mover, red)
    return probability(sums, row, LEGAL[forced, row // ROWS_OF_OWN], slot_of(action, red))


@kernel
def play(node, action, sums, update, forced, ply_limit):
    """A move, and what the opponent believes after it."""
    believe(node, action, sums, update, forced)
    move(node, action, SIZE, ply_limit)


@kernel
def begin(node, start, rng):
    """A new game, its colours drawn, with even beliefs."""
    node.occupied[:] = start.occupied
    node.square[:] = start.square
    node.taken[:] = 0
    for player in range(2):
        node.red[player] = 1 if rng.random() < 0.5 else 2
    node.ply = 0
    node.to_move = 0
    node.winner = -1
    node.ending = 0
    node.placed = 2
    node.belief[:] = 0.5


@kernel
def regenerate(node, rng):
    """Other beliefs, their means uniform and their sums as before; and colours drawn from them (paper 002, V-A)."""
    for player in range(2):
        mean = rng.random()
        belief = node.belief[player]
        total = belief[0] + belief[1]
        belief[0] = total * mean
        belief[1] = total * (1 - mean)
        node.red[1 - player] = FIRST_BLUE if rng.random() < mean else 3 - FIRST_BLUE


__all__ = ["NODE", "UPDATES", "Update", "begin", "believe", "play", "regenerate"]
