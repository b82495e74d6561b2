"""The `Agent` interface: chooses actions. Bots, network policies, average policies and people implement it."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from envs.game import Game, ListedGame, States

T = TypeVar("T")


class Named:
    """Shows an object as its class and its attribute ``name``, such as ``PolicyAgent('pretrained:cheat')``."""

    name: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def _begun(self, value: T | None, method: str = "act") -> T:
        """Returns a value that `begin` sets, such as the game; raises RuntimeError where it is still None."""
        if value is None:
            raise RuntimeError(f"{self.name}: call begin(game, batch, rng) before {method}")
        return value


class Agent(Protocol):
    """Plays games of a batch in lock step: a `NumberedAgent` or a `ListedAgent`.

    `act` receives whole states so that agents need no copy of the rules. An agent may use only what `game.observe`
    shows to the player to move; the tests verify this for the bots.

    A shallow copy (`copy.copy`) on which `begin` has been called plays its own games: what changes during play is made
    by `begin`. An agent that consists of other agents copies them, see `copy_with`.
    """

    name: str

    # `Any`, since each kind of agent narrows it to the games that it plays, which `GameBase` would not allow.
    def begin(self, game: Any, batch: int, rng: np.random.Generator) -> None:
        """Starts a new batch of `batch` games; an agent with memory forgets the previous batch here."""
        ...

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """Chooses actions for n games in which this agent is to move.

        Args:
            states: States of those games, `[n]` records.
            games: Indices of those games in the batch, `int64[n]`, distinct; for agents with a memory per game.
            rng: Source of all random draws.

        Returns:
            A legal action for each game, `int64[n]`, or `[n]` records of a `ListedGame`.
        """
        ...


class NumberedAgent(Agent, Protocol):
    """An `Agent` for a `Game`."""

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None: ...

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]: ...


class ListedAgent(Agent, Protocol):
    """An `Agent` for a `ListedGame`."""

    def begin(self, game: ListedGame, batch: int, rng: np.random.Generator) -> None: ...

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]: ...


@runtime_checkable
class Recalls(Protocol):
    """An agent whose moves depend on its earlier ones, and that can take over in the middle of a game."""

    def recall(
        self, states: States, games: NDArray[np.int64], actions: NDArray[np.int64], rng: np.random.Generator
    ) -> None:
        """Takes in moves of its own, in the order of play, as if `act` had chosen them.

        Args:
            states: States in which the agent was to move, `[n]` records.
            games: Indices of those games in the batch, `int64[n]`, distinct.
            actions: What was played there in its place, `int64[n]`.
            rng: Source of all random draws.
        """
        ...


@runtime_checkable
class StatesPolicy(Protocol):
    """An agent that can say with which probability it plays each action."""

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
        """Probability of each action that `act` may return, given the moves taken in by `recall`. Changes no memory.

        Where the agent draws one of several policies for a whole game, this is what an opponent faces who does not know
        which: their average, weighted by the probability of the moves recalled.

        Args:
            states, games: See `Agent.act`.

        Returns:
            `[n, A]`; for a `ListedGame` one number for each of `legal(states).rows`, `[N]`.
        """
        ...


@runtime_checkable
class Mixes(Protocol):
    """An agent that may play a whole game by one policy, drawn at its start."""

    def parts(self, player: int) -> Sequence[tuple[float, Agent]]:
        """Returns the probability and the policy of each of those that a player draws from.

        Returns:
            Agents that are `StatesPolicy` without a memory; none if this agent plays otherwise.
        """
        ...


@runtime_checkable
class Seated(Protocol):
    """An agent that consists of one for each player."""

    def at_seat(self, player: int) -> Agent:
        """Returns the agent that plays for a player."""
        ...


@runtime_checkable
class Adapted(Protocol):
    """An agent that is shown less of a game than there is."""

    def with_inputs(self) -> Agent:
        """Returns an agent of the same policy that sees all of the game, for a training to begin with.

        If there is no such agent, returns one without it.
        """
        ...


@runtime_checkable
class Widens(Protocol):
    """An agent of nets that can take further inputs, which do not change its policy."""

    def widened(self, game: Game) -> Agent:
        """Returns the agent with nets for a variant whose flat inputs begin with those of its own game."""
        ...


def copy_with(agent: T, /, **parts: Any) -> T:
    """Returns a shallow copy of an object, with other values of some attributes; for methods `__copy__`."""
    made = object.__new__(type(agent))
    made.__dict__.update(agent.__dict__ | parts)
    return made
