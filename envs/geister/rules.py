"""Compiled rules of Geister over batches of games.

A state is a record of `STATE`. Squares are numbered `y * size + x` in the *own view* of a player, in which the home
rows of that player are at the bottom; the opponent sees square `s` as `size * size - 1 - s`. The ghosts of a player are
numbered by starting square: 0-3 (A-D) on the upper home row, 4-7 (E-H) on the lower. Mini Geister has only 0 and 1. An
action is `4 * ghost + direction`.

Sets of squares are words with a bit per square, so that one shift moves a whole set by a row or a column. Example: on
the board of width 6 the ghost A starts on square 25 (x = 1, y = 4). Its targets are 19 (north), 26 (east, an own ghost,
hence illegal), 24 (west) and 31 (south, own ghost). `legal_moves` finds these for all ghosts together: `own << 6` has a
bit at every square whose northern neighbour is an own ghost.
"""

from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.game import States

GHOSTS = 8  # ghosts of a player in a record; Mini Geister uses the first two
NORTH, EAST, WEST, SOUTH = 0, 1, 2, 3
DIRECTIONS = ("NORTH", "EAST", "WEST", "SOUTH")
ESCAPE_DIRECTION = NORTH  # the escape has one action, though two directions lead off the board at an exit

CAPTURED, ESCAPED = -1, -2  # instead of a square
BLUE, RED = 0, 1

RUNNING, BY_ESCAPE, BY_BLUES_TAKEN, BY_REDS_TAKEN, BY_PLY_LIMIT = 0, 1, 2, 3, 4
ENDINGS = ("running", "escape", "blues taken", "reds taken", "ply limit")

STATE_FIELDS: list[tuple[str, type] | tuple[str, type, tuple[int, ...]]] = [
    ("occupied", np.uint64, (2,)),  # squares of each player's ghosts as bits, own view
    ("square", np.int8, (2, GHOSTS)),  # square of each ghost, own view, or CAPTURED or ESCAPED
    ("taken", np.int8, (2, 2)),  # [player, colour]: number of captured ghosts of that player
    ("red", np.uint8, (2,)),  # red ghosts of each player as bits
    ("ply", np.int16),  # number of moves of both players
    ("to_move", np.int8),
    ("winner", np.int8),  # -1 for a draw and while the game runs
    ("ending", np.int8),
    ("placed", np.int8),  # number of players with a colour layout
]
STATE = np.dtype(STATE_FIELDS, align=True)


def start_squares(size: int) -> NDArray[np.int8]:
    """Returns the starting square of each ghost in its player's view, `int8[ghosts]`."""
    if size not in (4, 6):
        raise ValueError(f"size must be 6 or 4, got {size}")
    rows = (4, 5) if size == 6 else (3,)
    return np.array([y * size + x for y in rows for x in range(1, size - 1)], np.int8)


