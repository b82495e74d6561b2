"""The value learner: fits the value of a belief state for its player, which replaces the game below the depth limit
(paper 002, Algorithm 3, where it is called baseline)."""

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from learners.networks.learner import ValueNetLearner


class ValueLearner(ValueNetLearner):
    """Fits one value net for both players by mean squared error.

    Args:
        game: For unpacking infostates.
        network: Settings of the net, with outputs ``value``.
        training: Settings of the fit.
        device: Device to train on; the CPU by default.
        seed: Seed of the initial weights.
    """

    def fit(self, blocks: Iterable[NDArray[np.void]], iteration: int) -> dict[str, float]:
        """Trains on blocks of `infostate_value_dtype` rows, by minibatches; all iterations have the same weight.

        Returns:
            ``loss`` (mean squared error) and ``rows``, the number of rows trained on.

        Raises:
            TrainingDiverged: the loss is not finite.
        """
        return self.fit_by(blocks, self._loss)

    def _loss(self, part: NDArray[np.void]) -> torch.Tensor:
        infostate = np.ascontiguousarray(part["infostate"])
        slots = self.game.output_slots(infostate, self.network.outputs)
        values = self.values([self.encode(infostate)], slots, np.ones((len(part), 1), np.bool_))
        return torch.nn.functional.mse_loss(values[:, 0], self.trainer.tensor(np.ascontiguousarray(part["value"])))
