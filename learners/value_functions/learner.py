"""The learner of a value function, which fits a net to solved samples (paper 003), and the errors of its net.

The paper names its losses Huber, l1 and l_inf, and defines none of them. Here, for fits and for held-out samples alike,
``huber`` (with its bend at 1) and ``l1`` are means over all places that belong to a row's public state, and ``linf`` is
the mean over rows of the largest error of a row. The largest error of all rows is ``largest``, which nothing is fitted
to: it grows with the number of rows.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from envs.game import Game
from learners.settings import TrainingSettings
from learners.storage import ForeignState
from learners.training import NetLearner, Trainer
from learners.value_functions.limit import Limit
from learners.value_functions.network import RangeValueNet
from learners.value_functions.parts import split_game
from learners.value_functions.samples import inputs_and_values, reaches, typical_value
from learners.value_functions.settings import LOSSES, Loss, ValueNetSettings


class RangeValueLearner(NetLearner):
    """Trains one net for the values of both players.

    Args:
        game: The game.
        limit: Where the game is cut.
        network: Settings of the net.
        training: Settings of the training.
        loss: ``huber``, ``l1`` or ``linf``, see the head of this module.
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
        scale = typical_value(split, network.normalises)
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

    def state_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """For a checkpoint; names the form of the ranges, which decides the unit of the outputs."""
        arrays, meta = super().state_arrays()
        return arrays, meta | {"ranges": self.trainer.net.settings.ranges}

    def load_state_arrays(self, arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> None:
        """From a checkpoint.

        Raises:
            ForeignState: the state is of a net with ranges of the other form, or of another network or optimiser.
        """
        saved, own = meta.get("ranges", "normalised"), self.trainer.net.settings.ranges
        if saved != own:
            raise ForeignState(f"the saved state is of a net with network.ranges={saved}, not {own}")
        super().load_state_arrays(arrays, meta)

    def _loss(self, part: NDArray[np.void]) -> Tensor:
        net, tensor = self.trainer.net, self.trainer.tensor
        public = tensor(part["public"].astype(np.int64))
        ranges, values = inputs_and_values(part, net.split_at, net.settings.normalises)
        with self.trainer.autocast():
            found = self.trainer.model(public, tensor(ranges))
        wanted = tensor(values) / self.scale
        mask = net.mask[public]
        total, count = summed_loss(found.float() - wanted, mask, self.loss)
        if self.loss != "linf":  # the places that as many rows have in the mean over the minibatch
            count = len(part) * self.trainer.ranks.mean(mask.sum(dim=1).float())
        return total / count


def summed_loss(error: Tensor, mask: Tensor, loss: Loss) -> tuple[Tensor, Tensor | int]:
    """Sums up a loss, in the unit of the errors; divided by the count it is the loss of the rows.

    Args:
        error: Errors, `[B, W]`, 0 in places that do not belong to the public state.
        mask: 1 in the places that do, `[B, W]`.
        loss: ``huber``, ``l1`` or ``linf``.

    Returns:
        The sum, over places or over rows, and the number of these.
    """
    if loss == "linf":
        return error.abs().amax(dim=1).sum(), len(error)
    each = error.abs() if loss == "l1" else torch.nn.functional.huber_loss(error, error * 0, reduction="none")
    return (each * mask).sum(), mask.sum()


def validation_losses(net: RangeValueNet, rows: NDArray[np.void], piece: int = 8192) -> dict[str, float]:
    """Errors of a net on held-out rows (paper 003, fig. 2).

    Args:
        net: The net.
        rows: Rows of `range_value_dtype`.
        piece: Number of rows of a forward pass.

    Returns:
        ``huber``, ``l1``, ``linf`` and ``largest``, see the head of this module, of counterfactual values for the
        ranges of the game, in its unit; and the same with the prefix ``fitted_`` for ranges of the net's form, in units
        of the net's outputs: these are the losses that a net is fitted to.
    """
    totals: dict[str, float] = {}
    counts: dict[str, float] = {}
    for begin in range(0, len(rows), piece):
        part = rows[begin : begin + piece]
        public = torch.from_numpy(part["public"].astype(np.int64))
        ranges, values = inputs_and_values(part, net.split_at, net.settings.normalises)
        with torch.inference_mode():
            found = net(public, torch.from_numpy(ranges))
            mask = net.mask[public]
            fitted = found.double() - torch.from_numpy(values) / net.scale
            for prefix, error in (("", fitted * net.scale * _to_game(net, part)), ("fitted_", fitted)):
                for loss in LOSSES:
                    total, count = summed_loss(error, mask, loss)
                    totals[prefix + loss] = totals.get(prefix + loss, 0.0) + float(total)
                    counts[prefix + loss] = counts.get(prefix + loss, 0.0) + float(count)
                totals[f"{prefix}largest"] = max(totals.get(f"{prefix}largest", 0.0), float(error.abs().max()))
    return {name: total / max(counts.get(name, 1.0), 1.0) for name, total in totals.items()}


def _to_game(net: RangeValueNet, rows: NDArray[np.void]) -> Tensor | float:
    """Returns the factor of a net's values for those of the game: where its ranges sum to 1, the other's reach."""
    if not net.settings.normalises:
        return 1.0
    return torch.from_numpy(reaches(rows, net.split_at, of_other=True)).double()


__all__ = ["RangeValueLearner", "summed_loss", "validation_losses"]