def layouts(size: int) -> NDArray[np.uint8]:
    """Returns all colour layouts, half of the ghosts red, as bits of the red ghosts, `uint8[70]` or `uint8[2]`."""
    ghosts = len(start_squares(size))
    halves = combinations(range(ghosts), ghosts // 2)
    return np.array([sum(1 << ghost for ghost in reds) for reds in halves], np.uint8)


def leads_on(size: int) -> NDArray[np.uint64]:
    """Returns the squares from which each direction stays on the board, as bits, `uint64[4]`."""
    squares = np.zeros(4, np.uint64)
    for square in range(size * size):
        y, x = divmod(square, size)
        for direction, inside in enumerate((y > 0, x < size - 1, x > 0, y < size - 1)):
            squares[direction] |= np.uint64(inside << square)
    return squares


LEADS_ON_6, LEADS_ON_4 = leads_on(6), leads_on(4)


@kernel
def ghost_count(size):
    """Returns the number of ghosts of each player."""
    return 8 if size == 6 else 2


@kernel
def movers(states, out):
    """Writes the player to move into `out`, `int8[B]`; -1 where the game has ended."""
    for b in range(states.shape[0]):
        state = states[b]
        out[b] = state.to_move if state.ending == RUNNING else -1


@kernel
def _exits(size):
    """Returns the squares from which an own blue ghost may leave the board, as bits."""
    return np.uint64(1) | (np.uint64(1) << np.uint64(size - 1))


@kernel
def _can_escape(state, player, ghost, size):
    """Returns whether a ghost may leave the board now."""
    square = state.square[player, ghost]
    return (square == 0 or square == size - 1) and (state.red[player] >> ghost) & 1 == 0


@kernel
def _any_escape(state, player, size):
    """Returns whether any ghost of a player may leave the board now."""
    if state.occupied[player] & _exits(size) == 0:
        return False
    any_escape = False
    for ghost in range(GHOSTS):
        any_escape |= _can_escape(state, player, ghost, size)
    return any_escape


@kernel
def _add_escapes(state, player, size, forced_escape, row):
    """Adds the escapes to one row of `legal_moves`; if they are forced, removes all other moves."""
    if not _any_escape(state, player, size):
        return
    for ghost in range(row.shape[0]):
        if forced_escape:
            row[ghost] = 0
        if _can_escape(state, player, ghost, size):
            row[ghost] |= np.uint32(1) << np.uint32(8 * ESCAPE_DIRECTION)


@kernel
def legal_moves(states, size, forced_escape, moves):
    """Writes the legal moves of the players to move into `moves`, `uint32[B, ghosts]`.

    Byte d of a ghost's word is 1 if the ghost may move in direction d. The words are 0 where the game has ended and
    while layouts are being chosen.

    No branch depends on the squares of the ghosts: the squares -1 and -2 of ghosts off the board read the bits 63 and
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
        # The squares from which each direction is free.
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
def target_square(square, direction, size):
    """Returns the target square of a move; it is negative if the move leaves the board to the north."""
    width = size if direction in (NORTH, SOUTH) else 1
    return square + (width if direction in (EAST, SOUTH) else -width)


@kernel
def _is_legal(state, action, size, forced_escape, layout_count):
    """Returns whether the player to move may play an action, a move or the choice of a layout."""
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
    return (own >> np.uint64(target_square(square, direction, size))) & np.uint64(1) == 0


@kernel
def _capture(state, mover, square, size):
    """Captures the enemy ghost on a square in the mover's view; ends the game if it was the last of its colour."""
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
    target = target_square(square, action & 3, size)
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
def first_illegal(states, actions, size, forced_escape, layout_count):
    """Returns the first running game with an illegal action, or -1."""
    for b in range(states.shape[0]):
        state = states[b]
        if state.ending != RUNNING:
            continue
        if not _is_legal(state, actions[b], size, forced_escape, layout_count):
            return b
    return -1


@kernel
def play(state, action, size, ply_limit, layout_bits):
    """Plays one legal action, a move or the choice of a layout, in a running game."""
    if state.placed < 2:
        state.red[state.to_move] = layout_bits[action]
        state.placed += 1
        state.to_move = 1 - state.to_move
    else:
        move(state, action, size, ply_limit)


@kernel
def step_batch(states, actions, size, ply_limit, forced_escape, layout_bits):
    """Plays one action in each running game, in place, unless one of them is illegal.

    Returns:
        -1, or the first game with an illegal action; in that case no state has changed.
    """
    illegal = first_illegal(states, actions, size, forced_escape, len(layout_bits))
    if illegal >= 0:
        return illegal
    for b in range(states.shape[0]):
        state = states[b]
        if state.ending == RUNNING:
            play(state, actions[b], size, ply_limit, layout_bits)
    return -1


@cache
def _start(size: int, dtype: np.dtype[np.void]) -> States:
    """Returns the starting position before both layouts are chosen, `dtype[1]`."""
    start = start_squares(size)
    state = np.zeros(1, dtype)
    state["square"] = CAPTURED
    state["square"][:, :, : len(start)] = start
    state["occupied"] = np.uint64(sum(1 << int(s) for s in start))
    state["winner"] = -1
    return state


def new_states(batch: int, size: int, reds: NDArray[np.uint8] | None, dtype: np.dtype[np.void] = STATE) -> States:
    """Returns starting positions, `dtype[batch]`.

    Args:
        batch: Number of games.
        size: Width of the board.
        reds: Red ghosts of both players as bits, `uint8[batch, 2]`; None if the players choose their layouts.
        dtype: Type of the records, `STATE` or one with further fields, which start at 0.
    """
    states = _start(size, dtype).repeat(batch)
    if reds is not None:
        states["red"] = reds
        states["placed"] = 2
    return states
