"""Capabilities of some games, beyond `envs.game`: learners and agents use them where a game has them.

Of the games of this repository GuanDan alone has those of `ListedGame`s, `Redeals`, `RedealsLikely`, `PlaysOut`,
`Situations` and `FullView`, and Geister, Kuhn and Leduc alone are `Readable` and `DisguisedGame`s.
"""

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from envs.game import Game, GameBase, ListedGame, Packed, Ragged, States
from envs.sparse import Sparse

TOLERANCE = 1e-4
"""Largest difference from 1 of the sum of an infoset's probabilities, which exact evaluations divide by the sum."""


@runtime_checkable
class SeededGame(Protocol):
    """A game in which all randomness at a table is determined by a seed."""

    def start(self, seeds: NDArray[np.uint64]) -> States:
        """Returns new tables for the seeds, `uint64[B]`."""
        ...


@runtime_checkable
class RelativeActions(Protocol):
    """A `ListedGame` whose vectors of actions may depend on the infostate of the player."""

    def encode_choices(
        self, packed: Packed, offsets: NDArray[np.int64], actions: NDArray[np.void], encoding: str
    ) -> Sparse:
        """Returns the feature vectors of the choices of D infostates, of length ``spec.action_inputs(encoding)``.

        Args:
            packed: Infostates of the movers, `uint8[D, P]`.
            offsets: The choices of infostate d are ``offsets[d]`` to ``offsets[d + 1]`` - 1, `int64[D + 1]`.
            actions: All choices, `[N]` records.
            encoding: That of the infostates, a key of `spec.shapes`.
        """
        ...


