"""The `Game` seam: what a learner may ask of a game, always over a batch of B states.

A game is a stateless object that holds its options. Its states are a NumPy structured array with one record a game
(`B` records); nothing is allocated per game. Infostates leave the game *packed* (`uint8[B, P]`, a few dozen bytes) and
are unpacked to `float32` only when a network wants them.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from envs.sparse import Sparse

States = NDArray[np.void]
Packed = NDArray[np.uint8]


class IllegalAction(ValueError):
    """An action that the rules do not allow in this state."""


class GameOver(RuntimeError):
    """A move, or an observation of the player to move, was asked of a game that has ended or not begun."""


@dataclass(frozen=True)
class GameSpec:
    """What never changes while a game is played.

    Attributes:
        name: Name on the command line, e.g. ``geister``.
        num_players: Number of players. The learners here need 2 with zero sum.
        num_actions: `A`. Actions are 0 .. A-1, those not legal are masked.
        packed_size: `P`, bytes of a packed infostate.
        shapes: Float shape of an unpacked infostate for each encoding that the game offers,
            e.g. ``{"planes": (6, 6, 6), "flat": (111,)}``. The first is the default.
        slots: Number of network outputs for each output layout, e.g. ``{"ghost": 32, "square": 144}``, see
            `Game.output_slots`. The first has one output an action.
        endings: Name of each reason for which a game can end, index 0 meaning "still running".
        max_plies: No game has more decisions than this.
        max_return: Largest absolute return.
        action_features: Length of the vector that describes one action where the legal actions are ragged, see
            `RaggedGame`; 0 where they are fixed.
        teams: Team of each player; empty where everybody plays for himself.
    """

    name: str
    num_players: int
    num_actions: int
    packed_size: int
    shapes: dict[str, tuple[int, ...]]
    slots: dict[str, int]
    endings: tuple[str, ...]
    max_plies: int
    max_return: float = 1.0
    action_features: int = 0
    teams: tuple[int, ...] = ()


class Ragged(NamedTuple):
    """Legal actions of B states, one list after the other.

    Attributes:
        offsets: Where each list begins, and the end of the last one, `int64[B + 1]`.
        rows: The actions, `[N]` records of the game's action type.
    """

    offsets: NDArray[np.int64]
    rows: NDArray[np.void]


@runtime_checkable
class Game(Protocol):
    """Batched rules of one game. Arrays over a batch have the batch as first dimension."""

    @property
    def spec(self) -> GameSpec:
        """What never changes while the game is played."""
        ...

    def reset(self, batch: int, rng: np.random.Generator) -> States:
        """New games, `[batch]` records, chance at the start already drawn from `rng`."""
        ...

    def to_move(self, states: States) -> NDArray[np.int8]:
        """Player to move, `int8[B]`; -1 where the game has ended."""
        ...

    def legal(self, states: States) -> NDArray[np.bool_]:
        """Legal actions of the player to move, `bool[B, A]`; all False where the game has ended."""
        ...

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        """Packed infostate of `players[b]` in game b, `uint8[B, P]`."""
        ...

    def step(self, states: States, actions: NDArray[np.integer], rng: np.random.Generator) -> None:
        """Plays `actions[b]` in game b, in place. Finished games are left alone.

        Raises:
            IllegalAction: an action is not legal; no state has been changed.
        """
        ...

    def finished(self, states: States) -> NDArray[np.bool_]:
        """Which games have ended, `bool[B]`."""
        ...

    def returns(self, states: States) -> NDArray[np.float32]:
        """Return of each player so far, `float32[B, players]`; all zero while a game runs."""
        ...

    def endings(self, states: States) -> NDArray[np.int8]:
        """Index into `spec.endings`, `int8[B]`; 0 while the game runs."""
        ...

    def encode(self, packed: Packed, encoding: str) -> NDArray[np.float32]:
        """Unpacks infostates for a network, `float32[B, *spec.shapes[encoding]]`."""
        ...

    def output_slots(self, packed: Packed, layout: str, other: Packed | None = None) -> NDArray[np.int16]:
        """The network outputs whose sum stands for each action, `int16[B, A, K]`; -1 for none.

        Args:
            packed: Infostates of the players to move, `uint8[B, P]`.
            layout: Key of `spec.slots`; `K` depends on it.
            other: Infostates of the other players, for networks that see both.
        """
        ...


@runtime_checkable
class SparseGame(Game, Protocol):
    """A game that knows which inputs of its flat encoding are not 0: networks then skip the others."""

    def encode_sparse(self, packed: Packed) -> Sparse:
        """Encoding ``flat`` of infostates `uint8[B, P]` by its inputs that are not 0."""
        ...


@runtime_checkable
class RaggedGame(Protocol):
    """Batched rules of a game whose actions are too many to be numbered: each state lists its own.

    An action is a record of `action_dtype` that says all of it. Methods that are not described are those of `Game`.
    """

    @property
    def spec(self) -> GameSpec: ...

    @property
    def action_dtype(self) -> np.dtype[np.void]:
        """Record type of an action."""
        ...

    def reset(self, batch: int, rng: np.random.Generator) -> States: ...

    def to_move(self, states: States) -> NDArray[np.int8]: ...

    def legal(self, states: States) -> Ragged:
        """Every legal action of the player to move; an empty list where the game has ended."""
        ...

    def choices(self, states: States) -> Ragged:
        """`legal` without actions that have the same vector as another one: what a learner chooses among."""
        ...

    def step(self, states: States, actions: NDArray[np.void]) -> None:
        """Plays `actions[b]`, `[B]` records, in game b, in place. Finished games are left alone.

        Raises:
            IllegalAction: an action is not legal; no state has been changed.
        """
        ...

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed: ...

    def encode(self, packed: Packed, encoding: str) -> NDArray[np.float32]: ...

    def encode_actions(self, actions: NDArray[np.void]) -> Sparse:
        """The vectors of actions, `spec.action_features` long, by their entries that are not 0."""
        ...

    def finished(self, states: States) -> NDArray[np.bool_]: ...

    def returns(self, states: States) -> NDArray[np.float32]: ...

    def endings(self, states: States) -> NDArray[np.int8]: ...

    def rounds(self, states: States) -> NDArray[np.int64]:
        """Rounds, each with a return of its own, that have ended in each game, `int64[B]`."""
        ...

    def round_returns(self, states: States) -> NDArray[np.float32]:
        """Returns of the last round that has ended, `float32[B, players]`."""
        ...

    def scripted(self, states: States) -> NDArray[np.bool_]:
        """Decisions that are left to `script` unless they are to be learnt too, `bool[B]`."""
        ...

    def script(self, states: States, choices: Ragged) -> NDArray[np.int64]:
        """A heuristic's choice for states that are all scripted: rows of `choices`, `int64[B]`."""
        ...
