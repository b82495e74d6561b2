"""The parts that learners of all methods with listed actions share: a network with its encoder and its training."""

from abc import abstractmethod
from functools import cached_property
from typing import Generic, TypeVar

import torch
from torch import nn

from envs.capabilities import FullView, full_view
from envs.game import ListedGame
from learners.listed.decisions import DecisionEncoder
from learners.listed.network import CPU_ROWS
from learners.listed.settings import ListedTrainingSettings, QNetworkSettings
from learners.networks.settings import Weights
from learners.training import NetLearner, Trainer

Training = TypeVar("Training", bound=ListedTrainingSettings)


class ListedLearner(NetLearner, Generic[Training]):
    """A network over listed actions with its training.

    Args:
        game: Unpacks and encodes infostates and actions.
        network: Settings of the network.
        training: Settings of the fits.
        device: Device to train on; the CPU by default.
        seed: Seed of the initial weights.
        start: Weights of a Q-net, and perhaps of a critic, to begin with, see `inference_weights` of the network; None
            draws new ones.

    Raises:
        ValueError: the game lacks what the network needs, or `start` is of another network.
    """

    def __init__(
        self,
        game: ListedGame,
        network: QNetworkSettings,
        training: Training,
        *,
        device: torch.device | None = None,
        seed: int = 0,
        start: Weights | None = None,
    ) -> None:
        self.game, self.network, self.training = game, network, training
        self._encode = DecisionEncoder(game, network.encoding_of(game.spec))
        self.trainer = Trainer(self.build, training, device or torch.device("cpu"), seed)
        if start is not None:
            self.trainer.start_from(start)
        self._rows = CPU_ROWS if self.trainer.device.type == "cpu" else training.batch

    @cached_property
    def full(self) -> FullView:
        """The game as a critic is shown it; raises TypeError if it shows a critic nothing more."""
        return full_view(self.game)

    @abstractmethod
    def build(self) -> nn.Module:
        """Makes a network with random weights."""
