"""Games as the arena plays them: one agent plays one side, the other agent all the others.

A side is a player, where everybody plays for himself, or one of two teams. Games of teams are dealt twice: two tables
have the same seed, so the same cards lie at the same seats, and the sides change places. What the cards give to one
side at the first table they give to the other at the second.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import UsageError
from envs.game import Game, IllegalAction, RaggedGame, States


@runtime_checkable
class DealtGame(RaggedGame, Protocol):
    """A game of teams in which everything random at a table follows from a number."""

    def start(self, seeds: NDArray[np.uint64]) -> States:
        """Tables by their seeds `uint64[B]`."""
        ...

    def winners(self, states: States) -> NDArray[np.int8]:
        """The team that won, `int8[B]`; -1 while the game runs."""
        ...


class Sides(Protocol):
    """What the arena asks of a game.

    Attributes:
        names: Of the sides, two or more, for the counts of a match.
        copies: How many games in a row begin alike.
        action_dtype: Of actions.
    """

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def copies(self) -> int: ...

    @property
    def action_dtype(self) -> np.dtype[Any]: ...

    def start(self, batch: int, chance: np.random.Generator) -> States:
        """`batch` new games; the first one of some that begin alike has an even place."""
        ...

    def to_move(self, states: States) -> NDArray[np.int8]:
        """The side to move, `int8[B]`."""
        ...

    def step(self, states: States, actions: NDArray[Any], chance: np.random.Generator) -> None:
        """Plays `actions[b]` in game b; see `Game.step`."""
        ...

    def results(self, states: States, side: NDArray[np.int8]) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
        """Of ended games, for `side[b]`: 1 won, 0 drawn or -1 lost, `int8[B]`, and the return, `float64[B]`."""
        ...

    def winning(self, states: States) -> NDArray[np.float64]:
        """Of ended games, the share of the sides that have won, `float64[B]`."""
        ...

    def illegal(self, states: States, actions: NDArray[Any]) -> tuple[int, str]:
        """The first action that is not legal: its place, and what is to be said of it after the agent's name."""
        ...


class Players:
    """A game in which everybody plays for himself, of two players or more.

    A positive return is a win and a negative one a loss. So where one player alone loses and the others share what he
    pays, as if his health is gone in Cheat, all the others have won.
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
        value = self.game.returns(states)[np.arange(len(states)), side].astype(np.float64)
        return np.sign(value).astype(np.int8), value

    def winning(self, states: States) -> NDArray[np.float64]:
        return np.asarray((self.game.returns(states) > 0).mean(axis=1), np.float64)

    def illegal(self, states: States, actions: NDArray[Any]) -> tuple[int, str]:
        legal = self.game.legal(states)
        inside = (actions >= 0) & (actions < self.game.spec.num_actions)
        good = inside & legal[np.arange(len(states)), np.where(inside, actions, 0)]
        bad = int(np.flatnonzero(~good)[0])
        known = ", ".join(map(str, np.flatnonzero(legal[bad])))
        return bad, f"chose action {actions[bad]}, which is not legal here (legal: {known})"


class Teams:
    """A game of two teams, whose deals are played twice. A game is won by whoever the rules say, whatever the return:
    a round may be won and bring nothing."""

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

    def illegal(self, states: States, actions: NDArray[Any]) -> tuple[int, str]:
        for b in range(len(states)):
            try:
                self.game.step(states[b : b + 1].copy(), actions[b : b + 1])
            except IllegalAction as error:
                return b, f"broke the rules: {error}"
        raise ValueError("every action is legal")


def _seats(seats: NDArray[np.int64]) -> str:
    return f"seats {' and '.join(map(str, seats))}"


def sides_of(game: Game | RaggedGame) -> Sides:
    """The game as the arena plays it.

    Raises:
        UsageError: its players are neither in two teams nor each for himself.
    """
    spec = game.spec
    if isinstance(game, DealtGame) and set(spec.teams) == {0, 1}:
        return Teams(game)
    if isinstance(game, Game) and (spec.num_players == 2 or (spec.num_players > 2 and not spec.teams)):
        return Players(game)
    told = f"{spec.num_players} players" + (f" in {len(set(spec.teams))} teams" if spec.teams else "")
    raise UsageError(f"a match is between 2 teams, or 2 players or more each for himself; {spec.name} has {told}")
