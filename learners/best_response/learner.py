"""The learner of a best response: fits Q(s, a) to the outcomes of action a in s against the frozen agent."""

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from learners.networks.learner import ValueNetLearner


class ResponseLearner(ValueNetLearner):
    """Fits the Q-net of one player by the mean squared error of the actions that were played.

    Args:
        game: For unpacking infostates.
        network: Settings of the net.
        training: Settings of the fit.
        device: Device to train on; the CPU by default.
        seed: Seed of the initial weights.

    Raises:
        ValueError: the game lacks what the network needs.
    """

    def fit(self, blocks: Iterable[NDArray[np.void]], iteration: int) -> dict[str, float]:
        """Trains on blocks of `response_dtype` rows, by minibatches; all iterations have the same weight.

        Returns:
            ``loss`` (mean squared error) and ``rows``, the number of rows trained on.

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
