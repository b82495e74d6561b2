"""The average-policy net of Deep CFR (Brown, Lerer, Gross and Sandholm 2019, algorithm 1): a single net that is fitted
to the average policy of the nets of all iterations."""

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from envs.game import Game
from learners.networks.learner import ValueNetLearner
from learners.networks.settings import NetworkSettings
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
        return self.fit_by(blocks, lambda part: self._loss(part, iteration))

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
