"""Compiled rules of placing stones on a board of which each player sees their own stones only.

The player to move tries an empty-looking cell. A stone of the opponent there is revealed, and the player tries again
(*classical*) or loses the turn (*abrupt*). Sets of cells are bit masks: cell c is bit c. Who has won is a table of all
masks, so that the rules are the same for every board and every aim.
"""

import numpy as np

from envs.compiled import kernel
from envs.extensive import OVER

NONE = 255
FAILED = 0x80
"""Flag of a try that found a stone of the opponent."""
MOST_CELLS = 16
"""Largest number of cells of a board: bytes of `tries`, and bits of the tables of winning sets."""
DRAW = 2

STATE = np.dtype(
    [
        ("mover", np.int8),
        ("winner", np.int8),  # player, DRAW, or -1 while the game runs
        ("stones", np.int32, (2,)),
        ("known", np.int32, (2,)),  # stones of the opponent that the player has found
        ("tried", np.uint8, (2,)),  # tries so far
        ("tries", np.uint8, (2, MOST_CELLS)),  # cells in the order of the tries, with FAILED; NONE afterwards
    ]
)


@kernel
def apply(states, cells, won, abrupt):
    """Tries cell `cells[b]` in game b, which is legal; finished games do not change.

    Args:
        states: `[B]` records, changed in place.
        cells: `int64[B]`.
        won: Whether a player has won with a set of stones, `bool[2, 2 ** number of cells]`.
        abrupt: Whether a failed try ends the turn.
    """
    full = won.shape[1] - 1
    for b in range(states.shape[0]):
        s = states[b]
        if s.mover == OVER:
            continue
        me, other = s.mover, 1 - s.mover
        bit = 1 << cells[b]
        failed = (s.stones[other] & bit) != 0
        s.tries[me, s.tried[me]] = cells[b] | (FAILED if failed else 0)
        s.tried[me] += 1
        if failed:
            s.known[me] |= bit
            if abrupt:
                s.mover = other
            continue
        s.stones[me] |= bit
        s.mover = other
        if won[me, s.stones[me]]:
            s.winner, s.mover = me, OVER
        elif s.stones[0] | s.stones[1] == full:
            s.winner, s.mover = DRAW, OVER


@kernel
def legal(states, out):
    """Writes the cells that look empty to the player to move into `out`, `bool[B, A]`."""
    for b in range(states.shape[0]):
        s = states[b]
        seen = 0
        if s.mover >= 0:
            seen = s.stones[s.mover] | s.known[s.mover]
        for cell in range(out.shape[1]):
            out[b, cell] = s.mover >= 0 and (seen >> cell) & 1 == 0


@kernel
def encode(packed, encoded):
    """Writes the ones of `PlacementGame.encode` into zeros.

    Args:
        packed: Player and tries, `uint8[B, 1 + cells]`, see `PlacementGame.observe`.
        encoded: `float32[B, 2 + 2 * cells + cells * cells]`.
    """
    cells = packed.shape[1] - 1
    for b in range(packed.shape[0]):
        encoded[b, packed[b, 0]] = 1
        for number in range(cells):
            tried = packed[b, 1 + number]
            if tried == NONE:
                break
            cell = np.int64(tried & ~FAILED & 0xFF)
            encoded[b, 2 + cell + (cells if tried & FAILED else 0)] = 1
            encoded[b, 2 + (2 + number) * cells + cell] = 1
