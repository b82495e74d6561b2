"""A critic that sees the infostates of all players, in training only; the policy never does.

`B` states, `V` views (one for each player), `P` bytes of a packed infostate.
"""

import numpy as np
from numpy.typing import NDArray

from envs.game import Game, Packed, States
from learners.networks.inference import encoder, make_forward
from learners.networks.settings import NetworkSettings, Weights
from learners.storage import arrays_under

NAME = "critic"
"""Prefix of its arrays among the weights of a policy net."""


def policy_alone(weights: Weights) -> Weights:
    """The weights without those of the critic."""
    return {name: array for name, array in weights.items() if not name.startswith(f"{NAME}.")}


def other_views(game: Game, states: States, movers: NDArray[np.int8]) -> Packed:
    """Infostates of the players other than `movers`, in the order of seats after them, `uint8[B, (V - 1) * P]`."""
    players = game.spec.num_players
    parts = [game.observe(states, ((movers + step) % players).astype(movers.dtype)) for step in range(1, players)]
    return np.concatenate(parts, axis=1)


def split_views(packed: Packed, others: Packed) -> list[Packed]:
    """The packed infostates `uint8[B, P]` of all players, the mover's first, then `others` from `other_views`."""
    size = packed.shape[1]
    return [packed, *(np.ascontiguousarray(others[:, at : at + size]) for at in range(0, others.shape[1], size))]


class CriticInference:
    """A critic as workers run it; to be used by one thread.

    Args:
        game: The game as the net is trained on it.
        network: Settings of the net.
        weights: Weights of the policy net with its critic, from `PolicyWithCritic.inference_weights`.
        device: Device of the critic.
    """

    def __init__(self, game: Game, network: NetworkSettings, weights: Weights, device: str = "cpu") -> None:
        self._encode = encoder(game, network)
        self._inference = make_forward(network, [arrays_under(weights, NAME)], device)
        self._unit = np.float32(game.spec.max_return)

    def __call__(self, packed: Packed, others: Packed) -> NDArray[np.float32]:
        """The value to each mover, `float32[B]`, in units of the game's returns; see `split_views`."""
        outputs = self._inference([self._encode(view) for view in split_views(packed, others)])
        return self._unit * outputs[0, :, 0]
