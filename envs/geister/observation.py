"""What a player of Geister may know, packed into 20 bytes, and unpacked for networks.

Packed layout (own view of the observer):
    0-7    own squares, ghost by ghost; 255 where the ghost is off the board
    8      own red ghosts as bits
    9-13   squares of the opponent's ghosts as bits, little endian
    14     opponent's blue ghosts taken so far
    15     opponent's red ghosts taken so far
    16-17  ply, little endian
    18     1 while the layouts are being chosen
    19     1 if the observer moves first in this game

Nothing here depends on the colour of an opponent's ghost that is still on the board.
"""

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel

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
    """Squares of the opponent's ghosts as bits."""
    bits = np.uint64(0)
    for byte in range(5):
        bits |= np.uint64(packed[b, 9 + byte]) << np.uint64(8 * byte)
    return bits


@kernel
def encode_planes(packed, size, scale, clip, out):
    """The six planes of paper 000, Table 1, into `out`, `float32[B, 6, size, size]`.

    Own blue; own red; opponent's ghosts; opponent's blue taken / 3; opponent's red taken / 3; ply / `scale`
    (at most 1 with `clip`).
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
            flat[b, 2, s] = np.int32((enemies >> np.uint64(s)) & np.uint64(1))
            flat[b, 3, s] = blue
            flat[b, 4, s] = red
            flat[b, 5, s] = ply
        for ghost in range(8):
            if row[ghost] != OFF:
                flat[b, (row[8] >> ghost) & 1, row[ghost]] = 1


SPARSE_INPUTS = 20


@kernel
def encode_sparse(packed, size, scale, clip, place, value):
    """The same facts without the constant planes, `3 * size * size + 4` inputs, as an `envs.sparse.Sparse`.

    Three planes of squares, opponent's blue and red taken (/ 3), ply / `scale`, and whether the layouts are still
    being chosen.
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
        for s in range(area):  # no branch; a place that turns out not to count is overwritten
            place[b, 8 + n] = 2 * area + s
            n += np.int64((enemies >> np.uint64(s)) & np.uint64(1))
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
"""Kinds of moves in layout ``move``: `24 * red mover + 8 * target + 4 * next to an enemy after the move
+ 2 * next to one before it + ends on an exit`, with target 0 empty, 1 an enemy (blue, where it is known), 2 a red
enemy; and 48 for an escape."""


def neighbours(size: int) -> NDArray[np.uint64]:
    """Orthogonal neighbours of each square as bits, `uint64[size * size]`."""
    table = np.zeros(size * size, np.uint64)
    for s in range(size * size):
        y, x = divmod(s, size)
        near = [(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)]
        table[s] = sum(1 << (v * size + u) for v, u in near if 0 <= v < size and 0 <= u < size)
    return table


NEIGHBOURS_6, NEIGHBOURS_4 = neighbours(6), neighbours(4)


@kernel
def square_slots(packed, size, actions, slots):
    """Slot `4 * own square + direction` of each move into `slots`, `int16[B, A, 1]`; -1 for a ghost off the board.

    While layouts are being chosen an action stands for itself (both layouts of outputs have room for that).
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
def move_kinds(packed, other, size, actions, slots):
    """Slot `4 * size * size + kind` of each move, see `KINDS`, into `slots[:, :, 1]`, `int16[B, A, 2]`.

    Args:
        other: The opponents' infostates, which tell the colour of a ghost that would be taken; or of length 0.
    """
    area = size * size
    near = NEIGHBOURS_6 if size == 6 else NEIGHBOURS_4
    for b in range(packed.shape[0]):
        row = packed[b]
        enemies = _enemies(packed, b)
        for a in range(slots.shape[1]):
            slots[b, a, 1] = -1
        if row[18]:
            continue
        for ghost in range(actions >> 2):
            square = np.int64(row[ghost])
            if square == OFF:
                continue
            before = 2 if enemies & near[square] != 0 else 0
            red = np.int64((row[8] >> ghost) & 1)
            for direction in range(4):
                a = 4 * ghost + direction
                if direction == 0:
                    target = square - size
                elif direction == 1:
                    target = square + 1
                elif direction == 2:
                    target = square - 1
                else:
                    target = square + size
                if target < 0:
                    slots[b, a, 1] = 4 * area + 48
                    continue
                if target >= area:
                    continue
                kind = 24 * red + before
                if (enemies >> np.uint64(target)) & np.uint64(1) != 0:
                    kind += 8
                    if len(other):
                        for enemy in range(actions >> 2):
                            if other[b, enemy] == area - 1 - target:
                                kind += 8 * np.int64((other[b, 8] >> enemy) & 1)
                if enemies & near[target] != 0:
                    kind += 4
                if target == 0 or target == size - 1:
                    kind += 1
                slots[b, a, 1] = 4 * area + kind
