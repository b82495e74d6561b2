"""An agent that acts, and has no policy to ask for."""

import numpy as np
from numpy.typing import NDArray

from envs.game import Game, States


class FirstAction:
    """Plays the first legal action. Without `probabilities` nothing exact can be found out about it."""

    name = "first"

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        self._game = game

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        return np.asarray(self._game.legal(states).argmax(axis=1))
