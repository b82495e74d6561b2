"""Infostates of Geister, packed into 20 bytes, and unpacked as inputs of networks.

A packed infostate is a record of `PACKED`, in the observer's view. No byte depends on the colour of an
opponent's ghost on the board.
"""

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.game import Packed
from envs.geister.rules import EAST, NORTH, SOUTH

PACKED = np.dtype(
    [
        ("square", np.uint8, (8,)),  # of each own ghost; `OFF` if the ghost is off the board
        ("red", np.uint8),  # own red ghosts as bits
        ("enemies", np.uint8, (5,)),  # squares of the opponent's ghosts as bits, little endian
        ("taken", np.uint8, (2,)),  # number of the opponent's blue, and red, ghosts taken
        ("ply", "<u2"),
        ("placing", np.uint8),  # 1 while the layouts are being chosen
        ("first", np.uint8),  # 1 if the observer moves first in this game
    ]
)
"""Record type of a packed infostate."""

PACKED_SIZE = PACKED.itemsize
OFF = 255


assert PACKED.fields is not None
RED, ENEMIES, TAKEN, PLY, PLACING, FIRST = (
    int(PACKED.fields[name][1]) for name in ("red", "enemies", "taken", "ply", "placing", "first")
)
"""First byte of each field of `PACKED` behind the squares of the observer's ghosts, for kernels, which read bytes."""


@kernel
def observe_into(states, players, size, packed):
    """Packs the infostate of `players[b]` in game b into `packed`, `uint8[B, 20]`."""
    last = size * size - 1
    for b in range(states.shape[0]):
        state = states[b]
        p = players[b]
        row = packed[b]
        enemy_bits = np.uint64(0)
        for ghost in range(8):
            own = state.square[p, ghost]
            row[ghost] = own if own >= 0 else OFF
            other = state.square[1 - p, ghost]
            if other >= 0:
                enemy_bits |= np.uint64(1) << np.uint64(last - other)
        row[RED] = state.red[p]
        for byte in range(5):
            row[ENEMIES + byte] = np.uint8((enemy_bits >> np.uint64(8 * byte)) & np.uint64(255))
        row[TAKEN] = state.taken[1 - p, 0]
        row[TAKEN + 1] = state.taken[1 - p, 1]
        row[PLY] = state.ply & 255
        row[PLY + 1] = state.ply >> 8
        row[PLACING] = state.placed < 2
        row[FIRST] = p == 0


def disguise(packed: Packed, drawn: NDArray[np.float64]) -> Packed:
    """Returns infostates in which the colours of the observer's ghosts on the board are shuffled; before there are
    colours, the same infostates.

    Args:
        packed: Infostates, `uint8[B, P]`, of which the first 20 bytes are read.
        drawn: Random numbers, of which the lowest become red, `float64[B, 8]`.
    """
    found, bits = packed.copy(), 1 << np.arange(8)
    here = packed[:, :8] != OFF
    red = (packed[:, RED, None] & bits) != 0
    rank = np.where(here, drawn, np.inf).argsort(axis=1).argsort(axis=1)
    shuffled = np.where(here, rank < (red & here).sum(axis=1, keepdims=True), red)
    found[:, RED] = np.where(packed[:, PLACING] != 0, packed[:, RED], (shuffled * bits).sum(axis=1))
    return np.asarray(found)


@kernel
def enemies_of(row):
    """Returns the squares of the opponent's ghosts in a packed infostate as bits, `uint64`."""
    bits = np.uint64(0)
    for byte in range(5):
        bits |= np.uint64(row[ENEMIES + byte]) << np.uint64(8 * byte)
    return bits


@kernel
def ply_of(row):
    """Returns the ply of a packed infostate, `int32`."""
    return np.int32(row[PLY]) + 256 * np.int32(row[PLY + 1])


@kernel
def bit(board, square):
    """Returns 1 if a square is in a set of squares, else 0."""
    return np.int32((board >> np.uint64(square)) & np.uint64(1))


