"""Any `Game` without chance as an `ExtensiveGame`, so that it has a tree: what is observed is what `observe` shows."""

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from envs.extensive import OVER, ExtensiveGame
from envs.game import Game, GameSpec, Packed, RaggedGame, States


class ChanceDrawn(TypeError):
    """A game has drawn chance that it does not enumerate."""


class _NoChance:
    """Stands in the place of a generator; whatever is asked of it is chance."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> NoReturn:
        raise ChanceDrawn(
            f"{self._name} has no tree: its rules draw chance and do not enumerate it, see docs/trees-and-cfr.md"
        )


class Chanceless:
    """A game that never draws chance. Satisfies `envs.extensive.ExtensiveGame`.

    A player's history is what `observe` has shown him so far, with his own actions; nothing is public.

    Args:
        game: The game.

    Raises:
        ChanceDrawn: from `initial` and `apply`, if the game draws chance after all.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.spec: GameSpec = game.spec
        self._rng: Any = _NoChance(game.spec.name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.game, name)  # what is not said here is as in the game

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
        """Nothing."""
        return np.zeros(len(states), np.int64)

    def private(self, states: States, player: int) -> NDArray[np.int64]:
        """A number for what `observe` shows, equal in one batch where that is equal; 0 after the end."""
        codes = np.zeros(len(states), np.int64)
        running = np.flatnonzero(~self.game.finished(states))
        if len(running):
            seen: Packed = self.game.observe(states[running], np.full(len(running), player, np.int8))
            _, number = np.unique(seen, axis=0, return_inverse=True)
            codes[running] = number.ravel() + 1
        return codes

    def utilities(self, states: States) -> NDArray[np.float64]:
        return self.game.returns(states).astype(np.float64)


def extensive(game: Any) -> ExtensiveGame:
    """The game itself if it lets its chance be enumerated, else as one without chance.

    Raises:
        TypeError: it is no `Game`, or one whose actions are not numbered.
    """
    if isinstance(game, ExtensiveGame):
        return game
    name = getattr(getattr(game, "spec", None), "name", type(game).__name__)
    if isinstance(game, RaggedGame) or not isinstance(game, Game):
        raise TypeError(f"{name} has no tree: that is for games whose actions are numbered (envs.game.Game)")
    chanceless: Any = Chanceless(game)
    return chanceless


__all__ = ["ChanceDrawn", "Chanceless", "extensive"]
