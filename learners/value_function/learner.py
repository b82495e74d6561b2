"""The learner of a value function, which fits a net to solved samples (paper 003)."""

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from envs.game import Game
from learners.settings import TrainingSettings
from learners.training import NetLearner, Trainer
from learners.value_function.limit import Limit
from learners.value_function.network import RangeValueNet
from learners.value_function.parts import split_game
from learners.value_function.samples import typical_value
from learners.value_function.settings import Loss, ValueNetSettings


class RangeValueLearner(NetLearner):
    """Trains one net for the values of both players.

    Args:
        game: The game.
        limit: Where the game is cut.
        network: Settings of the net.
        training: Settings of the training.
        loss: ``huber``, ``l1``: mean over all places that belong to a row's public state; ``linf``: mean over rows of
            the largest error.
        device: Device of the net; None stands for the CPU.
        seed: Seed of the initial weights.
    """

    def __init__(
        self,
        game: Game,
        limit: Limit,
        network: ValueNetSettings,
        training: TrainingSettings,
        loss: Loss = "huber",
        *,
        device: torch.device | None = None,
        seed: int = 0,
    ) -> None:
        split = split_game(game, limit)
        scale = typical_value(split)
        build = lambda: RangeValueNet(split.encoding, network, scale)  # noqa: E731
        self.loss, self.scale = loss, scale
        self.trainer = Trainer(build, training, device or torch.device("cpu"), seed)

    def fit(self, blocks: Iterable[NDArray[np.void]], iteration: int) -> dict[str, float]:
        """Trains on blocks of `range_value_dtype` rows, minibatch by minibatch.

        Returns:
            ``loss``, in the units of the net's outputs, and ``rows``, the number of rows trained on.

        Raises:
            TrainingDiverged: the loss is not finite.
        """
        return self.trainer.fit(blocks, self._loss)

    def _loss(self, part: NDArray[np.void]) -> Tensor:
        net, tensor = self.trainer.net, self.trainer.tensor
        public = tensor(part["public"].astype(np.int64))
        with self.trainer.autocast():
            found = self.trainer.model(public, tensor(np.ascontiguousarray(part["ranges"])))
        wanted = tensor(np.ascontiguousarray(part["values"])) / self.scale
        error, mask = found.float() - wanted, net.mask[public]
        if self.loss == "linf":
            return error.abs().amax(dim=1).mean()
        each = error.abs() if self.loss == "l1" else torch.nn.functional.huber_loss(error, error * 0, reduction="none")
        return (each * mask).sum() / mask.sum()


def validation_losses(net: RangeValueNet, rows: NDArray[np.void], piece: int = 8192) -> dict[str, float]:
    """Errors of a net on held-out rows (paper 003, fig. 2).

    Args:
        net: The net.
        rows: Rows of `range_value_dtype`.
        piece: Number of rows of a forward pass.

    Returns:
        ``huber`` and ``l1``, means over all places that belong to a row's public state, and ``linf``, the largest
        error, all of counterfactual values for the ranges of the game, in its unit; and the same with the prefix
        ``normalised_`` for ranges that sum to 1, to which the net is fitted.
    """
    split_at, scale = net.split_at, float(net.scale)
    totals = dict.fromkeys(("huber", "l1", "linf"), 0.0)
    totals |= {f"normalised_{name}": 0.0 for name in totals}
    places = 0.0
    for begin in range(0, len(rows), piece):
        part = rows[begin : begin + piece]
        public = torch.from_numpy(part["public"].astype(np.int64))
        with torch.inference_mode():
            found = net(public, torch.from_numpy(np.ascontiguousarray(part["ranges"]))).numpy() * scale
        error = np.abs(found - part["values"]).astype(np.float64)
        sums = part["sums"]
        raw = (
            error
            * np.concatenate(  # a player's values have the other's reach for a factor
                [np.repeat(sums[:, 1:], split_at, axis=1), np.repeat(sums[:, :1], error.shape[1] - split_at, axis=1)],
                axis=1,
            )
        )
        for prefix, each in (("", raw), ("normalised_", error)):
            totals[f"{prefix}huber"] += float(np.where(each < 1, each**2 / 2, each - 0.5).sum())
            totals[f"{prefix}l1"] += float(each.sum())
            totals[f"{prefix}linf"] = max(totals[f"{prefix}linf"], float(each.max()))
        places += float(net.mask[public].sum())
    return {name: total if name.endswith("linf") else total / max(places, 1.0) for name, total in totals.items()}


__all__ = ["RangeValueLearner", "validation_losses"]
