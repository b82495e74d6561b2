"""The average-policy net of Deep CFR (Brown, Lerer, Gross and Sandholm 2019, algorithm 1): a single net that is fitted
to the average policy of the nets of all iterations."""

from collections.abc import Iterable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray

from envs.game import Game, Packed, States
from envs.tree import Tree
from learners.networks.inference import Inference, encoder
from learners.networks.learner import ValueNetLearner
from learners.networks.settings import NetworkSettings, Weights
from learners.regret_matching import draw_actions
from learners.samples import unpack_mask
from learners.settings import TrainingSettings


class AveragePolicyLearner(ValueNetLearner):
    """Fits one player's average-policy net, a softmax over the legal actions, to sampled policies by squared error.

    Args:
        game: Unpacks and encodes infostates.
        network: Settings of the net.
        training: Settings of the fits.
        iteration_power: Exponent of the iteration t in the weight of a sample: 1 is linear averaging.
        device: Device to train on; the CPU by default.
        seed: Seed of the initial weights.
    """

    def __init__(
        self,
        game: Game,
        network: NetworkSettings,
        training: TrainingSettings,
        *,
        iteration_power: float = 1.0,
        device: torch.device | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(game, network, training, device=device, seed=seed)
        self.iteration_power = iteration_power

    def fit(self, blocks: Iterable[NDArray[np.void]], iteration: int) -> dict[str, float]:
        """Trains on blocks of `policy_dtype` rows, minibatch by minibatch.

        Returns:
            ``loss`` (mean weighted squared error per row) and ``rows``, the number of rows trained on.

        Raises:
            TrainingDiverged: the loss is not finite.
        """
        return self.trainer.fit(blocks, lambda part: self._loss(part, iteration))

    def _loss(self, part: NDArray[np.void], iteration: int) -> torch.Tensor:
        infostate = np.ascontiguousarray(part["infostate"])
        legal = unpack_mask(np.ascontiguousarray(part["legal"]), self.game.spec.num_actions)
        weight = (part["iteration"] / np.float32(iteration)) ** np.float32(self.iteration_power)
        slots = self.game.output_slots(infostate, self.network.outputs)
        to = self.trainer.tensor
        scores = self.values([self.encode(infostate)], slots, legal)
        policy = scores.masked_fill(~to(legal), -torch.inf).softmax(1)
        error = policy - to(np.ascontiguousarray(part["policy"]))
        return (error.square().sum(1) * to(np.asarray(weight, np.float32))).mean()


class AveragePolicyAgent:
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
        """The policy of both players at every infoset of a tree, `float64[S]`."""
        legal = tree.legal()
        table = np.zeros(legal.shape)
        for player in range(len(self._nets)):
            own = tree.player == player
            table[own] = self.policy(tree.observed[own], legal[own], player)
        policy = tree.to_slots(table)
        return policy / np.add.reduceat(policy, tree.slots[:-1])[tree.slot_infoset]
