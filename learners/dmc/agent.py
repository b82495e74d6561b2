"""The agent that plays by a Q-network: always the action of the highest value."""

import numpy as np
from numpy.typing import NDArray

from envs.game import GameOver, RaggedGame, States
from envs.ragged import best_rows, take_lists
from learners.dmc.decisions import settle_without_net
from learners.dmc.settings import QNetworkSettings
from learners.networks.q_inference import QForward, QInference
from learners.networks.settings import Weights


class QAgent:
    """Plays the action of the highest value; satisfies `envs.agent.Agent` in its form for ragged games.

    Args:
        game: The game as it was trained on, for encoding infostates.
        network: Description of the net.
        weights: From `QNet.inference_weights`.
        name: For messages.
        learn_scripted: The net was trained on scripted decisions too (`RaggedGame.scripted`) and makes them; else the
            game's heuristic does.
        forward: What runs the network, if not NumPy on the CPU.

    Raises:
        ValueError: the game lacks what the network needs.
    """

    def __init__(
        self,
        game: RaggedGame,
        network: QNetworkSettings,
        weights: Weights,
        name: str = "dmc",
        learn_scripted: bool = False,
        forward: QForward | None = None,
    ) -> None:
        network.check(game.spec)
        self.name = name
        self._trained_on = game
        self._learn_scripted = learn_scripted
        self._encoding = network.encoding_of(game.spec)
        self._forward = forward or QInference(network, weights)
        self._game = game

    def begin(self, game: RaggedGame, batch: int, rng: np.random.Generator) -> None:
        """Takes over the game to be played; nothing is remembered of a single one."""
        self._game = game

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        """The action for each of n games in which this agent is to move, `[n]` action records; of equals the first.

        Raises:
            GameOver: one of the games has ended.
        """
        choices = self._game.choices(states)
        if (np.diff(choices.offsets) == 0).any():
            raise GameOver(f"{self.name} was asked for a move in a game that has ended")
        chosen, asked = settle_without_net(self._game, states, choices, self._learn_scripted)
        if len(asked):
            lists, source = take_lists(choices, asked)
            packed = self._game.observe(states[asked], self._game.to_move(states[asked]))
            features = self._trained_on.encode(packed, self._encoding)
            values = self._forward(features, lists.offsets, self._trained_on.encode_actions(lists.rows))
            chosen[asked] = source[best_rows(lists.offsets, values)]
        return choices.rows[chosen]
