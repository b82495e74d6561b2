"""Infostates of Geister, packed into 20 bytes, and unpacked as inputs of networks.

The bytes of a packed infostate, in the own view of the observer:

    0-7    square of each own ghost; 255 if the ghost is off the board
    8      own red ghosts as bits
    9-13   squares of the opponent's ghosts as bits, little endian
    14     number of the opponent's blue ghosts taken
    15     number of the opponent's red ghosts taken
    16-17  ply, little endian
    18     1 while the layouts are being chosen
    19     1 if the observer moves first in this game

No byte depends on the colour of an opponent's ghost on the board.
"""

import numpy as np

from envs.compiled import kernel
from envs.geister.rules import EAST, NORTH, SOUTH

PACKED_SIZE = 20
OFF = 255


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
        row[8] = state.red[p]
        for byte in range(5):
            row[9 + byte] = np.uint8((enemy_bits >> np.uint64(8 * byte)) & np.uint64(255))
        row[14] = state.taken[1 - p, 0]
        row[15] = state.taken[1 - p, 1]
        row[16] = state.ply & 255
        row[17] = state.ply >> 8
        row[18] = state.placed < 2
        row[19] = p == 0


@kernel
def _enemies(packed, b):
    """Returns the squares of the opponent's ghosts as bits."""
    bits = np.uint64(0)
    for byte in range(5):
        bits |= np.uint64(packed[b, 9 + byte]) << np.uint64(8 * byte)
    return bits


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
        ply = np.float32(np.int32(row[16]) + 256 * np.int32(row[17])) / np.float32(scale)
        if clip and ply > 1:
            ply = np.float32(1)
        blue, red = np.float32(row[14]) / np.float32(3), np.float32(row[15]) / np.float32(3)
        enemies = _enemies(packed, b)
        for s in range(area):
            flat[b, 0, s] = 0
            flat[b, 1, s] = 0
            flat[b, 2, s] = bit(enemies, s)
            flat[b, 3, s] = blue
            flat[b, 4, s] = red
            flat[b, 5, s] = ply
        for ghost in range(8):
            if row[ghost] != OFF:
                flat[b, (row[8] >> ghost) & 1, row[ghost]] = 1


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
            red = np.int16((packed[b, 8] >> ghost) & 1)
            place[b, ghost] = area * red + square if square != OFF else 0
            value[b, ghost] = square != OFF
        enemies = _enemies(packed, b)
        n = np.int64(0)
        for s in range(area):  # without a branch: a place that does not count is overwritten by the next
            place[b, 8 + n] = 2 * area + s
            n += bit(enemies, s)
        for k in range(8):
            value[b, 8 + k] = k < n
            place[b, 8 + k] = place[b, 8 + k] if k < n else 0
        for k in range(4):
            place[b, 16 + k] = 3 * area + k
        ply = np.float32(np.int32(packed[b, 16]) + 256 * np.int32(packed[b, 17])) / np.float32(scale)
        value[b, 16] = np.float32(packed[b, 14]) / np.float32(3)
        value[b, 17] = np.float32(packed[b, 15]) / np.float32(3)
        value[b, 18] = min(ply, np.float32(1)) if clip else ply
        value[b, 19] = packed[b, 18]


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

    The rank of a ghost is its place in the list of the own ghosts, on the board or not, that has the blue ones first,
    each colour in the order of starting squares. While layouts are being chosen, action a has the slot a.

    Args:
        packed: Infostates, `uint8[B, P]`, of which the first 20 bytes are read.
        actions: Number of moves, 4 per ghost.
        slots: Written.
    """
    ghosts = actions >> 2
    for b in range(packed.shape[0]):
        if packed[b, 18]:
            for a in range(slots.shape[1]):
                slots[b, a, 0] = a
            continue
        rank = np.int16(0)
        for colour in range(2):
            for ghost in range(ghosts):
                if (packed[b, 8] >> ghost) & 1 == colour:
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
        if packed[b, 18]:
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
        choosing = packed[b, 18]
        for a in range(0 if choosing else actions, slots.shape[1]):
            slots[b, a, 0] = a if choosing else -1
            slots[b, a, 1] = -1
        if choosing:
            continue
        enemies = _enemies(packed, b)
        near = neighbours(enemies, size)
        reds = np.uint64(0)  # squares of enemies known to be red
        if len(other):
            for enemy in range(actions >> 2):
                square = np.int64(other[b, enemy])
                red = np.uint64(square != OFF) & np.uint64((other[b, 8] >> enemy) & 1)
                reds |= red << (np.uint64(area - 1 - square) & np.uint64(63))
        for s in range(area):  # target, next to an enemy after the move, exit
            kind = 8 * bit(enemies, s) + 8 * bit(reds, s) + 4 * bit(near, s) + bit(exits, s)
            board[s] = 4 * area + kind
        for ghost in range(actions >> 2):
            square = np.int64(packed[b, ghost])
            if square == OFF:
                slots[b, 4 * ghost : 4 * ghost + 4] = -1
                continue
            kind = 24 * np.int64((packed[b, 8] >> ghost) & 1) + 2 * bit(near, square)
            for direction in range(4):  # without branches, which would depend on the squares of the ghosts
                width = size if direction in (NORTH, SOUTH) else 1
                target = square + (width if direction in (EAST, SOUTH) else -width)
                slot = board[min(max(target, 0), area - 1)] + kind if target >= 0 else 4 * area + 48
                slots[b, 4 * ghost + direction, 0] = 4 * square + direction
                slots[b, 4 * ghost + direction, 1] = slot if target < area else -1
