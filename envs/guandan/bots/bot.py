"""Base class of the bots that play only GuanDan."""

import numpy as np

from envs.agent import Named
from envs.game import ListedGame
from envs.guandan.game import GuanDan


class GuanDanBot(Named):
    """Keeps the game that `begin` was called with.

    Raises:
        ValueError: `begin` is called with a game other than GuanDan.
        RuntimeError: a move is requested before `begin`.
    """

    name = "bot"

    def __init__(self) -> None:
        self._game: GuanDan | None = None

    def begin(self, game: ListedGame, batch: int, rng: np.random.Generator) -> None:
        """See `envs.agent.ListedAgent`."""
        if not isinstance(game, GuanDan):
            raise ValueError(f"{self.name} plays guandan only, not {game.spec.name}")
        self._game = game

    @property
    def game(self) -> GuanDan:
        """The game being played."""
        return self._begun(self._game)
