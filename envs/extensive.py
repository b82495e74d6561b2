"""The `ExtensiveGame` interface: games whose chance events can be enumerated and whose observations are factored.

In addition to `envs.game.Game`, such a game lists the outcomes of chance with their probabilities, and splits what the
players observe of each transition into a public part and a private part of each player (a factored-observation game:
Kovařík, Schmid, Burch, Bowling and Lisý 2022, definition 2.1). Infostates of perfect recall and public states follow
from these observations, see `envs.tree`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pettingzoo import AECEnv

from envs.faults import chance_fault, changed, unchanged_fault
from envs.game import Game, GameSpec, IllegalAction, Packed, States
from envs.playable import Playable

OVER, CHANCE = -1, -2
"""Movers that are not players: the game has ended, or chance is to move."""

MOST_OUTCOMES = 10_000
"""Outcomes of chance in a row after which a game is taken to be one whose chance never ends."""


class TooManyOutcomes(ValueError):
    """A game has too many outcomes of chance to list them."""


@runtime_checkable
class ExtensiveGame(Game, Protocol):
    """A game whose chance events can be enumerated. Methods without a docstring are those of `Game`."""

    def initial(self, batch: int) -> States:
        """Returns `batch` games before their first chance event."""
        ...

    def mover(self, states: States) -> NDArray[np.int8]:
        """Returns the player to move, `CHANCE` or `OVER`, `int8[B]`."""
        ...

    def chance(self, states: States) -> NDArray[np.float64]:
        """Returns the probability of each outcome, `float64[B, O]`; rows where chance is not to move are undefined."""
        ...

    def apply(self, states: States, choices: NDArray[np.integer]) -> None:
        """Plays `choices[b]`, a legal action or an outcome of chance, in place; neither draws chance nor checks."""
        ...

    def public(self, states: States) -> NDArray[np.int64]:
        """Returns the public observation of the last transition as a code from 0, `int64[B]`."""
        ...

    def private(self, states: States, player: int) -> NDArray[np.int64]:
        """Returns the private observation of `player` as a code from 0, `int64[B]`, without the player's own action."""
        ...

    def utilities(self, states: States) -> NDArray[np.float64]:
        """Returns the return of each player, `float64[B, players]`; zeros while a game runs."""
        ...


class ListedChance(Playable, ABC):
    """Base class of games that enumerate chance: draws chance, checks actions, and plays them by `apply`.

    The states of a subclass have a field ``mover``, which `apply` updates.
    """

    spec: GameSpec

    @abstractmethod
    def initial(self, batch: int) -> States: ...

    @abstractmethod
    def legal(self, states: States) -> NDArray[np.bool_]: ...

    @abstractmethod
    def chance(self, states: States) -> NDArray[np.float64]: ...

    @abstractmethod
    def apply(self, states: States, choices: NDArray[np.integer]) -> None: ...

    @abstractmethod
    def utilities(self, states: States) -> NDArray[np.float64]: ...

    @abstractmethod
    def place(self, states: States, b: int) -> str:
        """Names game b and its position, for error messages."""

    def mover(self, states: States) -> NDArray[np.int8]:
        return states["mover"].copy()

    def to_move(self, states: States) -> NDArray[np.int8]:
        return states["mover"].copy()

    def finished(self, states: States) -> NDArray[np.bool_]:
        return np.asarray(states["mover"] == OVER)

    def endings(self, states: States) -> NDArray[np.int8]:
        return self.finished(states).astype(np.int8)

    def returns(self, states: States) -> NDArray[np.float32]:
        return self.utilities(states).astype(np.float32)

    def reset(self, batch: int, rng: np.random.Generator) -> States:
        states = self.initial(batch)
        self._draw_chance(states, rng)
        return states

    def step(self, states: States, actions: NDArray[np.integer], rng: np.random.Generator) -> None:
        """See `Game.step`.

        Raises:
            IllegalAction: an action is not legal; no state has been changed.
            ValueError: `actions` is not an integer array `[B]`; no state has been changed.
        """
        chosen = np.asarray(actions)
        if chosen.shape != states.shape or chosen.dtype.kind not in "iu":
            raise ValueError(f"actions must be integers [{len(states)}], got {chosen.dtype}{list(chosen.shape)}")
        running = states["mover"] >= 0
        inside = (chosen >= 0) & (chosen < self.spec.num_actions)
        legal = self.legal(states)[np.arange(len(states)), np.where(inside, chosen, 0)] & inside
        if (bad := np.flatnonzero(running & ~legal)).size:
            first = int(bad[0])
            raise IllegalAction(f"{self.place(states, first)}: action {int(chosen[first])} is not legal")
        part = states if running.all() else states[running]
        self.apply(part, chosen[running])
        self._draw_chance(part, rng)
        if part is not states:
            states[running] = part

    def _draw_chance(self, states: States, rng: np.random.Generator) -> None:
        """Draws chance events until a player is to move, or the game is over, everywhere.

        Raises:
            ValueError: `chance` returns another shape, or probabilities that are negative or do not sum to 1;
                or chance does not stop moving.
        """
        drawn = 0
        while len(at := np.flatnonzero(states["mover"] == CHANCE)):
            if (drawn := drawn + 1) > MOST_OUTCOMES:
                raise ValueError(
                    f"{self.spec.name}: after {MOST_OUTCOMES:,} outcomes of chance in a row chance is still to move; "
                    "`apply` has to change the states that it is given, and to name the next mover in them"
                )
            part = states[at]
            probabilities = self.chance(part)
            if fault := chance_fault(probabilities, len(part), 1e-6):
                raise ValueError(f"{self.spec.name}: {fault}")
            bounds = np.cumsum(probabilities, axis=1)
            draws = rng.random(len(part)) * bounds[:, -1]
            outcomes = (bounds <= draws[:, None]).sum(axis=1)
            self.apply(part, outcomes)
            if (part["mover"] == CHANCE).all() and self._is_stuck(states[at], part, probabilities[0]):
                raise ValueError(f"{self.spec.name}: {unchanged_fault('apply', int(outcomes[0]))}")
            states[at] = part

    def _is_stuck(self, before: States, after: States, chances: NDArray[np.float64]) -> bool:
        """Returns whether no game has changed, and the first one would not at any other outcome of its chances."""
        if changed(before, after).any():
            return False
        outcomes = np.flatnonzero(chances)
        tried = np.repeat(before[:1], len(outcomes))
        self.apply(tried, outcomes)
        return not changed(np.repeat(before[:1], len(outcomes)), tried).any()

    def output_slots(self, packed: Packed, layout: str, other: Packed | None = None) -> NDArray[np.int16]:
        """The only layout, ``action``, has one output per action."""
        every = np.arange(self.spec.num_actions, dtype=np.int16)[None, :, None]
        return np.broadcast_to(every, (len(packed), self.spec.num_actions, 1))


