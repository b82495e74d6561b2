"""Base class of the learners of networks with action values."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from envs.game import Game
from learners.networks.arrays import View
from learners.networks.inference import encoder
from learners.networks.modules import ValueNet
from learners.networks.settings import NetworkSettings
from learners.settings import TrainingSettings
from learners.training import NetLearner, Trainer


class ValueNetLearner(NetLearner):
    """A learner of one `ValueNet`; subclasses define the loss and `fit`.

    Args:
        game: Encodes packed infostates.
        network: Settings of the network.
        training: Settings of the fits.
        views: Number of infostates that the network reads, 1 or 2.
        device: Device to train on; the CPU by default.
        seed: Seed of the initial weights.

    Raises:
        ValueError: the game lacks what the network needs.
    """

    def __init__(
        self,
        game: Game,
        network: NetworkSettings,
        training: TrainingSettings,
        *,
        views: int = 1,
        device: torch.device | None = None,
        seed: int = 0,
    ) -> None:
        self.game = game
        self.network = network
        self.encode = encoder(game, network)
        self.trainer = Trainer(
            lambda: ValueNet(network, game.spec, views), training, device or torch.device("cpu"), seed
        )
        self._trained_on: Sequence[View] | None = None  # the last minibatch of the fit that runs

    def fit_by(
        self, blocks: Iterable[NDArray[np.void]], loss: Callable[[NDArray[np.void]], Tensor]
    ) -> dict[str, float]:
        """Runs a fit, see `Trainer.fit`.

        Returns:
            Its metrics with ``idle_share``, the share of hidden units that are 0 for all rows of the last minibatch.
        """
        metrics, net = self.trainer.fit(blocks, loss), self.trainer.net
        views, self._trained_on = self._trained_on, None
        if views is None:
            return metrics
        rows_of_all = self.trainer.ranks.sum(net.active_units(net.tensors(views)).float())
        return metrics | {"idle_share": float((rows_of_all == 0).float().mean())}

    def values(
        self,
        views: Sequence[View],
        slots: NDArray[np.int16],
        needed: NDArray[np.bool_],
        model: nn.Module | None = None,
    ) -> Tensor:
        """The value of each needed action, the sum of the outputs in its slots, `float32[B, A]`; 0 for other actions.

        Args:
            views: Encoded infostates, from `encode`.
            slots: Output slots of each action, from `Game.output_slots`, `int16[B, A, K]`.
            needed: Actions whose value is needed, `bool[B, A]`.
            model: The model to evaluate; the one in training by default.
        """
        if model is None:
            self._trained_on, model = views, self.trainer.model
        to = self.trainer.tensor
        with self.trainer.autocast():
            values: Tensor = model(self.trainer.net.tensors(views), to(slots), to(needed))
        return values
