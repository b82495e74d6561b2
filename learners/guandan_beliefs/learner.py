"""The learner of beliefs about hands: the likelihood of the true deals. `B` rows of a minibatch."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from envs.game import States
from envs.guandan.beliefs.evidence import observe
from envs.guandan.beliefs.knowledge import hands_by_place
from envs.guandan.beliefs.placements import score_deals
from learners.guandan_beliefs.network import HandsNet
from learners.guandan_beliefs.settings import HandsNetSettings, HandsTrainingSettings
from learners.networks.settings import Weights
from learners.settings import scheduled
from learners.training import Trainer


class HandsLearner:
    """A net about hands with its training.

    Args:
        network: Sizes of the net.
        training: Settings of the fits.
        seed: Seed of the initial weights.
        device: Where to train the net; the sums over deals are always on the CPU.
    """

    def __init__(
        self,
        network: HandsNetSettings,
        training: HandsTrainingSettings,
        seed: int,
        device: torch.device | None = None,
    ) -> None:
        self._training = training
        build = partial(HandsNet, network.seat_width, network.width)
        self.trainer = Trainer(build, training, device or torch.device("cpu"), seed)

    def fit(self, states: States, rng: np.random.Generator, done: float) -> dict[str, float]:
        """Trains one epoch on positions, each as its mover sees it, in random order.

        Args:
            states: `[n]` records of positions that are not over.
            rng: Draws the order.
            done: Part of the training that is done, 0 to 1, for the learning rate.

        Returns:
            ``loss``, the mean of the logarithmic losses per card whose holder is not known, in nats, and ``rows``.

        Raises:
            TrainingDiverged: the loss is not finite.
        """
        rate = scheduled(self._training.learning_rate, self._training.learning_rate_end, done)
        self.trainer.set_learning_rate(rate)
        return self.trainer.fit(self._minibatches(states, rng), self._loss)

    def _minibatches(self, states: States, rng: np.random.Generator) -> Iterator[NDArray[np.void]]:
        order, batch = rng.permutation(len(states)), self._training.batch
        for start in range(0, len(order) - batch + 1, batch):
            yield states[order[start : start + batch]]

    def _loss(self, states: States) -> Tensor:
        """The loss of a minibatch, by the gradient that `score_deals` computes: true counts minus expected ones."""
        trainer, movers = self.trainer, states["to_move"].astype(np.int64)
        by_seat, by_table, known = observe(states, movers)
        scores = trainer.model(trainer.tensor(by_seat).float(), trainer.tensor(by_table).float())
        given = scores.detach().double().cpu().numpy()
        logs, gradients = np.empty(len(states)), np.empty_like(given)
        held = hands_by_place(states, movers)
        score_deals(known.free, known.room, known.known, known.most, given, held, logs, gradients)
        cards = max(1, int(known.free.sum()))
        slope = (scores * trainer.tensor(gradients.astype(np.float32))).sum()
        found: Tensor = (slope.detach() - float(logs.sum()) - slope) / cards  # its value is the loss, its slope as well
        return found

    def weights(self) -> Weights:
        """The averaged net for `envs.guandan.beliefs.net.HandsBelief`."""
        return self.trainer.weights()


__all__ = ["HandsLearner"]
