"""Tables of Mini Geister by belief state: the row of a player, and the policy in a row (paper 002, IV-A and V).

A row stands for a player's view of the board and its belief, rounded to quarters. The table is dense: it has all `ROWS`
rows and needs no hashing. The eight columns of a row are the moves of the blue ghost and then those of the red ghost,
each in the order of `envs.geister.rules.DIRECTIONS`. The colours of the ghosts are thus part of the row.
"""

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.geister import Geister
from envs.geister.rules import CAPTURED, STATE, layouts

SIZE = 4
SQUARES = SIZE * SIZE
LAST = SQUARES - 1
QUARTERS = 5
"""Number of values of a belief that is rounded to quarters."""
ROWS = SQUARES**4 * QUARTERS
SLOTS = 8
FIRST_BLUE = np.uint8(2)
"""Bits of the red ghosts of a player whose ghost 0 is blue."""

NODE = np.dtype([*((name, STATE[name]) for name in STATE.names or ()), ("belief", np.float64, (2, 2))], align=True)
"""A position, and the two parameters of each player's Beta belief: that ghost 0 of the other player is the blue one,
and that ghost 1 is. Both beliefs follow from the moves, which are public."""


def _legal_slots(forced_escape: bool) -> NDArray[np.uint8]:
    """Legal columns by the squares of the player's blue and red ghost, as bits, `uint8[SQUARES**2]`."""
    game = Geister(size=SIZE, forced_escape=forced_escape, ply_limit=30)
    states = game.reset(SQUARES**2, np.random.default_rng(0))
    blue, red = np.divmod(np.arange(SQUARES**2), SQUARES)
    states["red"][:, 0] = FIRST_BLUE
    states["square"][:, 0, :2] = np.stack([blue, red], axis=1)
    states["occupied"][:, 0] = (np.uint64(1) << blue.astype(np.uint64)) | (np.uint64(1) << red.astype(np.uint64))
    states["square"][:, 1] = CAPTURED  # an enemy is never in the way
    states["occupied"][:, 1] = 0
    return np.packbits(game.legal(states), axis=1, bitorder="little")[:, 0]


LEGAL = np.stack([_legal_slots(forced) for forced in (False, True)])
"""Legal columns of a row, as bits: `LEGAL[forced_escape, row // ROWS_OF_OWN]`."""
ROWS_OF_OWN = SQUARES**2 * QUARTERS
assert len(layouts(SIZE)) == 2, "a belief in Mini Geister is of two arrangements"


@kernel
def row_of(node, player, red):
    """The row of `player` if its red ghosts were `red`.

    A belief halfway between two quarters is rounded to the even quarter, so that both ghosts are treated alike.
    """
    blue = np.int64(red & 1)
    other = 1 - player
    first = LAST - np.int64(node.square[other, 0])
    second = LAST - np.int64(node.square[other, 1])
    belief = node.belief[player]
    lower = belief[0] if first < second else belief[1]
    quarter = np.int64(np.rint(4 * lower / (belief[0] + belief[1])))
    own = SQUARES * np.int64(node.square[player, blue]) + np.int64(node.square[player, 1 - blue])
    return ((own * SQUARES + min(first, second)) * SQUARES + max(first, second)) * QUARTERS + quarter


@kernel
def slot_of(action, red):
    """The column of a move if the mover's red ghosts were `red`."""
    colour = (red >> (action >> 2)) & 1
    return np.int64(4 * colour + (action & 3))


@kernel
def action_of(slot, red):
    """The move of a column; the inverse of `slot_of`."""
    blue = np.int64(red & 1)
    ghost = blue if slot < 4 else 1 - blue
    return 4 * ghost + (slot & 3)


@kernel
def normalise(numbers, legal, policy):
    """Writes the policy in proportion to the positive parts of `numbers`, `float64[8]`; uniform if all are 0.

    Applied to regrets this is regret matching, applied to strategy sums it is the average policy.
    """
    total = 0.0
    count = 0
    for slot in range(SLOTS):
        allowed = (legal >> slot) & 1
        policy[slot] = max(numbers[slot], 0.0) if allowed else 0.0
        total += policy[slot]
        count += allowed
    for slot in range(SLOTS):
        if total > 0:
            policy[slot] /= total
        else:
            policy[slot] = ((legal >> slot) & 1) / count


@kernel
def probability(sums, row, legal, slot):
    """Probability of a column in the average policy."""
    if (legal >> slot) & 1 == 0:
        return 0.0
    total = 0.0
    count = 0
    for each in range(SLOTS):
        total += sums[row, each]
        count += (legal >> each) & 1
    return sums[row, slot] / total if total > 0 else 1.0 / count


@kernel
def draw_slot(policy, rng):
    """Draws a column from a policy, `float64[8]`."""
    draw = rng.random()
    chosen = -1
    for slot in range(SLOTS):
        if policy[slot] > 0:
            chosen = slot
            draw -= policy[slot]
            if draw < 0:
                break
    return chosen


@kernel
def explore(policy, legal, epsilon):
    """Mixes a policy with the uniform one, in place."""
    count = 0
    for slot in range(SLOTS):
        count += (legal >> slot) & 1
    for slot in range(SLOTS):
        policy[slot] = (1 - epsilon) * policy[slot] + epsilon * ((legal >> slot) & 1) / count
