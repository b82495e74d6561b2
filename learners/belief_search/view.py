"""Geister as a player with beliefs observes it: the input of the nets of the depth-limited method."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.game import Packed, States
from envs.geister import Geister, observation
from envs.sparse import Sparse, dense

PLAIN = observation.PACKED_SIZE
BYTES = 8
"""Bytes that a belief adds to a packed infostate: for each ghost of the opponent on the board, in the order of their
squares, the probability of being red in 255ths."""


@dataclass(frozen=True)
class BeliefGeister(Geister):
    """Geister whose infostates include a belief.

    Packed infostates end in `BYTES` bytes of belief. The ``flat`` encoding has one more plane: at the square of an
    opponent's ghost it is 1 if the ghost is surely red, -1 if it is surely blue, and 0 at even odds. The output layout
    ``value`` has a single slot, for the value of an infostate.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        spec = self.spec
        shapes: dict[str, tuple[int, ...]] = {"flat": (spec.shapes["flat"][0] + self.size * self.size,)}
        size = PLAIN + BYTES
        slots = {"value": 1, **spec.slots}
        object.__setattr__(self, "spec", replace(spec, packed_size=size, shapes=shapes, slots=slots))

    @classmethod
    def of(cls, game: Geister) -> "BeliefGeister":
        """The same rules with beliefs in the infostates."""
        given = ("size", "ply_limit", "random_setup", "forced_escape", "observation_limit", "clip_ply")
        return cls(**{name: getattr(game, name) for name in given})

    def observe_with(self, states: States, players: NDArray[np.int8], red: NDArray[np.float32]) -> Packed:
        """Packed infostates, `uint8[B, 28]`.

        Args:
            states: B states.
            players: The observing player in each state, `int8[B]`.
            red: Probability that each ghost of the other player is red, `float32[B, 8]`.
        """
        packed = np.zeros((len(states), self.spec.packed_size), np.uint8)
        observation.observe_into(states, players, self.size, packed)
        _pack_belief(states, players, red, packed)
        return packed

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        """Packed infostates with even odds for every ghost, `uint8[B, 28]`."""
        return self.observe_with(states, players, np.full((len(states), 8), 0.5, np.float32))

    def encode(self, packed: Packed, encoding: str = "flat") -> NDArray[np.float32]:
        out = np.empty((len(packed), *self.spec.shapes[encoding]), np.float32)
        dense(*self.encode_sparse(packed), out)
        return out

    def encode_sparse(self, packed: Packed) -> Sparse:
        plain = super().encode_sparse(packed)
        place, value = np.zeros((len(packed), BYTES), np.int16), np.zeros((len(packed), BYTES), np.float32)
        _encode_belief(packed, self.size, self.spec.shapes["flat"][0] - self.size * self.size, place, value)
        return Sparse(np.concatenate([plain.place, place], axis=1), np.concatenate([plain.value, value], axis=1))

    def output_slots(self, packed: Packed, layout: str, other: Packed | None = None) -> NDArray[np.int16]:
        if layout == "value":
            return np.zeros((len(packed), 1, 1), np.int16)
        return super().output_slots(packed, layout, other)


@kernel
def _pack_belief(states, players, red, packed):
    for b in range(states.shape[0]):
        other = 1 - players[b]
        for ghost in range(8):
            square = states[b].square[other, ghost]
            if square < 0:
                continue
            place = PLAIN
            for rival in range(8):  # ghosts on lower squares in the observer's view come first
                place += states[b].square[other, rival] > square
            packed[b, place] = np.uint8(np.rint(np.float32(255) * red[b, ghost]))


@kernel
def _encode_belief(packed, size, first, place, value):
    for b in range(packed.shape[0]):
        n = 0
        for square in range(size * size):
            byte = np.int64(packed[b, observation.ENEMIES + (square >> 3)])
            if (byte >> (square & 7)) & 1:
                place[b, n] = first + square
                value[b, n] = 2 * np.float32(packed[b, PLAIN + n]) / np.float32(255) - np.float32(1)
                n += 1