@kernel
def encode_planes(packed, size, scale, clip, out):
    """Writes the six planes of paper 000, Table 1, into `out`, `float32[B, 6, size, size]`.

    The planes are own blue ghosts, own red ghosts, the opponent's ghosts, the opponent's blue ghosts taken / 3, red
    ghosts taken / 3, and ply / `scale` (at most 1 with `clip`).
    """
    area = size * size
    flat = out.reshape(out.shape[0], 6, area)
    for b in range(packed.shape[0]):
        row = packed[b]
        ply = np.float32(ply_of(row)) / np.float32(scale)
        if clip and ply > 1:
            ply = np.float32(1)
        blue, red = np.float32(row[TAKEN]) / np.float32(3), np.float32(row[TAKEN + 1]) / np.float32(3)
        enemies = enemies_of(row)
        for s in range(area):
            flat[b, 0, s] = 0
            flat[b, 1, s] = 0
            flat[b, 2, s] = bit(enemies, s)
            flat[b, 3, s] = blue
            flat[b, 4, s] = red
            flat[b, 5, s] = ply
        for ghost in range(8):
            if row[ghost] != OFF:
                flat[b, (row[RED] >> ghost) & 1, row[ghost]] = 1


SPARSE_INPUTS = 20


@kernel
def encode_sparse(packed, size, scale, clip, place, value):
    """Writes the encoding ``flat``, `3 * size * size + 4` inputs, in the sparse form of `envs.sparse.Sparse`.

    It has the three planes of squares of `encode_planes`, one input each for the opponent's blue and red ghosts taken
    (/ 3) and ply / `scale`, and one that is 1 while the layouts are being chosen.
    """
    area = size * size
    for b in range(packed.shape[0]):
        for ghost in range(8):
            square = np.int16(packed[b, ghost])
            red = np.int16((packed[b, RED] >> ghost) & 1)
            place[b, ghost] = area * red + square if square != OFF else 0
            value[b, ghost] = square != OFF
        enemies = enemies_of(packed[b])
        n = np.int64(0)
        for s in range(area):  # without a branch: a place that does not count is overwritten by the next
            place[b, 8 + n] = 2 * area + s
            n += bit(enemies, s)
        for k in range(8):
            value[b, 8 + k] = k < n
            place[b, 8 + k] = place[b, 8 + k] if k < n else 0
        for k in range(4):
            place[b, 16 + k] = 3 * area + k
        ply = np.float32(ply_of(packed[b])) / np.float32(scale)
        value[b, 16] = np.float32(packed[b, TAKEN]) / np.float32(3)
        value[b, 17] = np.float32(packed[b, TAKEN + 1]) / np.float32(3)
        value[b, 18] = min(ply, np.float32(1)) if clip else ply
        value[b, 19] = packed[b, PLACING]


KINDS = 49
"""Number of kinds of moves in the layout ``move``. A kind is `24 * (the ghost is red) + 8 * target + 4 * (next to an
enemy after the move) + 2 * (next to an enemy before the move) + (ends on an exit)`. The target is 0 for an empty
square, 1 for an enemy (blue, if colours are known), and 2 for an enemy known to be red. An escape has the kind 48."""


def column(size: int, x: int) -> np.uint64:
    """Returns the squares of a column as bits."""
    return np.uint64(sum(1 << (y * size + x) for y in range(size)))


LEFT_6, RIGHT_6 = column(6, 0), column(6, 5)
LEFT_4, RIGHT_4 = column(4, 0), column(4, 3)


@kernel
def neighbours(squares, size):
    """Returns the squares next to a set of squares, both as bits. Up to `size` bits beyond the board may be set too."""
    left, right = (LEFT_6, RIGHT_6) if size == 6 else (LEFT_4, RIGHT_4)
    beside = ((squares & ~right) << np.uint64(1)) | ((squares & ~left) >> np.uint64(1))
    return beside | (squares << np.uint64(size)) | (squares >> np.uint64(size))


