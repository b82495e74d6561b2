"""The seam for games of which all can be computed: chance moves openly, and observations are public or private.

Beyond what `envs.game.Game` asks, such a game lets chance be enumerated instead of drawn, and says of every transition
what all players see of it and what one player sees alone (a factored-observation game: Kovařík, Schmid, Burch, Bowling
and Lisý 2022, definition 2.1). From that follow infostates of perfect recall and public states, see `envs.tree`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from envs.game import Game, GameSpec, IllegalAction, Packed, States

OVER, CHANCE = -1, -2
"""Movers that are no players: the game has ended; chance is to move."""


@runtime_checkable
class ExtensiveGame(Game, Protocol):
    """A game whose chance moves can be enumerated. Methods that are not described are those of `Game`."""

    def initial(self, batch: int) -> States:
        """`batch` games before anything has happened, chance included."""
        ...

    def mover(self, states: States) -> NDArray[np.int8]:
        """Player to move, `int8[B]`; `CHANCE`, or `OVER`."""
        ...

    def chance(self, states: States) -> NDArray[np.float64]:
        """Probability of each outcome, `float64[B, O]`, where chance is to move; what stands elsewhere is unsaid."""
        ...

    def apply(self, states: States, choices: NDArray[np.integer]) -> None:
        """Plays `choices[b]`, a legal action or an outcome of chance, in place, without drawing or checking."""
        ...

    def public(self, states: States) -> NDArray[np.int64]:
        """What all players saw of the last transition, `int64[B]`, any code from 0."""
        ...

    def private(self, states: States, player: int) -> NDArray[np.int64]:
        """What `player` saw of it besides, his own action left out, `int64[B]`, any code from 0."""
        ...

    def utilities(self, states: States) -> NDArray[np.float64]:
        """Return of each player, `float64[B, players]`; all zero while a game runs."""
        ...


class ListedChance(ABC):
    """What games that list their chance have in common: drawing it, checking actions, and what follows from `apply`.

    The states of a subclass have a field ``mover``, which `apply` keeps.
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
        """Where game b stands, for messages."""

    def mover(self, states: States) -> NDArray[np.int8]:
        return states["mover"].copy()

    def to_move(self, states: States) -> NDArray[np.int8]:
        return states["mover"].copy()

    def finished(self, states: States) -> NDArray[np.bool_]:
        return states["mover"] == OVER

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
            ValueError: the actions are not an integer for each game; no state has been changed.
        """
        chosen = np.asarray(actions)
        if chosen.shape != states.shape or chosen.dtype.kind not in "iu":
            raise ValueError(f"{len(states)} games need an integer each, not {chosen.dtype}{list(chosen.shape)}")
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
        """Lets chance move until it is no longer to move anywhere."""
        while len(at := np.flatnonzero(states["mover"] == CHANCE)):
            part = states[at]
            bounds = np.cumsum(self.chance(part), axis=1)
            draws = rng.random(len(part)) * bounds[:, -1]
            self.apply(part, (bounds <= draws[:, None]).sum(axis=1))
            states[at] = part

    def output_slots(self, packed: Packed, layout: str, other: Packed | None = None) -> NDArray[np.int16]:
        """``action``: an output for each action."""
        every = np.arange(self.spec.num_actions, dtype=np.int16)[None, :, None]
        return np.broadcast_to(every, (len(packed), self.spec.num_actions, 1))


class FactoredGame(ListedChance):
    """A game that also tells public from private observations, and describes itself. Satisfies `ExtensiveGame`."""

    may_differ: ClassVar[frozenset[str]] = frozenset()
    """Options in which an agent may meet other values than those it was trained with."""

    @abstractmethod
    def public(self, states: States) -> NDArray[np.int64]: ...

    @abstractmethod
    def private(self, states: States, player: int) -> NDArray[np.int64]: ...

    @abstractmethod
    def observe(self, states: States, players: NDArray[np.int8]) -> Packed: ...

    @abstractmethod
    def encode(self, packed: Packed, encoding: str = "flat") -> NDArray[np.float32]: ...

    @abstractmethod
    def describe(self, state: np.void, view: int | None = None) -> str:
        """The state in a line; with `view`, as that player sees it."""

    @abstractmethod
    def describe_action(self, action: int) -> str:
        """Name of an action."""

    def place(self, states: States, b: int) -> str:
        told = self.describe(states[b], int(states["mover"][b]))  # the mover may read it: nothing hidden
        return f"game {b} ({told})"


def one_hot(values: NDArray[np.integer], size: int) -> NDArray[np.float32]:
    """`float32[..., size]` with a 1 at each value; all 0 for values outside."""
    return (np.asarray(values)[..., None] == np.arange(size)).astype(np.float32)


def check_types(game: object, types: Mapping[str, type]) -> None:
    """Raises TypeError where an option of a game is not of its type: `True` is no number."""
    for name, kind in types.items():
        value = getattr(game, name)
        if type(value) is not kind:
            wanted = {int: "an integer", bool: "true or false", str: "a text"}[kind]
            raise TypeError(f"{name} must be {wanted}, not {value!r}")


__all__ = ["CHANCE", "OVER", "ExtensiveGame", "FactoredGame", "ListedChance", "check_types", "one_hot"]
