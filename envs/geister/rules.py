"""The rules of Geister on a batch of games, compiled.

A state is one record of `STATE`; every function takes an array of B of them. Squares are numbered
`y * size + x` in a player's *own view*, in which that player's home rows are at the bottom; the other player's
view of square `s` is `size * size - 1 - s`. Ghosts of a player are numbered by their starting square: 0-3 (A-D)
on the upper home row, 4-7 (E-H) on the lower; Mini Geister has only 0 and 1. An action is
`4 * ghost + direction`.
"""

from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.game import States

GHOSTS = 8  # room for so many ghosts a player in every record; Mini Geister uses the first two
NORTH, EAST, WEST, SOUTH = 0, 1, 2, 3
DIRECTIONS = ("NORTH", "EAST", "WEST", "SOUTH")
ESCAPE_DIRECTION = NORTH  # stands for both directions off the board at an exit, which would mean the same

CAPTURED, ESCAPED = -1, -2  # in place of a square
BLUE, RED = 0, 1

RUNNING, BY_ESCAPE, BY_BLUES_TAKEN, BY_REDS_TAKEN, BY_PLY_LIMIT = 0, 1, 2, 3, 4
ENDINGS = ("running", "escape", "blues taken", "reds taken", "ply limit")

STATE = np.dtype(
    [
        ("occupied", np.uint64, (2,)),  # squares of each player's ghosts as bits, own view
        ("square", np.int8, (2, GHOSTS)),  # of each ghost, own view; or CAPTURED or ESCAPED
        ("taken", np.int8, (2, 2)),  # [player, colour]: how many of that player's ghosts were captured
        ("red", np.uint8, (2,)),  # red ghosts of each player as bits
        ("ply", np.int16),  # moves made by both players together
        ("to_move", np.int8),
        ("winner", np.int8),  # -1: nobody (yet)
        ("ending", np.int8),
        ("placed", np.int8),  # how many players have a layout of colours
    ],
    align=True,
)


def start_squares(size: int) -> NDArray[np.int8]:
    """Own-view starting square of each ghost, `int8[ghosts]`."""
    if size not in (4, 6):
        raise ValueError(f"a Geister board is 6 or 4 squares wide, not {size}")
    rows = (4, 5) if size == 6 else (3,)
    return np.array([y * size + x for y in rows for x in range(1, size - 1)], np.int8)


