"""Beta beliefs about which ghost of the opponent is blue, and how a move changes them (paper 002, IV-A)."""

from typing import Literal, NamedTuple

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
"""How a Beta belief follows from a posterior. With `paper` and `exact` the sum of its parameters grows by 1 each move.

    paper: the posterior is added to the parameters (eq. 7); the mean is then not the mean of the posterior.
    exact: the mean becomes the mean of the posterior, as the text of the paper says.
    none: beliefs never change, so an agent knows nothing but the board.
"""
UPDATES: dict[str, int] = {"none": 0, "paper": 1, "exact": 2}
"""Numbers of the updates in kernels."""


class BeliefRules(NamedTuple):
    """How a move changes a node.

    Attributes:
        update: A number of `UPDATES`.
        forced_escape: 1 if a ghost that can escape must, else 0.
        ply_limit: Plies after which a game is drawn.
    """

    update: int
    forced_escape: int
    ply_limit: int


@kernel
def believe(node, action, sums, rules):
    """Updates the belief of the player who is not to move by the move that the mover is about to make.

    The likelihood of the move is its probability in the average policy, in the belief state of the mover with either
    ghost blue (eq. 6; as printed, its likelihood is the same for both states, so we read it as that of each state). A
    move that has probability 0 in both states does not change the mean.
    """
    if rules.update == 0:
        return
    mover = node.to_move
    belief = node.belief[1 - mover]
    first, second = belief[0], belief[1]
    total = first + second
    a = first * _likelihood(node, mover, action, np.uint8(FIRST_BLUE), sums, rules.forced_escape)
    b = second * _likelihood(node, mover, action, np.uint8(3 - FIRST_BLUE), sums, rules.forced_escape)
    mean = a / (a + b) if a + b > 0 else first / total
    if rules.update == 1:
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
def play(node, action, sums, rules):
    """Plays a move and updates the belief of the opponent."""
    believe(node, action, sums, rules)
    move(node, action, SIZE, rules.ply_limit)


@kernel
def begin(node, start, rng):
    """Begins a game: draws the colours and makes both beliefs even."""
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
    """Draws new beliefs, with uniform means and unchanged sums, and colours from them (paper 002, V-A)."""
    for player in range(2):
        mean = rng.random()
        belief = node.belief[player]
        total = belief[0] + belief[1]
        belief[0] = total * mean
        belief[1] = total * (1 - mean)
        node.red[1 - player] = FIRST_BLUE if rng.random() < mean else 3 - FIRST_BLUE


__all__ = ["NODE", "UPDATES", "BeliefRules", "Update", "begin", "believe", "play", "regenerate"]
