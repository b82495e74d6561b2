"""The past moves of each ghost, as part of the state and of the infostate: `Geister(history=True)`.

Positions alone do not show a bluff: a ghost that has offered itself twice, or that has run from every threat, looks
like any other on its square. So the state counts for each ghost what both players have seen it do. A ghost is
*threatened* while an enemy stands on one of the four squares next to it; then each of the two could capture the other.

The packed infostate of `envs.geister.observation` is followed by these bytes:

    20-27  square of each of the opponent's ghosts in the player's view, by starting square; 255 if it is off the board
    28-75  three bytes for each own ghost, then for each ghost of the opponent, by starting square:
           moves + 16 * chances, retreats + 16 * offers, plies since the last move + 128 * near

Ghosts are numbered by their starting squares, which both players see. No byte depends on the colour of an opponent's
ghost on the board, since no counter depends on any colour.

Example: a ghost of player 0 steps next to an enemy (1 offer, near), which does not capture it (1 chance not taken, for
the enemy). Then it steps back, to a square with no enemy beside it (1 retreat, and 1 chance not taken; not near).
"""

import numpy as np

from envs.compiled import kernel
from envs.game import States
from envs.geister import observation, rules
from envs.geister.observation import OFF, RED, bit, neighbours
from envs.geister.rules import GHOSTS, RUNNING, STATE_FIELDS, first_illegal, play, target_square

FIELDS: list[tuple[str, type, tuple[int, ...]]] = [
    ("moves", np.uint8, (2, GHOSTS)),  # moves of each ghost of each player
    ("chances", np.uint8, (2, GHOSTS)),  # own turns at which the ghost could capture and did not
    ("retreats", np.uint8, (2, GHOSTS)),  # moves without a capture off a square with an enemy beside it to one without
    ("offers", np.uint8, (2, GHOSTS)),  # moves to a square with an enemy beside it
    ("near", np.uint8, (2, GHOSTS)),  # 1 if the last move was such a move
    ("moved_at", np.int16, (2, GHOSTS)),  # ply after the last move; 0 if the ghost has not moved
]
STATE = np.dtype([*FIELDS, *STATE_FIELDS], align=True)
"""A record of `envs.geister.rules.STATE` with the history of each ghost, by player and number.

The history comes first: Numba takes a record for a subtype of one that it begins with, warns, and compiles no kernel of
its own for it.
"""

MOST = 15
"""The counters of moves, chances, retreats and offers stop at this number."""
LONGEST = 31
"""Plies since the last move stop at this number, as does the entry of a ghost that has not moved."""

_SQUARES, _COUNTERS, _BYTES = observation.PACKED_SIZE, observation.PACKED_SIZE + GHOSTS, 3
PACKED_SIZE = _COUNTERS + _BYTES * 2 * GHOSTS

PLANES = 6
"""Inputs by square for the ghosts of each player: moves, chances, retreats, offers, near, and recency."""
SPARSE_INPUTS = observation.SPARSE_INPUTS + (PLANES + 1) * 2 * GHOSTS
"""Most inputs that are not 0: the planes, and the steps to an exit, of each ghost."""
_COUNT = np.array([n / (n + 2) for n in range(MOST + 1)], np.float32)
"""Input for a counter: low counts, which are the common ones, differ most."""


def extra_inputs(size: int) -> int:
    """Returns the number of inputs that `encode_sparse` adds to the encoding ``flat``."""
    return int(2 * PLANES * size * size + 3 * (farthest(size) + 1))


def without(states: States) -> States:
    """Returns a copy of states with history as states without it, `envs.geister.rules.STATE[B]`."""
    plain = np.empty(len(states), rules.STATE)
    assert rules.STATE.names is not None
    for name in rules.STATE.names:
        plain[name] = states[name]
    return plain


@kernel
def steps_to_exit(square, size):
    """Returns the number of moves from a square, in the view of the ghost's owner, to the nearer exit."""
    x = square % size
    return square // size + min(x, size - 1 - x)


@kernel
def farthest(size):
    """Returns the largest number of steps to an exit."""
    return size - 1 + (size - 1) // 2


@kernel
def _count(counters, player, ghost, more):
    """Adds 0 or 1 to a counter, up to `MOST`."""
    counters[player, ghost] += np.uint8(more and counters[player, ghost] < MOST)