@runtime_checkable
class Appraises(RelativeActions, Protocol):
    """A game some of whose inputs are so costly that they are computed once, and stored in samples.

    These *notes* are given to `encode`, `encode_choices` and, by a `FullView`, to `encode_full`, which otherwise
    compute them.
    """

    def encode(
        self, packed: Packed, encoding: str, notes: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]: ...

    def encode_choices(
        self,
        packed: Packed,
        offsets: NDArray[np.int64],
        actions: NDArray[np.void],
        encoding: str,
        notes: NDArray[np.float32] | None = None,
    ) -> Sparse: ...

    def notes(self, encoding: str) -> tuple[int, int]:
        """Returns the number of notes of an infostate, `S`, and of a choice, `C`; 0 where an encoding has none."""
        ...

    def appraise(
        self, packed: Packed, offsets: NDArray[np.int64], actions: NDArray[np.void], encoding: str
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Computes the notes of D infostates, `float32[D, S]`, and of their choices, `float32[N, C]`.

        Args:
            packed, offsets, actions, encoding: See `RelativeActions.encode_choices`.

        Raises:
            ValueError: the offsets are not those of the actions.
        """
        ...


@runtime_checkable
class Candidates(Protocol):
    """A `ListedGame` that can leave out choices that are as good as others.

    Attributes:
        alike: Fields of actions that agree in a set of choices of which one is kept.
    """

    alike: tuple[str, ...]

    def candidates(self, states: States) -> Ragged:
        """Lists one of each set of choices that are nearly the same to the player to move."""
        ...


@runtime_checkable
class FullView(Protocol):
    """A game that shows a critic, which exists in training only, the state hidden from the player to move."""

    @property
    def hidden_size(self) -> int:
        """Bytes `Q` that `observe_hidden` returns for a state."""
        ...

    @property
    def full_inputs(self) -> int:
        """Inputs `F` of a critic."""
        ...

    def observe_hidden(self, states: States, players: NDArray[np.int8]) -> Packed:
        """Packs the others' hands, `uint8[B, Q]`."""
        ...

    def encode_full(
        self, packed: Packed, hidden: Packed, notes: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Unpacks infostates and the state hidden from their players as the input of a critic, `float32[B, F]`.

        Only games that implement `Appraises` are given notes.
        """
        ...


@runtime_checkable
class FullListedGame(ListedGame, FullView, Protocol):
    """A `ListedGame` with a `FullView`."""


def full_view(game: GameBase) -> FullView:
    """Returns a game as one with a `FullView`.

    Raises:
        TypeError: it has none.
    """
    if not isinstance(game, FullView):
        raise TypeError(f"{game.spec.name} shows a critic no more than its players see")
    return game


@runtime_checkable
class Redeals(Protocol):
    """A game that can resample the state hidden from a player, consistently with the player's infostate."""

    def redeal(self, states: States, players: NDArray[np.int8], seeds: NDArray[np.uint64]) -> None:
        """Resamples the cards hidden from `players[b]` by `seeds[b]`, in place; the player's infostate is unchanged."""
        ...


@runtime_checkable
class RedealsLikely(Redeals, Protocol):
    """A game that can also draw the hidden state by how likely plays so far make it."""

    def redeal_likely(self, states: States, players: NDArray[np.int8], seeds: NDArray[np.uint64]) -> None:
        """Like `redeal`, with the probabilities of a belief that follows from the public history."""
        ...


def redeal_by_belief(game: Redeals, states: States, players: NDArray[np.int8], seeds: NDArray[np.uint64]) -> None:
    """Resamples the hidden state by the game's belief, or, in a game without one, by `Redeals.redeal`."""
    (game.redeal_likely if isinstance(game, RedealsLikely) else game.redeal)(states, players, seeds)


@runtime_checkable
class PlaysOut(Protocol):
    """A game that can quickly play rounds to their ends by a fixed rule, which sees all that is hidden."""

    def play_out(self, states: States) -> NDArray[np.float32]:
        """The returns of the rounds, `float32[B, players]`; NaN at states from which the rule cannot play."""
        ...


@runtime_checkable
class Rounds(Protocol):
    """A game of several rounds, in which `spec.max_return` is the largest return of a round.

    Attributes:
        largest_return: Largest absolute return of a whole game.
    """

    @property
    def largest_return(self) -> float: ...


def largest_return(game: GameBase) -> float:
    """Returns the largest absolute return of a whole game."""
    return game.largest_return if isinstance(game, Rounds) else game.spec.max_return


@runtime_checkable
class Situations(Redeals, Protocol):
    """A game that sorts decisions by situation and writes them down, for the comparison of two agents.

    Attributes:
        situations: Names of the situations.
    """

    situations: tuple[str, ...]

    def situation_of(self, states: States) -> NDArray[np.int8]:
        """Returns the situation of each decision as an index of `situations`, `int8[B]`."""
        ...

    def picture(self, state: np.void) -> str:
        """Returns the infostate of the player to move, as text."""
        ...

    def describe(self, action: np.void) -> str:
        """Returns an action in one line."""
        ...


@runtime_checkable
class Readable(GameBase, Protocol):
    """A game whose players hide things that their play may give away, for readers (`dancfr.evaluation.reading`).

    A *secret* is one of `S` such things of a player, like the colour of a ghost. It has one of `C` values.

    Attributes:
        secret: What a secret is, in the singular.
        secret_values: Names of its values.
    """

    @property
    def secret(self) -> str: ...

    @property
    def secret_values(self) -> tuple[str, ...]: ...

    def secrets(self, states: States, players: NDArray[np.int8]) -> NDArray[np.int8]:
        """Returns the value of each secret of `players[b]`, `int8[B, S]`; -1 where it is public or there is none."""
        ...

    def odds(self, states: States, players: NDArray[np.int8]) -> NDArray[np.float32]:
        """Returns the share of each value among the arrangements that agree with the public state, all of them
        equally likely, `float32[B, S, C]`."""
        ...

    def clues(self, states: States, players: NDArray[np.int8]) -> NDArray[np.float32]:
        """Returns the public facts about each secret of `players[b]` and about its past, `float32[B, S, F]`."""
        ...


@runtime_checkable
class DisguisedGame(Game, Protocol):
    """A game whose infostates can be given other secrets of their player, for policies that hide them."""

    def disguise(self, packed: Packed, rng: np.random.Generator) -> Packed:
        """Returns infostates with the same public part and uniformly random secrets of the observer.

        Args:
            packed: Infostates, `uint8[B, P]`.
            rng: Source of the random draws.

        Returns:
            Infostates, `uint8[B, P]`, in each of which the observer has one of the arrangements that agree with the
            public part, its own one among them, all equally likely.
        """
        ...


@runtime_checkable
class ExactGame(Game, Protocol):
    """A two-player zero-sum game that evaluates policies exactly without its tree, which would not fit in memory.

    The infosets of a player in which the player is to move have numbers from 0.
    """

    def num_infosets(self, player: int) -> int:
        """Returns the number of infosets of a player."""
        ...

    def infosets(self, player: int, start: int, stop: int) -> States:
        """Returns a state for each of the infosets `start` to `stop` - 1, `[stop - start]` records.

        `player` is to move there, and `legal` and the player's infostate are right. The hidden part of a state need
        not be possible.

        Raises:
            ValueError: the player does not have these infosets.
        """
        ...

    def decisions_before(
        self, states: States, player: int
    ) -> Iterator[tuple[NDArray[np.int64], States, NDArray[np.int64]]]:
        """Yields the player's earlier decisions in the states of `infosets`, in the order of play.

        Yields:
            Rows of `states`, `int64[n]`, the states of an earlier decision in them, `[n]`, and what was chosen there.
        """
        ...

    def own_reach(self, player: int, policy: NDArray[np.float32]) -> NDArray[np.float64]:
        """Returns the product of the probabilities of the player's decisions that lead to each infoset, `float64[I]`.

        Args:
            player: The player.
            policy: The player's policy by infoset, `float32[I, A]`.

        Raises:
            ValueError: the array has another shape or type.
        """
        ...

    def evaluate(
        self, policies: tuple[NDArray[np.float32], NDArray[np.float32]], threads: int = 1
    ) -> tuple[float, float, float]:
        """Returns the value for player 0, and the value of each player's best response to the other, for the responder.

        Args:
            policies: The policy of each player by infoset, `float32[I, A]`; illegal actions are not read. A row may be
                off by rounding; it is divided by its sum.
            threads: Number of threads.

        Raises:
            ValueError: an array has another shape or type, or a row is not a distribution.
        """
        ...


def check_infosets(game: ExactGame, player: int, start: int, stop: int) -> None:
    """Raises a ValueError if a player does not have the infosets `start` to `stop` - 1."""
    if not 0 <= start <= stop <= game.num_infosets(player):
        raise ValueError(
            f"{game.spec.name} has the infosets 0 to {game.num_infosets(player) - 1:,} of player {player}, got "
            f"start={start} and stop={stop}"
        )


def check_policies(game: ExactGame, policies: tuple[NDArray[np.float32], NDArray[np.float32]]) -> None:
    """Raises a ValueError if policies do not have the shape and type that `ExactGame.evaluate` takes."""
    for player, policy in enumerate(policies):
        check_policy(game, player, policy)


def check_policy(game: ExactGame, player: int, policy: NDArray[np.float32]) -> None:
    """Raises a ValueError if the policy of a player does not have the shape and type that an `ExactGame` takes."""
    wanted = (game.num_infosets(player), game.spec.num_actions)
    if policy.shape != wanted or policy.dtype != np.float32:
        raise ValueError(
            f"the policy of player {player} in {game.spec.name} must be float32{list(wanted)}, got "
            f"{policy.dtype}{list(policy.shape)}"
        )