@kernel
def colour_slots(packed, actions, slots):
    """Writes the slot `4 * rank + direction` of each move into `slots`, `int16[B, A, 1]`.

    The rank of a ghost is its place in the list of the player's ghosts, on the board or not, that has the blue ones
    first, each colour in the order of starting squares. While layouts are being chosen, action a has the slot a.

    Args:
        packed: Infostates, `uint8[B, P]`, of which the first 20 bytes are read.
        actions: Number of moves, 4 per ghost.
        slots: Written.
    """
    ghosts = actions >> 2
    for b in range(packed.shape[0]):
        if packed[b, PLACING]:
            for a in range(slots.shape[1]):
                slots[b, a, 0] = a
            continue
        rank = np.int16(0)
        for colour in range(2):
            for ghost in range(ghosts):
                if (packed[b, RED] >> ghost) & 1 == colour:
                    for direction in range(4):
                        slots[b, 4 * ghost + direction, 0] = 4 * rank + direction
                    rank += 1
        for a in range(actions, slots.shape[1]):
            slots[b, a, 0] = -1


@kernel
def square_slots(packed, size, actions, slots):
    """Writes the slot `4 * square + direction` of each move into `slots`, `int16[B, A, 1]`.

    Moves of ghosts off the board have the slot -1. While layouts are being chosen, action a has the slot a.

    Args:
        packed: Infostates, `uint8[B, P]`, of which the first 20 bytes are read.
        size: Width of the board.
        actions: Number of moves, 4 per ghost.
        slots: Written.
    """
    for b in range(packed.shape[0]):
        if packed[b, PLACING]:
            for a in range(slots.shape[1]):
                slots[b, a, 0] = a
            continue
        for ghost in range(actions >> 2):
            square = np.int16(packed[b, ghost])
            for direction in range(4):
                slots[b, 4 * ghost + direction, 0] = 4 * square + direction if square != OFF else -1
        for a in range(actions, slots.shape[1]):
            slots[b, a, 0] = -1


@kernel
def move_slots(packed, other, size, actions, slots):
    """Writes the slot of `square_slots` and the slot `4 * size * size + kind` of each move, `int16[B, A, 2]`.

    Example: a blue ghost that moves onto an empty square next to an enemy, and was next to none, has the kind
    24 * 0 + 8 * 0 + 4 * 1 + 2 * 0 + 0 = 4.

    Args:
        packed: Infostates, `uint8[B, P]`, of which the first 20 bytes are read.
        other: Infostates of the opponents, from which the colours of their ghosts are known; or `uint8[0, P]`.
        size: Width of the board.
        actions: Number of moves, 4 per ghost.
        slots: Written.
    """
    area = size * size
    exits = (np.uint64(1) << np.uint64(size - 1)) | np.uint64(1)
    board = np.zeros(area, np.int16)  # the part of the slot that depends on the target square
    for b in range(packed.shape[0]):
        choosing = packed[b, PLACING]
        for a in range(0 if choosing else actions, slots.shape[1]):
            slots[b, a, 0] = a if choosing else -1
            slots[b, a, 1] = -1
        if choosing:
            continue
        enemies = enemies_of(packed[b])
        near = neighbours(enemies, size)
        reds = np.uint64(0)  # squares of enemies known to be red
        if len(other):
            for enemy in range(actions >> 2):
                square = np.int64(other[b, enemy])
                red = np.uint64(square != OFF) & np.uint64((other[b, RED] >> enemy) & 1)
                reds |= red << (np.uint64(area - 1 - square) & np.uint64(63))
        for s in range(area):  # target, next to an enemy after the move, exit
            kind = 8 * bit(enemies, s) + 8 * bit(reds, s) + 4 * bit(near, s) + bit(exits, s)
            board[s] = 4 * area + kind
        for ghost in range(actions >> 2):
            square = np.int64(packed[b, ghost])
            if square == OFF:
                slots[b, 4 * ghost : 4 * ghost + 4] = -1
                continue
            kind = 24 * np.int64((packed[b, RED] >> ghost) & 1) + 2 * bit(near, square)
            for direction in range(4):  # without branches, which would depend on the squares of the ghosts
                width = size if direction in (NORTH, SOUTH) else 1
                target = square + (width if direction in (EAST, SOUTH) else -width)
                slot = board[min(max(target, 0), area - 1)] + kind if target >= 0 else 4 * area + 48
                slots[b, 4 * ghost + direction, 0] = 4 * square + direction
                slots[b, 4 * ghost + direction, 1] = slot if target < area else -1