@kernel
def record(state, action, size):
    """Counts a legal move in the history, before it is played."""
    mover = state.to_move
    ghost = np.int64(action) >> 2
    square = np.int64(state.square[mover, ghost])
    target = np.int64(target_square(square, action & 3, size))
    enemies = np.uint64(0)  # in the mover's view
    for other in range(GHOSTS):
        there = np.int64(state.square[1 - mover, other])
        enemies |= np.uint64(there >= 0) << np.uint64((size * size - 1 - there) & 63)
    near = neighbours(enemies, size)
    captures = target >= 0 and bit(enemies, target) != 0
    for own in range(GHOSTS):  # the squares -1 and -2 of ghosts off the board read the bits 63 and 62, which are 0
        beside = bit(near, np.int64(state.square[mover, own]) & 63)
        _count(state.chances, mover, own, beside != 0 and not (captures and own == ghost))
    before = bit(near, square) != 0
    after = target >= 0 and bit(near, target) != 0
    _count(state.moves, mover, ghost, True)
    _count(state.retreats, mover, ghost, before and not after and not captures)
    _count(state.offers, mover, ghost, after)
    state.near[mover, ghost] = np.uint8(after)
    state.moved_at[mover, ghost] = state.ply + 1


@kernel
def step_batch(states, actions, size, ply_limit, forced_escape, layout_bits):
    """Like `envs.geister.rules.step_batch`, for states with history, `STATE[B]`."""
    illegal = first_illegal(states, actions, size, forced_escape, len(layout_bits))
    if illegal >= 0:
        return illegal
    for b in range(states.shape[0]):
        state = states[b]
        if state.ending == RUNNING:
            if state.placed == 2:
                record(state, actions[b], size)
            play(state, actions[b], size, ply_limit, layout_bits)
    return -1


@kernel
def observe_into(states, players, size, packed):
    """Adds the history to infostates from `envs.geister.observation.observe_into`, `uint8[B, PACKED_SIZE]`."""
    last = size * size - 1
    for b in range(states.shape[0]):
        state = states[b]
        row = packed[b]
        for side in range(2):
            player = players[b] if side == 0 else 1 - players[b]
            for ghost in range(GHOSTS):
                square = np.int64(state.square[player, ghost])
                if side == 1:
                    row[_SQUARES + ghost] = last - square if square >= 0 else OFF
                moved_at = np.int64(state.moved_at[player, ghost])
                elapsed = np.int64(state.ply) - moved_at
                since = elapsed if moved_at > 0 and elapsed < LONGEST else LONGEST
                first = _COUNTERS + _BYTES * (GHOSTS * side + ghost)
                row[first] = np.int64(state.moves[player, ghost]) + 16 * np.int64(state.chances[player, ghost])
                row[first + 1] = np.int64(state.retreats[player, ghost]) + 16 * np.int64(state.offers[player, ghost])
                row[first + 2] = since + 128 * np.int64(state.near[player, ghost])


@kernel
def encode_sparse(packed, size, place, value):
    """Adds the history to inputs from `envs.geister.observation.encode_sparse`, `[B, SPARSE_INPUTS]` each.

    The inputs of the encoding ``flat`` after the first `3 * size * size + 4`:

    - six planes for the player's own ghosts, six for the opponent's: at the square of a ghost `n / (n + 2)` for its
      moves, chances, retreats and offers, 1 for near, and the recency of its last move, from 1 down to 0 after
      `LONGEST` plies,
    - for own blue ghosts, own red ghosts and those of the opponent in turn, the number of ghosts at each number of
      steps to an exit, in which planes would repeat the squares.

    Inputs that are 0 are left out, which is a third of them even late in a game.

    Returns:
        A multiple of 4: all columns from there on are padding.
    """
    area = size * size
    plain = 3 * area + 4
    steps = plain + 2 * PLANES * area
    bins = farthest(size) + 1
    inputs = np.empty(PLANES, np.float32)
    widest = observation.SPARSE_INPUTS
    for b in range(packed.shape[0]):
        row = packed[b]
        n = observation.SPARSE_INPUTS
        for i in range(2 * GHOSTS):
            theirs = i >= GHOSTS
            square = np.int64(row[_SQUARES + i - GHOSTS] if theirs else row[i])
            if square == OFF:
                continue
            first = _COUNTERS + _BYTES * i
            counters = np.int64(row[first]) + 256 * np.int64(row[first + 1])
            for plane in range(4):
                inputs[plane] = _COUNT[(counters >> (4 * plane)) & 15]
            inputs[4] = np.float32(row[first + 2] >> 7)
            inputs[5] = np.float32(1) - np.float32(row[first + 2] & 127) / np.float32(LONGEST)
            for plane in range(PLANES):
                if inputs[plane] != 0:
                    place[b, n] = plain + (PLANES * theirs + plane) * area + square
                    value[b, n] = inputs[plane]
                    n += 1
            group = 2 if theirs else np.int64((row[RED] >> i) & 1)
            home = area - 1 - square if theirs else square  # in the view of its owner
            place[b, n] = steps + group * bins + steps_to_exit(home, size)
            value[b, n] = 1
            n += 1
        place[b, n:] = 0
        value[b, n:] = 0
        widest = max(widest, n)
    return (widest + 3) // 4 * 4
