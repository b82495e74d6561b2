"""The interfaces of games: the methods that learners and actors call, always for a batch of `B` states.

Every game is a `GameBase`, and either a `Game`, whose actions are numbers, or a `ListedGame`, whose states list their
actions because there are too many to number.

A game is an immutable object that holds the options of the rules. Its states are a NumPy structured array of `B`
records; there is no Python object per game. Infostates leave the game *packed* (`uint8[B, P]`, a few dozen bytes) and
are unpacked to `float32` only as the input of a network.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from envs.sparse import Sparse

States = NDArray[np.void]
Packed = NDArray[np.uint8]


class IllegalAction(ValueError):
    """An action that the rules do not allow in this state."""


class ReturnTooLarge(ValueError):
    """A return that is larger than the spec's `max_return`; the message names the cure, too, in one line."""


class GameOver(RuntimeError):
    """A game that has ended or has not begun was asked for a move or an observation."""


@dataclass(frozen=True)
class GameSpec:
    """Constants of a game.

    Attributes:
        name: Name on the command line, e.g. ``geister``.
        num_players: Number of players. Solvers, DREAM's baselines and best responses need two.
        num_actions: Number of actions `A`. Actions are 0 .. A-1; illegal ones are masked.
        packed_size: Bytes `P` of a packed infostate.
        shapes: Shape of an unpacked infostate by name of the encoding, e.g. ``{"planes": (6, 6, 6), "flat": (112,)}``.
            The first encoding is the default.
        slots: Number of network outputs by name of the output layout, e.g. ``{"ghost": 32, "square": 144}``, see
            `Game.output_slots`. The first layout has one output per action.
        endings: Names of the ways in which a game can end; index 0 means "still running".
        max_plies: Upper bound on the decisions of a game.
        max_return: Largest absolute return.
        action_features: Length of the vector that describes an action of a `ListedGame`; 0 for other games.
        action_shapes: The length of this vector beside encodings of infostates for which it is another one, by name.
        teams: Team of each player; empty if there are no teams.
        constant_sum: Whether the returns of the players have the same sum in every game.
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
    action_shapes: dict[str, int] = field(default_factory=dict)
    constant_sum: bool = True

    def action_inputs(self, encoding: str) -> int:
        """Returns the length of an action's vector beside an encoding of infostates."""
        return self.action_shapes.get(encoding, self.action_features)

    @property
    def stakes(self) -> float | None:
        """The largest return, if games are won by more or less, as hands of poker are: mean returns rank players there,
        and numbers of won games do not. None where it is 1, for teams, of whose games the rules name the winner, and
        without a constant sum."""
        return self.max_return if self.max_return != 1 and not self.teams and self.constant_sum else None

    @property
    def beyond_zero_sum(self) -> str:
        """How the game differs from one of two players with a constant sum; empty if it is one."""
        return "" if self.num_players == 2 and self.constant_sum else beyond_zero_sum(self.num_players)


def beyond_zero_sum(num_players: int) -> str:
    """Returns in words how a game that is not one of two players with a constant sum differs from one."""
    return f"{num_players} players" if num_players != 2 else "returns without a constant sum"


class Ragged(NamedTuple):
    """Legal actions of `B` states, one list after the other.

    Attributes:
        offsets: List b is `rows[offsets[b] : offsets[b + 1]]`, `int64[B + 1]`.
        rows: The actions, `[N]` records of the game's action type.
    """

    offsets: NDArray[np.int64]
    rows: NDArray[np.void]


@runtime_checkable
class GameBase(Protocol):
    """The methods that all games share. The first dimension of every array is the batch."""

    @property
    def spec(self) -> GameSpec:
        """Constants of the game."""
        ...

    def reset(self, batch: int, rng: np.random.Generator) -> States:
        """Starts games, `[batch]` records; draws the chance events at the start from `rng`."""
        ...

    def to_move(self, states: States) -> NDArray[np.int8]:
        """Returns the player to move, `int8[B]`; -1 where the game has ended."""
        ...

    def observe(self, states: States, players: NDArray[np.int8]) -> Packed:
        """Returns the packed infostate of `players[b]` in game b, `uint8[B, P]`."""
        ...

    def encode(self, packed: Packed, encoding: str) -> NDArray[np.float32]:
        """Unpacks infostates for a network, `float32[B, *spec.shapes[encoding]]`."""
        ...

    def finished(self, states: States) -> NDArray[np.bool_]:
        """Returns which games have ended, `bool[B]`."""
        ...

    def returns(self, states: States) -> NDArray[np.float32]:
        """Returns the return of each player, `float32[B, players]`; zeros while a game runs."""
        ...

    def endings(self, states: States) -> NDArray[np.int8]:
        """Returns how each game ended as an index of `spec.endings`, `int8[B]`; 0 while it runs."""
        ...


