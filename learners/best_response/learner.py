"""The learner of a best response: fits Q(s, a) to what came of playing a in s against the frozen agent."""

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from envs.game import Game
from learners.networks.inference import encoder
from learners.networks.modules import ValueNet
from learners.networks.settings import NetworkSettings
from learners.settings import TrainingSettings
from learners.training import NetLearner, Trainer


class ResponseLearner(NetLearner):
    """One player's Q-net, by mean squared error of the action that was played.

    Args:
        game: For unpacking infostates.
        network: The net.
        training: How to fit.
        device: Where to compute.
        seed: Of the initial weights.

    Raises:
        ValueError: the game lacks what the network needs.
    """

    def __init__(
        self,
        game: Game,
        network: NetworkSettings,
        training: TrainingSettings,
        *,
        device: torch.device | None = None,
        seed: int = 0,
    ) -> None:
        self.game = game
        self.network = network
        self._actions = np.arange(game.spec.num_actions)
        self._encode = encoder(game, network)
        self.trainer = Trainer(lambda: ValueNet(network, game.spec), training, device or torch.device("cpu"), seed)

    def fit(self, blocks: Iterable[NDArray[np.void]], iteration: int) -> dict[str, float]:
        """Trains on blocks of `response_dtype` rows, minibatch by minibatch; all iterations weigh the same.

        Returns:
            ``loss`` (mean squared error), ``rows`` trained on.

        Raises:
            TrainingDiverged: the loss is not finite.
        """
        return self.trainer.fit(blocks, self._loss)

    def _loss(self, part: NDArray[np.void]) -> torch.Tensor:
        packed = np.ascontiguousarray(part["infostate"])
        slots = self.game.output_slots(packed, self.network.outputs)
        played = part["action"][:, None] == self._actions
        with self.trainer.autocast():
            values = self.trainer.net.action_values([self._encode(packed)], slots, played)
        target = self.trainer.tensor(np.ascontiguousarray(part["target"]))
        return torch.nn.functional.mse_loss(values.sum(1), target)