class FactoredGame(ListedChance):
    """Base class of games with public and private observations and a text form. Implements `ExtensiveGame`."""

    may_differ: ClassVar[frozenset[str]] = frozenset()
    """Options whose value may differ between the training of an agent and its games."""

    public_actions: ClassVar[bool] = False
    """Whether every player sees every action, as in poker; not where bids or discards are hidden."""

    timed: ClassVar[bool] = True
    """Whether players can tell how many moves have been made. If not, `observe` must show all that a player has done
    and seen, and infosets are told apart by it in place of `public` and `private`."""

    input_bounds: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    """Bounds of the numbers that `encode` returns, for the spaces of environments."""

    @abstractmethod
    def public(self, states: States) -> NDArray[np.int64]:
        """Returns the public observation of the last transition, as a code from 0, `int64[B]`.

        The tree asks after every `apply`, also after that which ended a game; never for initial states.
        """

    @abstractmethod
    def private(self, states: States, player: int) -> NDArray[np.int64]:
        """Returns the private observation of the last transition by `player`, as a code from 0, `int64[B]`; 0 for none.

        Asked for each player when `public` is. It omits the player's own action, which the tree adds to the history.
        """

    @abstractmethod
    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        """Returns the packed infostate of `players[b]` in game b, `uint8[B, P]`: all that the player may know so far.

        It may contain less than `public`, `private` and the player's own actions have shown since the start, but never
        more.
        """

    @abstractmethod
    def encode(self, packed: Packed, encoding: str = "flat") -> NDArray[np.float32]:
        """Unpacks infostates `uint8[B, P]` for a network, `float32[B, *spec.shapes[encoding]]`."""

    @abstractmethod
    def describe(self, state: np.void, view: int | None = None) -> str:
        """Describes a state in one line, as the player `view` sees it, or completely for None."""

    def describe_hand(self, state: np.void, player: int) -> str:
        """Describes the part of a player's infostate that the other cannot see; by default all of it."""
        return self.describe(state, player)

    @abstractmethod
    def describe_action(self, action: int) -> str:
        """Returns the name of an action."""

    def raw_env(self, render_mode: str | None = None, **options: Any) -> AECEnv:
        from envs.factored_env import FactoredEnv

        return FactoredEnv(self, render_mode, **options)

    def place(self, states: States, b: int) -> str:
        position = self.describe(states[b], int(states["mover"][b]))  # the mover reads it: show nothing hidden
        return f"game {b} ({position})"


def one_hot(values: NDArray[np.integer], size: int) -> NDArray[np.float32]:
    """Encodes integers as one-hot vectors, `float32[..., size]`; values out of range become zeros."""
    return np.asarray((np.asarray(values)[..., None] == np.arange(size)).astype(np.float32))


def check_types(game: object, types: Mapping[str, type]) -> None:
    """Raises a TypeError if an option of a game has another type than stated; `True` is not an integer here."""
    for name, kind in types.items():
        value = getattr(game, name)
        if type(value) is not kind:
            wanted = {int: "an integer", bool: "true or false", str: "a string"}[kind]
            raise TypeError(f"{name} must be {wanted}, got {value!r}")


__all__ = [
    "CHANCE", "MOST_OUTCOMES", "OVER", "ExtensiveGame", "FactoredGame", "ListedChance", "TooManyOutcomes",
    "check_types", "one_hot",
]  # fmt: skip
