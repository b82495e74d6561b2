"""A critic that sees the infostates of all players, in training only. `B` states, `F` inputs."""

import numpy as np
from numpy.typing import NDArray

from envs.capabilities import FullView
from envs.game import Packed
from learners.listed.decisions import encode_full
from learners.networks.kernels import bias_tanh
from learners.networks.settings import Weights
from learners.storage import arrays_under

NAME = "critic"
"""Prefix of its arrays among the weights of a Q-net."""


def without_critic(weights: Weights) -> Weights:
    """The weights that an agent needs."""
    return {name: array for name, array in weights.items() if not name.startswith(f"{NAME}.")}


class CriticInference:
    """A critic as workers run it, on a CPU.

    Args:
        game: The game.
        weights: From `learners.listed.network.QWithCritic.inference_weights`.

    Attributes:
        weights: Those of the critic alone.
    """

    def __init__(self, game: FullView, weights: Weights) -> None:
        self._game = game
        arrays = arrays_under(weights, NAME)
        self.weights: Weights = {f"{NAME}.{part}": array for part, array in arrays.items()}
        self._layers = [(arrays[f"{i}.w"], arrays[f"{i}.b"]) for i in range(len(arrays) // 2)]

    def __call__(self, packed: Packed, hidden: Packed, notes: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """The value to each mover, `float32[B]`, of infostates with the parts that their players do not see.

        Notes of the infostates, see `envs.capabilities.Appraises`, spare the game their work.
        """
        x = self._game.encode_full(packed, hidden) if notes is None else encode_full(self._game, packed, hidden, notes)
        for w, b in self._layers[:-1]:
            x = x @ w
            bias_tanh(x[None], b[None])
        w, b = self._layers[-1]
        values: NDArray[np.float32] = (x @ w + b)[:, 0]
        return values