@runtime_checkable
class Game(GameBase, Protocol):
    """Rules of a game with numbered actions."""

    def legal(self, states: States) -> NDArray[np.bool_]:
        """Returns the legal actions of the player to move, `bool[B, A]`; all False where the game has ended."""
        ...

    def step(self, states: States, actions: NDArray[np.integer], rng: np.random.Generator) -> None:
        """Plays `actions[b]` in game b, in place. Finished games do not change.

        Raises:
            IllegalAction: an action is not legal; no state has been changed.
        """
        ...

    def output_slots(self, packed: Packed, layout: str, other: Packed | None = None) -> NDArray[np.int16]:
        """Returns the network outputs whose sum is the value of each action, `int16[B, A, K]`; -1 is padding.

        Args:
            packed: Infostates of the players to move, `uint8[B, P]`.
            layout: A key of `spec.slots`; determines `K`.
            other: Infostates of the opponents, `uint8[B, P]`, for networks that see both.
        """
        ...


@runtime_checkable
class ListedGame(GameBase, Protocol):
    """Rules of a game with too many actions to number them: each state lists its legal actions.

    An action is a record of `action_dtype`.
    """

    @property
    def action_dtype(self) -> np.dtype[np.void]:
        """Record type of an action."""
        ...

    def legal(self, states: States) -> Ragged:
        """Lists every legal action of the player to move; the list is empty where the game has ended."""
        ...

    def choices(self, states: States) -> Ragged:
        """Lists the legal actions with different feature vectors, one per vector: the choices of a learner."""
        ...

    def step(self, states: States, actions: NDArray[np.void]) -> None:
        """Plays `actions[b]`, `[B]` records, in game b, in place. Finished games do not change.

        Raises:
            IllegalAction: an action is not legal; no state has been changed.
        """
        ...

    def encode_actions(self, actions: NDArray[np.void]) -> Sparse:
        """Returns the feature vectors of actions, of length `spec.action_features`, in sparse form."""
        ...

    def rounds(self, states: States) -> NDArray[np.int64]:
        """Returns the number of finished rounds of each game, `int64[B]`. Each round has a return of its own."""
        ...

    def round_returns(self, states: States) -> NDArray[np.float32]:
        """Returns the returns of the last finished round, `float32[B, players]`."""
        ...

    def scripted(self, states: States) -> NDArray[np.bool_]:
        """Returns which decisions belong to the heuristic `script` unless they are learned too, `bool[B]`."""
        ...

    def script(self, states: States, choices: Ragged) -> NDArray[np.int64]:
        """Returns the choices of a heuristic for states that are all scripted, as rows of `choices`, `int64[B]`."""
        ...


def numbered(game: GameBase) -> Game:
    """Returns a game as one with numbered actions.

    Raises:
        TypeError: its states list their actions.
    """
    if not isinstance(game, Game):
        raise TypeError(f"{game.spec.name} has no numbered actions")
    return game


def listed(game: GameBase) -> ListedGame:
    """Returns a game as one whose states list their actions.

    Raises:
        TypeError: its actions are numbered.
    """
    if not isinstance(game, ListedGame):
        raise TypeError(f"{game.spec.name} does not list its actions")
    return game


def check_players(players: NDArray[np.integer], games: int, count: int) -> None:
    """Raises a ValueError unless `players` has one of `count` players for each game: compiled code checks no bounds."""
    found = np.asarray(players)
    fits = found.shape == (games,) and found.dtype.kind in "iu"
    # read as unsigned, negative numbers are the largest: a single pass
    if not fits or (games and np.maximum.reduce(found.view(_UNSIGNED[found.itemsize])) >= count):
        got = f"{found.min()} to {found.max()}" if fits else f"{found.dtype}{list(found.shape)}"
        raise ValueError(f"players must be integers [{games}] from 0 to {count - 1}, one for each game, got {got}")


ROUNDING = 1e-6
"""Share of the largest return by which a return may differ from the mean and still be equal to it: it is float32."""


def outcomes_of(returns: NDArray[np.floating], most: float) -> NDArray[np.int8]:
    """Returns whether each player has won, 1, drawn, 0, or lost, -1, in games that have ended, `int8[B, players]`.

    A return above the mean of all players is a win and one below it is a loss, whatever the returns add up to.

    Args:
        returns: Return of each player, `[B, players]`.
        most: The largest absolute return.
    """
    above = returns.astype(np.float64)
    above -= above.mean(axis=1, keepdims=True)
    return np.where(np.abs(above) <= ROUNDING * most, 0, np.sign(above)).astype(np.int8)


_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


RaggedGame = ListedGame
"""The former name of `ListedGame`."""


@runtime_checkable
class SparseGame(Game, Protocol):
    """A game with a sparse form of its flat encoding, which lets networks skip the inputs that are 0."""

    def encode_sparse(self, packed: Packed) -> Sparse:
        """Unpacks infostates `uint8[B, P]` to the nonzero inputs of the encoding ``flat``."""
        ...


@runtime_checkable
class Identified(Protocol):
    """A game whose packed infostates may show less than the players know, but which can tell infostates apart."""

    def identify(self, states: States, players: NDArray[np.int8]) -> Packed:
        """Returns a digest of all that `players[b]` knows in game b, `uint8[B, D]`."""
        ...
