"""The arena's view of a game: the first agent plays one side, the second agent plays all other sides.

A side is a single player or, in games of teams, one of two teams. Each deal of a game of teams is played at two tables
with the same seed, so that the same cards lie at the same seats, with the sides swapped: the luck of the cards benefits
one side at the first table and the other side at the second.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import UsageError
from envs.capabilities import SeededGame
from envs.game import Game, GameBase, IllegalAction, ListedGame, States, outcomes_of


@runtime_checkable
class DealtGame(ListedGame, SeededGame, Protocol):
    """A game of teams in which all randomness at a table is determined by a seed."""

    def winners(self, states: States) -> NDArray[np.int8]:
        """Returns the team that won, `int8[B]`; -1 for unfinished games."""
        ...


class Sides(Protocol):
    """The interface that the arena requires of a game.

    Attributes:
        names: Names of the sides, two or more.
        copies: Number of consecutive games that share a deal.
        action_dtype: Data type of actions.
    """

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def copies(self) -> int: ...

    @property
    def action_dtype(self) -> np.dtype[Any]: ...

    def start(self, batch: int, chance: np.random.Generator) -> States:
        """Returns `batch` new games; of two games that share a deal, the first has an even index."""
        ...

    def to_move(self, states: States) -> NDArray[np.int8]:
        """Returns the side to move, `int8[B]`."""
        ...

    def step(self, states: States, actions: NDArray[Any], chance: np.random.Generator) -> None:
        """Plays `actions[b]` in game b; see `Game.step`."""
        ...

    def results(self, states: States, side: NDArray[np.int8]) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """Returns outcome (1 won, 0 drawn, -1 lost) `int8[B]` and return `float64[B]` of `side[b]` in ended games."""
        ...

    def winning(self, states: States) -> NDArray[np.float64]:
        """Returns the fraction of the sides that have won each ended game, `float64[B]`."""
        ...

    def total(self, states: States) -> NDArray[np.float64]:
        """Returns the sum of the returns of all sides in ended games, `float64[B]`."""
        ...

    def illegal(self, states: States, actions: NDArray[Any]) -> tuple[int, str]:
        """Returns the index of the first illegal action and an error message that follows the agent's name."""
        ...


class Players:
    """A game of two or more players without teams.

    A return above the mean of all players is a win and one below it is a loss, which in zero-sum games are positive and
    negative returns. If one player loses to all others, as a player without health in Cheat, all others have won. Where
    all players have the same return, as in games of common interest, all have drawn.
    """

    copies = 1
    action_dtype: np.dtype[Any] = np.dtype(np.int64)

    def __init__(self, game: Game) -> None:
        self.game = game
        players = game.spec.num_players
        self.names = ("first", "second") if players == 2 else tuple(f"seat {player}" for player in range(players))

    def start(self, batch: int, chance: np.random.Generator) -> States:
        return self.game.reset(batch, chance)

    def to_move(self, states: States) -> NDArray[np.int8]:
        return self.game.to_move(states)

    def step(self, states: States, actions: NDArray[Any], chance: np.random.Generator) -> None:
        self.game.step(states, actions, chance)

    def results(self, states: States, side: NDArray[np.int8]) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        rows = np.arange(len(states))
        value = self.game.returns(states)[rows, side].astype(np.float64)
        return self._outcomes(states)[rows, side], value

    def winning(self, states: States) -> NDArray[np.float64]:
        return np.asarray((self._outcomes(states) > 0).mean(axis=1), np.float64)

    def total(self, states: States) -> NDArray[np.float64]:
        return np.asarray(self.game.returns(states).astype(np.float64).sum(axis=1))

    def _outcomes(self, states: States) -> NDArray[np.int8]:
        """Returns the outcome of each player, `int8[B, players]`: 1 won, 0 drawn, -1 lost."""
        return outcomes_of(self.game.returns(states), self.game.spec.max_return)

    def illegal(self, states: States, actions: NDArray[Any]) -> tuple[int, str]:
        legal = self.game.legal(states)
        inside = (actions >= 0) & (actions < self.game.spec.num_actions)
        good = inside & legal[np.arange(len(states)), np.where(inside, actions, 0)]
        bad = int(np.flatnonzero(~good)[0])
        known = ", ".join(map(str, np.flatnonzero(legal[bad])))
        return bad, f"chose action {actions[bad]}, which is not legal here (legal: {known})"


class Teams:
    """A game of two teams, whose deals are played twice.

    The rules determine the winner independently of the return: a round may be won with a return of 0.
    """

    copies = 2

    def __init__(self, game: DealtGame) -> None:
        self.game = game
        self.action_dtype: np.dtype[Any] = game.action_dtype
        self._team = np.array(game.spec.teams, np.int8)
        seats = [np.flatnonzero(self._team == team) for team in (0, 1)]
        self.names = (_seats(seats[0]), _seats(seats[1]))
        self._first = np.array([each[0] for each in seats])  # a player of each team

    def start(self, batch: int, chance: np.random.Generator) -> States:
        deals = chance.integers(0, 2**64, -(-batch // 2), np.uint64)
        return self.game.start(np.repeat(deals, 2)[:batch])

    def to_move(self, states: States) -> NDArray[np.int8]:
        return self._team[self.game.to_move(states)]

    def step(self, states: States, actions: NDArray[Any], chance: np.random.Generator) -> None:
        self.game.step(states, actions)

    def results(self, states: States, side: NDArray[np.int8]) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        outcome = np.where(self.game.winners(states) == side, 1, -1).astype(np.int8)
        return outcome, self.game.returns(states)[np.arange(len(states)), self._first[side]].astype(np.float64)

    def winning(self, states: States) -> NDArray[np.float64]:
        return np.where(self.game.winners(states) < 0, 0.0, 0.5)

    def total(self, states: States) -> NDArray[np.float64]:
        return np.zeros(len(states))  # what one team wins the other loses

    def illegal(self, states: States, actions: NDArray[Any]) -> tuple[int, str]:
        for b in range(len(states)):
            try:
                self.game.step(states[b : b + 1].copy(), actions[b : b + 1])
            except IllegalAction as error:
                return b, f"broke the rules: {error}"
        raise ValueError("every action is legal")


def _seats(seats: NDArray[np.int64]) -> str:
    return f"seats {' and '.join(map(str, seats))}"


def sides_of(game: GameBase) -> Sides:
    """Returns the arena's view of a game.

    Raises:
        UsageError: the game has teams, but not two of equal size.
    """
    spec = game.spec
    if isinstance(game, DealtGame) and set(spec.teams) == {0, 1}:
        return Teams(game)
    if isinstance(game, Game) and (spec.num_players == 2 or (spec.num_players > 2 and not spec.teams)):
        return Players(game)
    players = f"{spec.num_players} players" + (f" in {len(set(spec.teams))} teams" if spec.teams else "")
    raise UsageError(f"a match needs 2 teams, or at least 2 players without teams; {spec.name} has {players}")
