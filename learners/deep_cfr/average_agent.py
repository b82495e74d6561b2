"""The agent of the average-policy nets of Deep CFR, which are fitted in `learners.deep_cfr.average_policy`."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from envs.agent import Named
from envs.game import Game, Packed, States
from envs.tree import Tree
from learners.networks.inference import Inference, encoder
from learners.networks.settings import NetworkSettings, Weights
from learners.other_rules import require_infostates
from learners.regret_matching import draw_actions


class AveragePolicyAgent(Named):
    """Plays by the average-policy nets of both players. Implements `envs.agent.Agent`.

    Args:
        game: The game that the nets were trained on.
        network: Settings of the nets.
        weights: Weights of each player's net.
        name: Name in messages.

    Raises:
        ValueError: a player has no net.

    Attributes:
        network: As given.
        weights: Weights of each player's net.
    """

    def __init__(
        self, game: Game, network: NetworkSettings, weights: Mapping[int, Weights], name: str = "deep-cfr"
    ) -> None:
        players = range(game.spec.num_players)
        for player in players:
            if player not in weights:
                raise ValueError(
                    f"{name} has no average-policy net yet for player {player}: one is trained at each evaluation"
                )
        self.name = name
        self._trained_on = self._game = game
        self.network, self.weights = network, tuple(weights[player] for player in players)
        self._encode = encoder(game, network)
        self._nets = [Inference(network, [net]) for net in self.weights]

    def begin(self, game: Game, batch: int, rng: np.random.Generator) -> None:
        self._game = game

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        policy = self.probabilities(states, games)
        return draw_actions(policy, self._game.legal(states), rng.random(len(states), dtype=np.float32))[0]

    def probabilities(self, states: States, games: NDArray[np.int64]) -> NDArray[np.float32]:
        """See `envs.agent.StatesPolicy`."""
        mover, legal = self._game.to_move(states), self._game.legal(states)
        packed = self._game.observe(states, mover)
        policy = np.empty(legal.shape, np.float32)
        for player in range(len(self._nets)):
            at = np.flatnonzero(mover == player)
            if len(at):
                policy[at] = self.policy(packed[at], legal[at], player)
        return policy

    def policy(self, packed: Packed, legal: NDArray[np.bool_], player: int) -> NDArray[np.float32]:
        """The policy at B infostates of a player, `float32[B, A]`."""
        slots = self._trained_on.output_slots(packed, self.network.outputs)
        scores = self._nets[player].action_values([self._encode(packed)], slots, legal)[0]
        scores = np.where(legal, scores, -np.inf)
        weight = np.exp(scores - scores.max(axis=1, keepdims=True))
        policy: NDArray[np.float32] = weight / weight.sum(axis=1, keepdims=True)
        return policy

    def tree_policy(self, tree: Tree) -> NDArray[np.float64]:
        """The policy of both players at every infoset of a tree, `float64[S]`.

        Raises:
            OtherRules: the infostates of the tree are not those of the game that the nets were trained on.
        """
        require_infostates(self.name, self._trained_on, tree)
        legal = tree.legal()
        table = np.zeros(legal.shape)
        for player in range(len(self._nets)):
            own = tree.player == player
            table[own] = self.policy(tree.observed[own], legal[own], player)
        return tree.to_policy(table)
