"""The agent of a best response: plays the action with the highest Q-value in each seat."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from envs.game import Game, GameOver, Packed, States
from learners.networks.inference import Inference, encoder
from learners.networks.settings import NetworkSettings, Weights


class QValues:
    """Evaluates the Q-net of one player.

    Args:
        game: The game as the net was trained on it.
        network: Settings of the net.
        weights: Weights from `ValueNet.inference_weights`.
    """

    def __init__(self, game: Game, network: NetworkSettings, weights: Weights) -> None:
        self._game, self._outputs = game, network.outputs
        self._encode = encoder(game, network)
        self._inference = Inference(network, [weights])

    def __call__(self, packed: Packed, legal: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Values `float32[B, A]` at infostates `uint8[B, P]`; minus infinity where not legal, `bool[B, A]`."""
        slots = self._game.output_slots(packed, self._outputs)
        values = self._inference.action_values([self._encode(packed)], slots, legal)[0]
        values[~legal] = -np.inf
        return values


class ResponseAgent:
    """Plays greedily by one net per seat. Satisfies `envs.agent.Agent`; it has no memory.

    Args:
        game: The game that the nets were trained on.
        network: Settings of the nets.
        nets: Weights of each player's net.
        name: Name of the agent in messages.

    Raises:
        ValueError: the game lacks what the network needs, or a player has no net.
    """

    def __init__(
        self, game: Game, network: NetworkSettings, nets: Sequence[Weights], name: str = "best response"
    ) -> None:
        network.check(game.spec)
        if len(nets) != game.spec.num_players:
            raise ValueError(f"{game.spec.name} has {game.spec.num_players} players, and there are {len(nets)} nets")
        self.name = name
        self._values = [QValues(game, network, weights) for weights in nets]
        self._game = game

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        """Takes over the game to be played."""
        self._game = game

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """The action in each of n games, `int64[n]`; the first one among equal values.

        Raises:
            GameOver: one of the games has ended.
        """
        mover, legal = self._game.to_move(states), self._game.legal(states)
        if (mover < 0).any():
            raise GameOver(f"{self.name} was asked for a move in a game that has ended")
        packed = self._game.observe(states, mover)
        actions = np.empty(len(states), np.int64)
        for player, values in enumerate(self._values):
            at = np.flatnonzero(mover == player)
            if len(at):
                actions[at] = values(packed[at], legal[at]).argmax(axis=1)
        return actions
