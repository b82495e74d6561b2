"""Lets a bot play against an agent that is written here, which needs only the two methods `begin` and `act`."""

import numpy as np

import dancfr


class FirstLegal:
    """Always plays the legal action with the lowest number."""

    name = "first-legal"

    def begin(self, game, batch, rng):
        self.game = game

    def act(self, states, games, rng):
        return np.argmax(self.game.legal(states), axis=1)


match = dancfr.play("heuristic", against=FirstLegal(), game="mini-geister", games=2000, seed=1)
print(match)
print("endings:", match.as_dict()["categories"])