def layouts(size: int) -> NDArray[np.uint8]:
    """Every way to colour the ghosts, half of them red, as bit sets of the red ones: 70 or 2 of them."""
    ghosts = len(start_squares(size))
    halves = combinations(range(ghosts), ghosts // 2)
    return np.array([sum(1 << ghost for ghost in reds) for reds in halves], np.uint8)


def leads_on(size: int) -> NDArray[np.uint64]:
    """For each direction the squares from which it leads to another square, as bits, `uint64[4]`."""
    squares = np.zeros(4, np.uint64)
    for square in range(size * size):
        y, x = divmod(square, size)
        for direction, inside in enumerate((y > 0, x < size - 1, x > 0, y < size - 1)):
            squares[direction] |= np.uint64(inside << square)
    return squares


LEADS_ON_6, LEADS_ON_4 = leads_on(6), leads_on(4)


@kernel
def ghost_count(size):
    """How many ghosts each player has."""
    return 8 if size == 6 else 2


@kernel
def movers(states, out):
    """Player to move into `out`, `int8[B]`; -1 where the game has ended."""
    for b in range(states.shape[0]):
        state = states[b]
        out[b] = state.to_move if state.ending == RUNNING else -1


@kernel
def _exits(size):
    """The squares from which an own blue ghost may leave the board, as bits."""
    return np.uint64(1) | (np.uint64(1) << np.uint64(size - 1))


@kernel
def _can_escape(state, player, ghost, size):
    """Whether that ghost may leave the board now."""
    square = state.square[player, ghost]
    return (square == 0 or square == size - 1) and (state.red[player] >> ghost) & 1 == 0


@kernel
def _any_escape(state, player, size):
    """Whether any ghost of the player may leave the board now."""
    if state.occupied[player] & _exits(size) == 0:
        return False
    any_escape = False
    for ghost in range(GHOSTS):
        any_escape |= _can_escape(state, player, ghost, size)
    return any_escape


@kernel
def _add_escapes(state, player, size, forced_escape, row):
    """Puts the escapes into one row of `legal_moves`; if there is one and it is forced, only them."""
    if not _any_escape(state, player, size):
        return
    for ghost in range(row.shape[0]):
        if forced_escape:
            row[ghost] = 0
        if _can_escape(state, player, ghost, size):
            row[ghost] |= np.uint32(1) << np.uint32(8 * ESCAPE_DIRECTION)


@kernel
def legal_moves(states, size, forced_escape, moves):
    """Legal moves of the players to move into `moves`, `uint32[B, ghosts]`: byte d of a ghost's word is 1 if it
    may move in direction d. All zero where the game has ended and while layouts are being chosen.

    No branch depends on where the ghosts stand: the squares -1 and -2 of those off the board read bits 63 and
    62, which are 0.
    """
    leads_on = LEADS_ON_6 if size == 6 else LEADS_ON_4
    for b in range(states.shape[0]):
        state = states[b]
        if state.ending != RUNNING or state.placed < 2:
            moves[b, :] = 0
            continue
        player = state.to_move
        own = state.occupied[player]
        north = leads_on[NORTH] & ~(own << np.uint64(size))
        east = leads_on[EAST] & ~(own >> np.uint64(1))
        west = leads_on[WEST] & ~(own << np.uint64(1))
        south = leads_on[SOUTH] & ~(own >> np.uint64(size))
        for ghost in range(moves.shape[1]):
            s = np.uint64(state.square[player, ghost]) & np.uint64(63)
            moves[b, ghost] = (
                ((north >> s) & np.uint64(1))
                | (((east >> s) & np.uint64(1)) << np.uint64(8))
                | (((west >> s) & np.uint64(1)) << np.uint64(16))
                | (((south >> s) & np.uint64(1)) << np.uint64(24))
            )
        if own & _exits(size) != 0:
            _add_escapes(state, player, size, forced_escape, moves[b])


@kernel
def _target(square, direction, size):
    """Where a move leads; below 0 north of the board."""
    width = size if direction in (NORTH, SOUTH) else 1
    return square + (width if direction in (EAST, SOUTH) else -width)


@kernel
def _is_legal(state, action, size, forced_escape, layout_count):
    if state.placed < 2:
        return 0 <= action < layout_count
    if action < 0 or action >= 4 * ghost_count(size):
        return False
    player = state.to_move
    ghost, direction = action >> 2, action & 3
    square = state.square[player, ghost]
    if square < 0:
        return False
    own = state.occupied[player]
    if own & _exits(size) != 0:
        if direction == ESCAPE_DIRECTION and _can_escape(state, player, ghost, size):
            return True
        if forced_escape and _any_escape(state, player, size):
            return False
    leads_on = LEADS_ON_6 if size == 6 else LEADS_ON_4
    if (leads_on[direction] >> np.uint64(square)) & np.uint64(1) == 0:
        return False
    return (own >> np.uint64(_target(square, direction, size))) & np.uint64(1) == 0


@kernel
def _capture(state, mover, square, size):
    """Takes the enemy ghost on the mover's `square`; ends the game when it was the last of its colour."""
    enemy = 1 - mover
    there = size * size - 1 - square
    for ghost in range(GHOSTS):
        if state.square[enemy, ghost] == there:
            state.square[enemy, ghost] = CAPTURED
            state.occupied[enemy] &= ~(np.uint64(1) << np.uint64(there))
            colour = (state.red[enemy] >> ghost) & 1
            state.taken[enemy, colour] += 1
            if state.taken[enemy, colour] == ghost_count(size) // 2:
                state.winner = mover if colour == BLUE else enemy
                state.ending = BY_BLUES_TAKEN if colour == BLUE else BY_REDS_TAKEN
            return


@kernel
def move(state, action, size, ply_limit):
    """Plays one legal move of a ghost."""
    mover = state.to_move
    ghost = action >> 2
    square = state.square[mover, ghost]
    target = _target(square, action & 3, size)
    state.occupied[mover] &= ~(np.uint64(1) << np.uint64(square))
    if target < 0:  # only an escape leads north off the board
        state.square[mover, ghost] = ESCAPED
        state.winner = mover
        state.ending = BY_ESCAPE
    else:
        state.square[mover, ghost] = target
        state.occupied[mover] |= np.uint64(1) << np.uint64(target)
        there = np.uint64(size * size - 1 - target)
        if (state.occupied[1 - mover] >> there) & np.uint64(1) != 0:
            _capture(state, mover, target, size)
    state.ply += 1
    if state.ending == RUNNING and state.ply >= ply_limit:
        state.ending = BY_PLY_LIMIT
    state.to_move = 1 - mover


@kernel
def step_batch(states, actions, size, ply_limit, forced_escape, layout_bits):
    """Plays one action in each running game, in place, unless one of them is not legal.

    Returns:
        Index of the first game whose action is not legal, no state having been changed; else -1.
    """
    for b in range(states.shape[0]):
        state = states[b]
        if state.ending != RUNNING:
            continue
        if not _is_legal(state, actions[b], size, forced_escape, len(layout_bits)):
            return b
    for b in range(states.shape[0]):
        state = states[b]
        if state.ending != RUNNING:
            continue
        if state.placed < 2:
            state.red[state.to_move] = layout_bits[actions[b]]
            state.placed += 1
            state.to_move = 1 - state.to_move
        else:
            move(state, actions[b], size, ply_limit)
    return -1


@cache
def _start(size: int) -> States:
    """The starting position with both layouts still to be chosen, `STATE[1]`."""
    start = start_squares(size)
    state = np.zeros(1, STATE)
    state["square"] = CAPTURED
    state["square"][:, :, : len(start)] = start
    state["occupied"] = np.uint64(sum(1 << int(s) for s in start))
    state["winner"] = -1
    return state


def new_states(batch: int, size: int, reds: NDArray[np.uint8] | None) -> States:
    """Starting positions, `STATE[batch]`.

    Args:
        reds: Red ghosts of both players as bits, `uint8[batch, 2]`; None leaves both layouts to be chosen.
    """
    states = _start(size).repeat(batch)
    if reds is not None:
        states["red"] = reds
        states["placed"] = 2
    return states
