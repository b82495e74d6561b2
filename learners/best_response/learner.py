"""The learner of a best response: fits Q(s, a) to what came of playing a in s against the frozen agent."""

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from learners.networks.learner import ValueNetLearner


class ResponseLearner(ValueNetLearner):
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
        slots = slots[np.arange(len(part)), part["action"]][:, None]  # of the action that was taken
        values = self.values([self.encode(packed)], slots, np.ones((len(part), 1), np.bool_))
        target = self.trainer.tensor(np.ascontiguousarray(part["target"]))
        return torch.nn.functional.mse_loss(values[:, 0], target)
