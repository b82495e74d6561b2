"""The agent of Deep Monte-Carlo, which plays the action with the highest Q-value."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from envs.game import GameOver, Ragged, RaggedGame, States
from envs.ragged import best_rows, take_lists
from learners.dmc.critic import CriticInference
from learners.dmc.decisions import DecisionEncoder, settle_without_net
from learners.dmc.settings import QNetworkSettings
from learners.networks.q_inference import QForward, QInference
from learners.networks.settings import Weights

Outputs = Literal["returns", "advantages", "logits"]
"""What the outputs of a net are: returns, advantages (differences from the value of the state), or logits."""


class QAgent:
    """Plays the action with the highest Q-value; implements `envs.agent.Agent` for ragged games.

    Args:
        game: Game that the network was trained on; encodes infostates and actions.
        network: Settings of the network.
        weights: Weights from `QNet.inference_weights`.
        name: Name in messages.
        learn_scripted: The network also makes scripted decisions (`RaggedGame.scripted`), on which it was trained;
            otherwise the game's heuristic makes them.
        forward: Runs the network; by default NumPy on the CPU.
        critic: Values of states for a search, if the training had a critic.
        outputs: What the outputs of the network are.

    Raises:
        ValueError: The game does not provide the encodings that the network needs.

    Attributes:
        network: Settings of the Q-network.
        weights: Its weights.
        critic, outputs: As given.
    """

    def __init__(
        self,
        game: RaggedGame,
        network: QNetworkSettings,
        weights: Weights,
        name: str = "dmc",
        learn_scripted: bool = False,
        forward: QForward | None = None,
        critic: CriticInference | None = None,
        outputs: Outputs = "returns",
    ) -> None:
        network.check(game.spec)
        self.name = name
        self._trained_on = game
        self._learn_scripted = learn_scripted
        self.network, self.weights, self.critic, self.outputs = network, weights, critic, outputs
        self._encode = DecisionEncoder(game, network.encoding_of(game.spec))
        self._forward = forward or QInference(network, weights)
        self._game = game

    def begin(self, game: RaggedGame, batch: int, rng: np.random.Generator) -> None:
        """Sets the game to be played. The agent keeps no state of single games."""
        self._game = game

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        """Actions for n states in which this agent is to move, `[n]` action records.

        Of several actions with the highest value, the first is played.

        Raises:
            GameOver: One of the games has ended.
        """
        actions, asked, lists, values = self.decide(states)
        if len(asked):
            actions[asked] = lists.rows[best_rows(lists.offsets, values)]
        return actions

    def decide(self, states: States) -> tuple[NDArray[np.void], NDArray[np.int64], Ragged, NDArray[np.float32]]:
        """Makes the decisions that need no net, and evaluates the others.

        Returns:
            The actions of n states, `[n]` action records; which m states need the net, whose actions are placeholders,
            `int64[m]`; their choices, `N` in all; and the values of these, `float32[N]`.

        Raises:
            GameOver: One of the games has ended.
        """
        choices = self.network.list_choices(self._game, states)
        if (np.diff(choices.offsets) == 0).any():
            raise GameOver(f"{self.name} has no move in a game that has ended")
        chosen, asked = settle_without_net(self._game, states, choices, self._learn_scripted)
        lists, _ = take_lists(choices, asked)
        if not len(asked):
            return choices.rows[chosen], asked, lists, np.empty(0, np.float32)
        undecided = states[asked]
        packed = self._game.observe(undecided, self._game.to_move(undecided))
        notes = self._encode.appraise(packed, lists.offsets, lists.rows)
        features, vectors = self._encode(packed, lists.offsets, lists.rows, notes)
        return choices.rows[chosen], asked, lists, self._forward(features, lists.offsets, vectors)
