"""Adapts any `Game` without chance events to `ExtensiveGame`, so that its tree can be built."""

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from envs.extensive import OVER, ExtensiveGame, ListedChance
from envs.game import Game, GameSpec, ListedGame, Packed, States


class ChanceDrawn(TypeError):
    """A game drew a chance event, and lacks methods to enumerate it or to tell who sees it."""


class _NoChance:
    """Replaces a random generator; any use of it is a chance event, and raises ChanceDrawn."""

    def __init__(self, game: Game) -> None:
        self._name = game.spec.name
        self._why = getattr(game, "no_tree", "") or _why(game)

    def __getattr__(self, attribute: str) -> NoReturn:
        raise ChanceDrawn(f"{self._name} has no tree: {self._why}, see docs/explanation/trees-and-cfr.md")


def _why(game: Game) -> str:
    """The reason why a game with chance events is not an `ExtensiveGame`."""
    if not isinstance(game, ListedChance):
        return "its rules draw chance events without listing them"
    return (
        "it lists its chance events, but does not say by `public` and `private` of envs.extensive.ExtensiveGame what "
        "players see of them; games of OpenSpiel have their trees by envs.openspiel.openspiel_tree"
    )


class Chanceless:
    """A game without chance events. Implements `envs.extensive.ExtensiveGame`.

    The history of a player consists of their own actions and of all infostates from `observe`; nothing is public.

    Args:
        game: The game to adapt.

    Raises:
        ChanceDrawn: from `initial` and `apply`, if the game draws a chance event.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.spec: GameSpec = game.spec
        self._rng: Any = _NoChance(game)  # whose use ends in an error

    def __getattr__(self, name: str) -> Any:
        return getattr(self.game, name)  # everything else is that of the game

    def initial(self, batch: int) -> States:
        return self.game.reset(batch, self._rng)

    def mover(self, states: States) -> NDArray[np.int8]:
        return np.where(self.game.finished(states), np.int8(OVER), self.game.to_move(states)).astype(np.int8)

    def chance(self, states: States) -> NDArray[np.float64]:
        """Chance never moves."""
        return np.ones((len(states), 1))

    def apply(self, states: States, choices: NDArray[np.integer]) -> None:
        self.game.step(states, np.asarray(choices), self._rng)

    def public(self, states: States) -> NDArray[np.int64]:
        """Nothing is public."""
        return np.zeros(len(states), np.int64)

    def private(self, states: States, player: int) -> NDArray[np.int64]:
        """Numbers the infostates of `observe` from 1, equal ones of the batch alike; 0 after the end."""
        codes = np.zeros(len(states), np.int64)
        running = np.flatnonzero(~self.game.finished(states))
        if len(running):
            seen: Packed = self.game.observe(states[running], np.full(len(running), player, np.int8))
            _, number = np.unique(seen, axis=0, return_inverse=True)
            codes[running] = number.ravel() + 1
        return codes

    def utilities(self, states: States) -> NDArray[np.float64]:
        return self.game.returns(states).astype(np.float64)


def extensive(game: object) -> ExtensiveGame:
    """Returns the game itself if it is an `ExtensiveGame`, else adapts it as a game without chance events.

    Raises:
        TypeError: `game` is not a `Game` with numbered actions.
    """
    if isinstance(game, ExtensiveGame):
        return game
    name = getattr(getattr(game, "spec", None), "name", type(game).__name__)
    if isinstance(game, ListedGame) or not isinstance(game, Game):
        raise TypeError(f"{name} has no tree: trees need a game with numbered actions (envs.game.Game)")
    chanceless: Any = Chanceless(game)
    adapted: ExtensiveGame = chanceless
    return adapted


__all__ = ["ChanceDrawn", "Chanceless", "extensive"]
