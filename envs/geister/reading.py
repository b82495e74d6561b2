"""The secrets of Geister, the colours of the ghosts on the board, and the public facts about each ghost.

See `envs.capabilities.Readable`. Nothing here but `secrets` depends on a colour that the opponent does not know.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.extensive import one_hot
from envs.game import States
from envs.geister import history, rules

VALUES = ("blue", "red")
_COUNTERS = ("moves", "chances", "retreats", "offers")


def secrets(states: States, players: NDArray[np.int8], size: int) -> NDArray[np.int8]:
    """The colour of each ghost on the board, `int8[B, ghosts]`; -1 for ghosts off the board."""
    rows, ghosts = np.arange(len(states)), rules.ghost_count(size)
    red = (states["red"][rows, players][:, None] >> np.arange(ghosts)) & 1
    return np.where(_squares(states, players, size) >= 0, red, -1).astype(np.int8)


def odds(states: States, players: NDArray[np.int8], size: int) -> NDArray[np.float32]:
    """The share of each colour among the player's ghosts on the board, `float32[B, ghosts, 2]`."""
    rows, ghosts = np.arange(len(states)), rules.ghost_count(size)
    left = np.maximum(ghosts // 2 - states["taken"][rows, players], 0).astype(np.float32)
    escaped = (_squares(states, players, size) == rules.ESCAPED).sum(axis=1)  # a blue one, which ends the game
    left[:, rules.BLUE] = np.maximum(left[:, rules.BLUE] - escaped, 0)
    share = left / np.maximum(left.sum(axis=1, keepdims=True), 1)
    return np.repeat(share[:, None], ghosts, axis=1)


def clues(states: States, players: NDArray[np.int8], size: int) -> NDArray[np.float32]:
    """The public facts about each ghost, `float32[B, ghosts, F]`; zeros for ghosts off the board.

    Its starting square and its square, whether an enemy is beside it, and in games with a history its counters,
    whether its last move was an offer, how long ago that was, and its counters less their mean over the player's
    ghosts on the board.
    """
    ghosts, area = rules.ghost_count(size), size * size
    squares = _squares(states, players, size)
    here = squares >= 0
    start = np.broadcast_to(one_hot(np.arange(ghosts), ghosts), (len(states), ghosts, ghosts))
    theirs = _squares(states, 1 - players, size)
    apart = _apart(squares[:, :, None], np.where(theirs >= 0, area - 1 - theirs, -1)[:, None, :], size)
    parts: list[NDArray[Any]] = [start, one_hot(squares, area), (apart == 1).any(axis=2, keepdims=True)]
    if history.FIELDS[0][0] in (states.dtype.names or ()):
        parts += _seen(states, players, here)
    return np.concatenate([np.asarray(part, np.float32) for part in parts], axis=2) * here[:, :, None]


def _seen(states: States, players: NDArray[np.int8], here: NDArray[np.bool_]) -> Sequence[NDArray[Any]]:
    """The parts of `clues` that need a history."""
    rows, ghosts = np.arange(len(states)), here.shape[1]
    counts = np.stack([states[name][rows, players][:, :ghosts] for name in _COUNTERS], axis=2).astype(np.float32)
    counts = counts / (counts + 2)  # low counts, which are the common ones, differ most
    near = states["near"][rows, players][:, :ghosts, None]
    moved_at = states["moved_at"][rows, players][:, :ghosts]
    since = np.where(moved_at > 0, states["ply"][:, None] - moved_at, history.LONGEST)
    recency = 1 - np.minimum(since, history.LONGEST)[:, :, None] / history.LONGEST
    mean = (counts * here[:, :, None]).sum(axis=1) / np.maximum(here.sum(axis=1), 1)[:, None]
    return counts, near, recency, counts - mean[:, None]


def _squares(states: States, players: NDArray[np.int8], size: int) -> NDArray[np.int64]:
    """The squares of a player's ghosts in the player's view, `int64[B, ghosts]`; negative off the board."""
    found = states["square"][np.arange(len(states)), players][:, : rules.ghost_count(size)]
    return np.asarray(found.astype(np.int64))


def _apart(one: NDArray[np.int64], other: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """The number of steps between two squares; -1 if one is off the board."""
    steps = np.abs(one % size - other % size) + np.abs(one // size - other // size)
    return np.where((one >= 0) & (other >= 0), steps, -1)
