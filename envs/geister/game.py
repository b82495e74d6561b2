"""Geister and Mini Geister as an `envs.game.SparseGame` and an `envs.hidden.HiddenGame`."""

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pettingzoo import AECEnv

from envs.game import GameSpec, IllegalAction, Packed, States, check_players
from envs.geister import arrangements, history, observation, reading, rules
from envs.playable import Playable, rules_of
from envs.sparse import Sparse, dense

_RETURNS = np.array([[1, -1], [-1, 1], [0, 0]], np.float32)  # by winner; the last row, -1, is a draw


@dataclass(frozen=True)
class Geister(Playable):
    """Batched Geister (6x6) or Mini Geister (4x4). Implements `envs.game.SparseGame` and `envs.hidden.HiddenGame`.

    Attributes:
        size: Width of the board, 6 or 4.
        ply_limit: Number of moves of both players after which the game is a draw. Paper 000 uses 100 in training and
            300 in evaluation.
        random_setup: Whether the colour layouts are drawn at the start; otherwise the first action of each player
            chooses a layout.
        forced_escape: Whether a player who can escape must ("finishing blow assistance", paper 000, 5.1).
        observation_limit: Divisor of the ply in an observation.
        clip_ply: Whether the ply divided by `observation_limit` is limited to 1 in an observation, so that longer games
            stay in the range of the training.
        history: Whether states and infostates include what each ghost has done so far, see `envs.geister.history`.

    Raises:
        TypeError: an option of the wrong type.
        ValueError: an option is out of range.
    """

    may_differ: ClassVar[frozenset[str]] = frozenset(
        {"ply_limit", "random_setup", "forced_escape", "observation_limit", "clip_ply", "history"}
    )

    size: int = 6
    ply_limit: int = 100
    random_setup: bool = True
    forced_escape: bool = True
    observation_limit: int = 100
    clip_ply: bool = True
    history: bool = False
    secret: ClassVar[str] = "colour of a ghost"
    secret_values: ClassVar[tuple[str, ...]] = reading.VALUES
    spec: GameSpec = field(init=False, repr=False, compare=False)
    _layouts: NDArray[np.uint8] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for each in fields(self):  # otherwise `True` would pass as a number, and any string as true
            value = getattr(self, each.name) if each.init else None
            if each.init and type(value) is not type(each.default):
                kind = "true or false" if isinstance(each.default, bool) else "an integer"
                raise TypeError(f"{each.name} must be {kind}, got {value!r}")
        layouts = rules.layouts(self.size)
        if not 1 <= self.ply_limit <= 32_000:
            raise ValueError(f"ply_limit must be from 1 to 32000, got {self.ply_limit}")
        if self.observation_limit < 1:
            raise ValueError(f"observation_limit must be at least 1, got {self.observation_limit}")
        object.__setattr__(self, "_layouts", layouts)
        moves = 4 * rules.ghost_count(self.size)
        area = self.size * self.size
        flat = 3 * area + 4 + (history.extra_inputs(self.size) if self.history else 0)
        spec = GameSpec(
            name="geister" if self.size == 6 else "mini-geister",
            num_players=2,
            num_actions=moves if self.random_setup else max(moves, len(layouts)),
            packed_size=history.PACKED_SIZE if self.history else observation.PACKED_SIZE,
            shapes={"planes": (6, self.size, self.size), "flat": (flat,)},
            slots={
                "ghost": moves if self.random_setup else max(moves, len(layouts)),
                "colour": moves if self.random_setup else max(moves, len(layouts)),
                "square": 4 * area,
                "move": 4 * area + observation.KINDS,
            },
            endings=rules.ENDINGS,
            max_plies=self.ply_limit + (0 if self.random_setup else 2),
        )
        object.__setattr__(self, "spec", spec)

    def raw_env(self, render_mode: str | None = None, **options: Any) -> AECEnv:
        from envs.geister.env import raw_env

        return raw_env(render_mode=render_mode, **rules_of(self), **options)

    def reset(self, batch: int, rng: np.random.Generator) -> States:
        reds = None
        if self.random_setup:
            # scaled draws: the fixed cost of `rng.integers`, 7 us, exceeds that of all the rest
            reds = self._layouts[(rng.random((batch, 2)) * len(self._layouts)).astype(np.intp)]
        return rules.new_states(batch, self.size, reds, history.STATE if self.history else rules.STATE)

    def to_move(self, states: States) -> NDArray[np.int8]:
        movers = np.empty(len(states), np.int8)
        rules.movers(states, movers)
        return movers

    def legal(self, states: States) -> NDArray[np.bool_]:
        moves = np.empty((len(states), rules.ghost_count(self.size)), np.uint32)
        rules.legal_moves(states, self.size, self.forced_escape, moves)
        mask = moves.view(np.bool_)
        if self.random_setup:
            return mask
        wide = np.zeros((len(states), self.spec.num_actions), np.bool_)
        wide[:, : mask.shape[1]] = mask
        wide[states["placed"] < 2, : len(self._layouts)] = True
        return wide

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        """See `Game.observe`.

        Raises:
            ValueError: with `history`, if the states have none; or if `players` has not one of both players per state.
        """
        check_players(players, len(states), 2)
        packed = np.empty((len(states), history.PACKED_SIZE if self.history else observation.PACKED_SIZE), np.uint8)
        observation.observe_into(states, players, self.size, packed)
        if self.history:
            _check_history(states)
            history.observe_into(states, players, self.size, packed)
        return packed

    def step(self, states: States, actions: NDArray[np.integer], rng: np.random.Generator | None = None) -> None:
        _check_integers(actions, len(states), "actions")
        if self.history:
            _check_history(states)
        step = history.step_batch if self.history else rules.step_batch
        bad = step(states, actions, self.size, self.ply_limit, self.forced_escape, self._layouts)
        if bad >= 0:
            raise IllegalAction(
                f"game {bad}, ply {states[bad]['ply']}: {self.describe(int(actions[bad]))} is not legal"
            )

    def finished(self, states: States) -> NDArray[np.bool_]:
        return np.asarray(states["ending"] != rules.RUNNING)

    def returns(self, states: States) -> NDArray[np.float32]:
        return np.asarray(_RETURNS[states["winner"]])

    def endings(self, states: States) -> NDArray[np.int8]:
        return states["ending"].copy()

    def encode(self, packed: Packed, encoding: str = "planes") -> NDArray[np.float32]:
        _check_packed(packed, self.spec.packed_size)
        out = np.empty((len(packed), *self.spec.shapes[encoding]), np.float32)
        if encoding == "planes":
            observation.encode_planes(packed, self.size, self.observation_limit, self.clip_ply, out)
        else:
            dense(*self.encode_sparse(packed), out)
        return out

    def encode_sparse(self, packed: Packed) -> Sparse:
        _check_packed(packed, self.spec.packed_size)
        shape = len(packed), history.SPARSE_INPUTS if self.history else observation.SPARSE_INPUTS
        place, value = np.empty(shape, np.int16), np.empty(shape, np.float32)
        observation.encode_sparse(packed, self.size, self.observation_limit, self.clip_ply, place, value)
        if self.history:
            used = history.encode_sparse(packed, self.size, place, value)
            place, value = np.ascontiguousarray(place[:, :used]), np.ascontiguousarray(value[:, :used])
        return Sparse(place, value)

    def output_slots(self, packed: Packed, layout: str, other: Packed | None = None) -> NDArray[np.int16]:
        """See `Game.output_slots`.

        Layout ``ghost`` has an output per ghost and direction, with ghosts in the order of their starting squares;
        ``colour`` the same with the player's blue ghosts before the red ones; ``square`` one per square and direction,
        because the planes do not tell ghosts of one colour apart; ``move`` adds to ``square`` an output per kind of
        move, which all squares share.
        """
        _check_packed(packed, self.spec.packed_size)
        if other is not None and other.shape != packed.shape:
            raise ValueError(f"other must have the shape {list(packed.shape)} of packed, got {list(other.shape)}")
        actions, moves = self.spec.num_actions, 4 * rules.ghost_count(self.size)
        if layout == "ghost":
            every = np.arange(actions, dtype=np.int16)[None, :, None]
            return np.broadcast_to(every, (len(packed), actions, 1))
        slots = np.empty((len(packed), actions, 2 if layout == "move" else 1), np.int16)
        if layout == "move":
            observation.move_slots(packed, packed[:0] if other is None else other, self.size, moves, slots)
        elif layout == "colour":
            observation.colour_slots(packed, moves, slots)
        else:
            observation.square_slots(packed, self.size, moves, slots)
        return slots

    def possible(self, states: States, players: NDArray[np.int8]) -> NDArray[np.bool_]:
        """See `HiddenGame.possible`: the arrangements are the colour layouts that agree with the captured ghosts."""
        check_players(players, len(states), 2)
        found = np.empty((len(states), len(self._layouts)), np.bool_)
        arrangements.possible(states, players, self._layouts, found)
        return found

    def arrange(self, states: States, players: NDArray[np.int8], chosen: NDArray[np.int64]) -> None:
        """See `HiddenGame.arrange`."""
        check_players(players, len(states), 2)
        _check_integers(chosen, len(states), "chosen")
        arrangements.arrange(states, players, chosen, self._layouts)

    def secrets(self, states: States, players: NDArray[np.int8]) -> NDArray[np.int8]:
        """See `envs.capabilities.Readable.secrets`: the colours of the player's ghosts."""
        check_players(players, len(states), 2)
        return reading.secrets(states, players, self.size)

    def odds(self, states: States, players: NDArray[np.int8]) -> NDArray[np.float32]:
        """See `envs.capabilities.Readable.odds`."""
        check_players(players, len(states), 2)
        return reading.odds(states, players, self.size)

    def clues(self, states: States, players: NDArray[np.int8]) -> NDArray[np.float32]:
        """See `envs.capabilities.Readable.clues`; with `history` they include the past of each ghost."""
        check_players(players, len(states), 2)
        return reading.clues(states, players, self.size)

    def disguise(self, packed: Packed, rng: np.random.Generator) -> Packed:
        """See `envs.capabilities.DisguisedGame`: other colours of the ghosts on the board."""
        _check_packed(packed, self.spec.packed_size)
        return observation.disguise(packed, rng.random((len(packed), 8)))

    def describe(self, action: int) -> str:
        """Describes an action, such as ``action 0 (A NORTH)``; a layout by its number."""
        if 0 <= action < 4 * rules.ghost_count(self.size):
            return f"action {action} ({'ABCDEFGH'[action // 4]} {rules.DIRECTIONS[action % 4]})"
        return f"action {action}"


def _check_integers(array: NDArray[np.integer], length: int, name: str) -> None:
    """Raises a ValueError unless an array has one integer per game: compiled code does not check bounds."""
    if array.shape != (length,) or array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers [{length}], one for each game, got {array.dtype}{list(array.shape)}")


def _check_history(states: States) -> None:
    """Raises a ValueError unless the states have the fields of `envs.geister.history`."""
    if not states.dtype.names or history.FIELDS[0][0] not in states.dtype.names:
        raise ValueError("the states have no history: make them with reset() of a game with history=True")


def _check_packed(packed: Packed, size: int) -> None:
    """Raises a ValueError unless `packed` is an array of packed infostates, `uint8[B, size]`."""
    if packed.ndim != 2 or packed.shape[1] != size:
        raise ValueError(f"packed infostates must be [B, {size}], got {list(packed.shape)}")
