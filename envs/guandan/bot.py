"""What the bots have in common that know GuanDan alone."""

import numpy as np

from envs.game import RaggedGame
from envs.guandan.game import GuanDan


class GuanDanBot:
    """Remembers the game it plays.

    Raises:
        ValueError: `begin` is called with another game than GuanDan.
        RuntimeError: a move is asked for before `begin`.
    """

    name = "bot"

    def __init__(self) -> None:
        self._game: GuanDan | None = None

    def begin(self, game: RaggedGame, batch: int, rng: np.random.Generator) -> None:
        """See `envs.agent.RaggedAgent`."""
        if not isinstance(game, GuanDan):
            raise ValueError(f"{self.name} plays guandan only, not {game.spec.name}")
        self._game = game

    @property
    def game(self) -> GuanDan:
        """The game that is being played."""
        if self._game is None:
            raise RuntimeError(f"{self.name}: call begin(game, batch, rng) before act")
        return self._game
