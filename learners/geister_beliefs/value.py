"""The value learner: what a belief state is worth to its player, in the place of what lies beyond the depth limit
(paper 002, Algorithm 3; there called baseline)."""

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


class ValueLearner(NetLearner):
    """One net for both players, mean squared error.

    Args:
        game: For unpacking infostates.
        network: The net, with outputs ``value``.
        training: How to fit.
        device: Where to compute.
        seed: Of the initial weights.
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
        self._encode = encoder(game, network)
        self.trainer = Trainer(lambda: ValueNet(network, game.spec), training, device or torch.device("cpu"), seed)

    def fit(self, blocks: Iterable[NDArray[np.void]], iteration: int) -> dict[str, float]:
        """Trains on blocks of `infostate_value_dtype` rows, minibatch by minibatch; all iterations weigh the same.

        Returns:
            ``loss`` (mean squared error), ``rows`` trained on.

        Raises:
            TrainingDiverged: the loss is not finite.
        """
        return self.trainer.fit(blocks, self._loss)

    def _loss(self, part: NDArray[np.void]) -> torch.Tensor:
        infostate = np.ascontiguousarray(part["infostate"])
        slots = self.game.output_slots(infostate, self.network.outputs)
        with self.trainer.autocast():
            values = self.trainer.net.action_values([self._encode(infostate)], slots, np.ones((len(part), 1), np.bool_))
        return torch.nn.functional.mse_loss(values[:, 0], self.trainer.tensor(np.ascontiguousarray(part["value"])))
