"""The baseline learner: expected SARSA on Q(s*(h), a), the value of an action to the player who acts, from the
infostates of both players (paper 000, 4.7 and 5.2)."""

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


class BaselineLearner(NetLearner):
    """One player's baseline net.

    The first view is always the acting player's infostate and the value is that player's: in a two-player zero-sum
    game the value of the other is its negative, so one set of outputs serves decisions of both.

    Args:
        game: For unpacking infostates.
        network: The net, with two views.
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
        self._actions = np.arange(game.spec.num_actions)
        self._encode = encoder(game, network)
        self.trainer = Trainer(
            lambda: ValueNet(network, game.spec, views=2), training, device or torch.device("cpu"), seed
        )

    def fit(self, blocks: Iterable[NDArray[np.void]], iteration: int) -> dict[str, float]:
        """Trains on blocks of `transition_dtype` rows, minibatch by minibatch; all iterations weigh the same.

        The target is r + sign * sum_a pi'(a) Q(s', a) with pi' as stored at collection and Q the net being trained.

        Returns:
            ``loss`` (mean squared error), ``rows`` trained on.

        Raises:
            TrainingDiverged: the loss is not finite.
        """
        return self.trainer.fit(blocks, self._loss)

    def _loss(self, part: NDArray[np.void]) -> torch.Tensor:
        target = self._targets(part)
        values = self._values(part["infostates"], part["action"][:, None] == self._actions)
        return torch.nn.functional.mse_loss(values.sum(1), target)

    def _values(self, infostates: NDArray[np.uint8], needed: NDArray[np.bool_]) -> torch.Tensor:
        """Q of the actions that are needed `[B, A]`, else 0, for packed pairs `uint8[B, 2, P]`, actor first."""
        actor, other = (np.ascontiguousarray(infostates[:, view]) for view in (0, 1))
        slots = self.game.output_slots(actor, self.network.outputs, other)
        with self.trainer.autocast():
            return self.trainer.net.action_values([self._encode(actor), self._encode(other)], slots, needed)

    def _targets(self, part: NDArray[np.void]) -> torch.Tensor:
        to = self.trainer.tensor
        policy = np.ascontiguousarray(part["next_policy"])
        with torch.no_grad():
            self.trainer.net.eval()  # targets must not enter the running moments of batch normalisation
            values = self._values(part["next_infostates"], policy > 0)
            self.trainer.net.train()
            following = (values * to(policy)).sum(1)
            sign = to(part["next_sign"].astype(np.float32))
            return to(np.ascontiguousarray(part["reward"])) + sign * following
