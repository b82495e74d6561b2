"""The rules of Geister on a batch of games, compiled.

A state is one record of `STATE`; every function takes an array of B of them. Squares are numbered `y * size + x` in a
player's *own view*, in which that player's home rows are at the bottom; the other player's view of square `s` is
`size * size - 1 - s`. Ghosts of a player are numbered by their starting square: 0-3 (A-D) on the upper home row,
4-7 (E-H) on the lower; Mini Geister has only 0 and 1. An action is `4 * ghost + direction`.
"""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.game import States

GHOSTS = 8  # room for so many ghosts a player in every record; Mini Geister uses the first two
NORTH, EAST, WEST, SOUTH = 0, 1, 2, 3
DIRECTIONS = ("NORTH", "EAST", "WEST", "SOUTH")
ESCAPE_DIRECTION = NORTH  # both directions off the board at an exit would mean the same: this one stands for it

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
    if size == 6:
        rows, columns = (4, 5), (1, 2, 3, 4)
    elif size == 4:
        rows, columns = (3,), (1, 2)
    else:
        raise ValueError(f"a Geister board is 6 or 4 squares wide, not {size}")
    return np.array([y * size + x for y in rows for x in columns], np.int8)


def layouts(size: int) -> NDArray[np.uint8]:
    """Every way to colour the ghosts, half of them red, as bit sets of the red ones: 70 or 2 of them."""
    ghosts = len(start_squares(size))
    return np.array([sum(1 << g for g in reds) for reds in combinations(range(ghosts), ghosts // 2)], np.uint8)


def on_board(size: int) -> NDArray[np.uint8]:
    """For each square the directions that stay on the board, as bits, `uint8[size * size]`."""
    table = np.zeros(size * size, np.uint8)
    for y in range(size):
        for x in range(size):
            inside = (y > 0, x < size - 1, x > 0, y < size - 1)
            table[y * size + x] = sum(1 << d for d in range(4) if inside[d])
    return table


_ON_BOARD = {size: on_board(size) for size in (4, 6)}
ON_BOARD_6, ON_BOARD_4 = _ON_BOARD[6], _ON_BOARD[4]


@kernel
def _legal_bits(state, size, forced_escape):
    """Legal moves as bits: bit `4 * ghost + direction`."""
    player = state.to_move
    own = state.occupied[player]
    north_of = own << np.uint64(size)
    west_of = own << np.uint64(1)
    on = ON_BOARD_6 if size == 6 else ON_BOARD_4
    ghosts = 8 if size == 6 else 2
    moves = np.uint32(0)
    escapes = np.uint32(0)
    for ghost in range(ghosts):
        square = state.square[player, ghost]
        if square < 0:
            continue
        s = np.uint64(square)
        blocked = (
            ((north_of >> s) & np.uint64(1))
            | (((own >> (s + np.uint64(1))) & np.uint64(1)) << np.uint64(1))
            | (((west_of >> s) & np.uint64(1)) << np.uint64(2))
            | (((own >> (s + np.uint64(size))) & np.uint64(1)) << np.uint64(3))
        )
        free = np.uint32(on[square]) & ~np.uint32(blocked)
        moves |= free << np.uint32(4 * ghost)
        if (square == 0 or square == size - 1) and (state.red[player] >> ghost) & 1 == 0:
            escapes |= np.uint32(1) << np.uint32(4 * ghost + ESCAPE_DIRECTION)
    if forced_escape and escapes != 0:
        return escapes
    return moves | escapes


@kernel
def legal_into(states, size, forced_escape, layout_count, mask):
    """Writes the legal actions of the players to move into `mask`, `bool[B, A]`, with A at least 32 (8 on 4x4)."""
    actions = 32 if size == 6 else 8
    for b in range(states.shape[0]):
        state = states[b]
        if state.ending != RUNNING:
            mask[b, :] = False
        elif state.placed < 2:
            mask[b, :layout_count] = True
            mask[b, layout_count:] = False
        else:
            bits = _legal_bits(state, size, forced_escape)
            for a in range(actions):
                mask[b, a] = (bits >> np.uint32(a)) & np.uint32(1)
            mask[b, actions:] = False


@kernel
def first_illegal(states, actions, size, forced_escape, layout_count):
    """Index of the first running game whose action is not legal, or -1."""
    moves = 32 if size == 6 else 8
    for b in range(states.shape[0]):
        state = states[b]
        if state.ending != RUNNING:
            continue
        a = actions[b]
        if state.placed < 2:
            if a < 0 or a >= layout_count:
                return b
        elif a < 0 or a >= moves or (_legal_bits(state, size, forced_escape) >> np.uint32(a)) & np.uint32(1) == 0:
            return b
    return -1


@kernel
def _capture(state, mover, square, size):
    """Takes the enemy ghost on the mover's `square`; ends the game when it was the last of its colour."""
    enemy = 1 - mover
    there = size * size - 1 - square
    ghosts = 8 if size == 6 else 2
    for ghost in range(ghosts):
        if state.square[enemy, ghost] == there:
            state.square[enemy, ghost] = CAPTURED
            state.occupied[enemy] &= ~(np.uint64(1) << np.uint64(there))
            colour = (state.red[enemy] >> ghost) & 1
            state.taken[enemy, colour] += 1
            if state.taken[enemy, colour] == ghosts // 2:
                state.winner = mover if colour == BLUE else enemy
                state.ending = BY_BLUES_TAKEN if colour == BLUE else BY_REDS_TAKEN
            return


@kernel
def step_batch(states, actions, size, ply_limit, layout_bits):
    """Plays one legal action in each running game, in place. Legality is the caller's business."""
    for b in range(states.shape[0]):
        state = states[b]
        if state.ending != RUNNING:
            continue
        mover = state.to_move
        if state.placed < 2:
            state.red[mover] = layout_bits[actions[b]]
            state.placed += 1
            state.to_move = 1 - mover
            continue
        ghost = actions[b] // 4
        direction = actions[b] % 4
        square = state.square[mover, ghost]
        if direction == NORTH:
            target = square - size
        elif direction == EAST:
            target = square + 1
        elif direction == WEST:
            target = square - 1
        else:
            target = square + size
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


def new_states(batch: int, size: int, reds: NDArray[np.uint8] | None) -> States:
    """Starting positions, `STATE[batch]`.

    Args:
        reds: Red ghosts of both players as bits, `uint8[batch, 2]`; None leaves both layouts to be chosen.
    """
    start = start_squares(size)
    states = np.zeros(batch, STATE)
    states["square"] = CAPTURED
    states["square"][:, :, : len(start)] = start
    states["occupied"] = np.uint64(sum(1 << int(s) for s in start))
    states["winner"] = -1
    if reds is not None:
        states["red"] = reds
        states["placed"] = 2
    return states
