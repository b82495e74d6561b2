"""One game as numbered choices, for games that number their actions and for those that list them."""

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import UsageError, one_line
from dancfr.runs.recorded_games import Recording
from envs.capabilities import SeededGame
from envs.game import Game, GameBase, IllegalAction, States, listed

_CHANCE, _AGENT = 0, 1  # streams of a game


def chance_of(seed: int, ply: int) -> np.random.Generator:
    """The generator of the chance events after decision `ply` of a game, from 1; those of the start are ply 0."""
    return np.random.default_rng(np.random.SeedSequence((seed, _CHANCE, ply)))


def agent_stream(seed: int, player: int) -> np.random.Generator:
    """The generator of the draws of the agent in a seat."""
    return np.random.default_rng(np.random.SeedSequence((seed, _AGENT, player)))


class Position:
    """A game and its present state. The seed and the actions determine all states.

    Args:
        game: The rules.
        seed: Of all chance events, from 0.
        deal: Of the deals in a game whose tables start from a seed of their own, as GuanDan's do; by default it is
            drawn.

    Attributes:
        game, seed, deal: As given.
        states: The present state, `[1]` records; `play` replaces the array, so that earlier ones stay as they are.
        ply: Number of decisions so far.
    """

    def __init__(self, game: GameBase, seed: int, deal: int | None = None) -> None:
        self.game = game
        self.seed, self.deal = seed, deal
        self.states: States
        if deal is None:
            self.states = game.reset(1, chance_of(seed, 0))
        else:
            assert isinstance(game, SeededGame)
            self.states = game.start(np.array([deal], np.uint64))
        self.ply = 0
        self._actions: NDArray[Any] | None = None

    @property
    def mover(self) -> int:
        """The player to move; -1 once the game has ended."""
        return int(self.game.to_move(self.states)[0])

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return bool(self.game.finished(self.states)[0])

    @property
    def actions(self) -> NDArray[Any]:
        """The legal actions of the player to move, `int64[n]` or `[n]` records; none once the game has ended."""
        if self._actions is None:
            self._actions = actions_of(self.game, self.states)
        return self._actions

    @property
    def returns(self) -> list[float]:
        """The return of each player; zeros while the game runs."""
        return [float(each) for each in self.game.returns(self.states)[0]]

    @property
    def ending(self) -> str | None:
        """How the game has ended; None while it runs."""
        ending = int(self.game.endings(self.states)[0])
        return str(self.game.spec.endings[ending]) if self.over else None

    def play(self, action: Any) -> None:
        """Plays an action, an integer or a record.

        Raises:
            IllegalAction: the rules do not allow it; nothing has changed.
        """
        if self.over:
            raise IllegalAction("the game has ended")
        states = self.states.copy()
        if isinstance(self.game, Game):
            self.game.step(states, np.array([action], np.int64), chance_of(self.seed, self.ply + 1))
        else:
            rules = listed(self.game)
            rules.step(states, np.array([action], rules.action_dtype))
        self.states, self._actions = states, None
        self.ply += 1

    def earlier(self, states: States, ply: int) -> "Position":
        """The same game in its state before decision `ply`, `[1]` records, to be played on from there."""
        found = copy(self)
        found.states, found.ply, found._actions = states, ply, None
        return found


def actions_of(game: GameBase, states: States) -> NDArray[Any]:
    """The legal actions of the player to move in one game, `[1]`: `int64[n]`, or `[n]` records."""
    return np.flatnonzero(game.legal(states)[0]) if isinstance(game, Game) else listed(game).legal(states).rows


def plain_action(action: Any) -> int | dict[str, int]:
    """An action as JSON: a number, or the fields of a record."""
    names = getattr(getattr(action, "dtype", None), "names", None)
    return {name: int(action[name]) for name in names} if names else int(action)


def read_action(plain: Any, game: GameBase) -> Any:
    """The action of `plain_action`.

    Raises:
        ValueError: it is not an action of this game.
    """
    if isinstance(game, Game):
        if type(plain) is not int or not 0 <= plain < game.spec.num_actions:
            raise ValueError(f"an action from 0 to {game.spec.num_actions - 1} was expected, got {plain!r}")
        return plain
    dtype = listed(game).action_dtype
    names = dtype.names or ()
    if not isinstance(plain, dict) or set(plain) != set(names) or any(type(plain[name]) is not int for name in names):
        raise ValueError(f"an action with the integers {', '.join(names)} was expected, got {plain!r}")
    try:
        return np.array([tuple(plain[name] for name in names)], dtype)[0]
    except OverflowError:
        raise ValueError(f"an action out of range: {plain!r}") from None


def replayed(recording: Recording, game: GameBase) -> tuple[Position, list[Any], str]:
    """Plays the moves of a record.

    Returns:
        The position after them, their actions, and what is wrong with the rest; empty if nothing is.
    """
    if recording.header.deal is not None and not isinstance(game, SeededGame):
        raise UsageError(f"the record names a deal, but {recording.header.game} deals by the seed alone")
    position = Position(game, recording.header.seed, recording.header.deal)
    actions: list[Any] = []
    for number, move in enumerate(recording.moves, 2):
        try:
            action = read_action(move.action, game)
            if move.ply != position.ply or move.player != position.mover:
                raise ValueError(f"the move of player {move.player} at ply {move.ply} is out of turn")
            position.play(action)
        except (ValueError, IllegalAction) as error:
            return position, actions, f"line {number}: {' '.join(str(error).split())}"
        except Exception as error:  # rules of other packages, such as an OpenSpiel game's
            return position, actions, f"line {number}: {one_line(error)}"
        actions.append(action)
    return position, actions, recording.damage


__all__ = ["Position", "actions_of", "agent_stream", "chance_of", "plain_action", "read_action", "replayed"]
