"""The baseline learner: fits Q(s*(h), a), the value of an action to the acting player given the infostates of both
players, by expected SARSA (paper 000, 4.7 and 5.2)."""

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from envs.game import Game
from learners.networks.arrays import View
from learners.networks.learner import ValueNetLearner
from learners.networks.settings import NetworkSettings
from learners.settings import TrainingSettings


class BaselineLearner(ValueNetLearner):
    """Fits one player's baseline net.

    The first view is always the infostate of the acting player, and values are those of that player. In a two-player
    zero-sum game the other player's value is the negative, so one set of outputs serves the decisions of both.

    Args:
        game: Unpacks and encodes infostates.
        network: Settings of the net, which has two views.
        training: Settings of the fits.
        clip: Whether the values in targets are limited to the game's largest return.
        device: Device to train on; the CPU by default.
        seed: Seed of the initial weights.
    """

    def __init__(
        self,
        game: Game,
        network: NetworkSettings,
        training: TrainingSettings,
        *,
        clip: bool = False,
        device: torch.device | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(game, network, training, views=2, device=device, seed=seed)
        self._largest = game.spec.max_return if clip else float("inf")

    def fit(self, blocks: Iterable[NDArray[np.void]], iteration: int) -> dict[str, float]:
        """Trains on blocks of `transition_dtype` rows, by minibatches; all iterations have the same weight.

        The target is r + sign * sum_a pi'(a) Q(s', a), where pi' is the policy stored with the sample and Q the net
        that is being trained.

        Returns:
            ``loss`` (mean squared error) and ``rows``, the number of rows trained on.

        Raises:
            TrainingDiverged: the loss is not finite.
        """
        return self.fit_by(blocks, self._loss)

    def _loss(self, part: NDArray[np.void]) -> torch.Tensor:
        target = self._targets(part)
        views, slots = self._inputs(part["infostates"])
        slots = slots[np.arange(len(part)), part["action"]][:, None]  # of the action that was taken
        values = self.values(views, slots, np.ones((len(part), 1), np.bool_))
        return torch.nn.functional.mse_loss(values[:, 0], target)

    def _inputs(self, infostates: NDArray[np.uint8]) -> tuple[list[View], NDArray[np.int16]]:
        """Returns views and output slots of pairs of infostates, `uint8[B, 2, P]`, the acting player's first."""
        actor, other = (np.ascontiguousarray(infostates[:, view]) for view in (0, 1))
        slots = self.game.output_slots(actor, self.network.outputs, other)
        return [self.encode(actor), self.encode(other)], slots

    def _targets(self, part: NDArray[np.void]) -> torch.Tensor:
        to, net = self.trainer.tensor, self.trainer.net
        policy = np.ascontiguousarray(part["next_policy"])
        views, slots = self._inputs(part["next_infostates"])
        with torch.no_grad():
            net.eval()  # targets must not change the running moments of batch normalisation
            values = self.values(views, slots, policy > 0, net)
            net.train()
            values = values.clamp(-self._largest, self._largest)
            following = (values * to(policy)).sum(1)
            sign = to(part["next_sign"].astype(np.float32))
            return to(np.ascontiguousarray(part["reward"])) + sign * following
