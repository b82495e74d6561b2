"""The value learner: what a belief state is worth to its player, in the place of what lies beyond the depth limit
(paper 002, Algorithm 3; there called baseline)."""

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from learners.networks.learner import ValueNetLearner


class ValueLearner(ValueNetLearner):
    """One net for both players, mean squared error.

    Args:
        game: For unpacking infostates.
        network: The net, with outputs ``value``.
        training: How to fit.
        device: Where to compute.
        seed: Of the initial weights.
    """

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
        values = self.values([self.encode(infostate)], slots, np.ones((len(part), 1), np.bool_))
        return torch.nn.functional.mse_loss(values[:, 0], self.trainer.tensor(np.ascontiguousarray(part["value"])))
