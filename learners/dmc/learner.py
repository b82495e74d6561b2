"""The learner of Deep Monte-Carlo: fits Q(s, a) to the returns of self-play, without stale samples (paper 004,
IV-B)."""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from learners.dmc.settings import DmcTrainingSettings
from learners.listed.decisions import encode_full
from learners.listed.learner import ListedLearner
from learners.listed.network import QNet, QWithCritic
from learners.samples import unpack_actions

_TALLIES = ("loss", "clipped", "q_mean", "q_square", "q_error", "q_drift")


class QLearner(ListedLearner[DmcTrainingSettings]):
    """A Q-network with its training."""

    def build(self) -> nn.Module:
        if self.training.critic == "none":
            return QNet(self.network, self.game.spec)
        return QWithCritic(self.network, self.training, self.game.spec, self.full.full_inputs)

    def fit(self, blocks: Iterable[NDArray[np.void]], iteration: int) -> dict[str, float]:
        """Trains on blocks of `value_dtype` rows, minibatch by minibatch; the loss is (Q' - g)^2, see `clip_stale`, and
        that of the critic, (V - v)^2, if there is one.

        Returns:
            ``rows``, the number of rows trained on, and means over these rows: ``loss``; ``clipped``, the share of rows
            without gradient because Q has left the band; ``q_mean``, the mean of Q, and ``q_spread``, its
            standard deviation, which is near 0 where the net gives a constant; ``q_error``, the mean of (Q - g)^2,
            clipped or not; ``q_drift``, the mean of |Q - Q_a|; ``age``, the age of the actors' weights in
            iterations, and ``age_updates``, their age in updates of the weights; ``dropped``, the share of rows older
            than `max_age`, which have no gradient.

        Raises:
            TrainingDiverged: the loss is not finite.
        """
        self.trainer.begin_fit()
        tallies = torch.zeros(len(_TALLIES), dtype=torch.float64, device=self.trainer.device)
        rows, dropped, age = 0, 0, 0.0
        for part, weight in self.trainer.parts(blocks):
            fresh = self._fresh(part, iteration)
            self.trainer.step(self._pieces(part, fresh, tallies), weight)
            dropped += len(part) - int(fresh.sum())
            age += iteration * len(part) - part["version"].sum(dtype=np.float64)
            rows += len(part)
        sums = self.trainer.ranks.sum(torch.cat([tallies, tallies.new_tensor([rows, dropped, age])]))
        tallies, (rows, dropped), age = sums[:-3], map(int, sums[-3:-1].tolist()), float(sums[-1])
        means = dict(zip(_TALLIES, (tallies / max(rows, 1)).tolist(), strict=True))
        means["q_spread"] = max(means.pop("q_square") - means["q_mean"] ** 2, 0.0) ** 0.5
        # The clipped loss can stay finite although the values of the net have diverged.
        self.trainer.check_loss(means["q_error"], "lower it, or set a clip")
        age /= max(rows, 1)
        ages = {"age": age, "age_updates": age * self.training.minibatches, "dropped": dropped / max(rows, 1)}
        return {"rows": rows, **means, **ages}

    def _fresh(self, part: NDArray[np.void], iteration: int) -> NDArray[np.bool_]:
        """Returns which rows were played by weights that are not too old, `bool[n]`."""
        if self.training.max_age is None:
            return np.ones(len(part), np.bool_)
        return np.asarray(iteration - part["version"] <= self.training.max_age)

    def _pieces(self, part: NDArray[np.void], fresh: NDArray[np.bool_], tallies: Tensor) -> list[Callable[[], Tensor]]:
        """Returns functions that compute the summands of a minibatch's loss and add to the tallies."""
        starts = range(0, len(part), self._rows)
        return [partial(self._loss, part, fresh, slice(start, start + self._rows), tallies) for start in starts]

    def _loss(self, part: NDArray[np.void], fresh: NDArray[np.bool_], rows: slice, tallies: Tensor) -> Tensor:
        """Computes the summand of some rows in the loss of a minibatch."""
        trainer, piece = self.trainer, part[rows]
        packed = np.ascontiguousarray(piece["infostate"])
        chosen, offsets = unpack_actions(piece["action"], self.game.action_dtype), np.arange(len(piece) + 1)
        notes = self._encode.appraise(packed, offsets, chosen)
        inputs = [trainer.net.tensors(*self._encode(packed, offsets, chosen, notes))]
        if self.training.critic != "none":
            full = encode_full(self.full, packed, np.ascontiguousarray(piece["hidden"]), notes.states)
            inputs.append(trainer.tensor(full))
        with trainer.autocast():
            outputs = trainer.model(*inputs).float()
        q = outputs if outputs.ndim == 1 else outputs[:, 0]
        acted, target = (trainer.tensor(np.ascontiguousarray(piece[name])) for name in ("q", "target"))
        clipped = clip_stale(q, acted, self.training.staleness, self.training.staleness_floor)
        loss = (clipped - target).square().mul(trainer.tensor(fresh[rows])).sum()
        with torch.no_grad():
            moved = (clipped != q).sum()
            sums = loss, moved, q.sum(), q.double().square().sum(), (q - target).square().sum(), (q - acted).abs().sum()
            tallies += torch.stack([one.detach().double() for one in sums])
        if outputs.ndim == 2:
            value = trainer.tensor(np.ascontiguousarray(piece["value"]))
            loss = loss + (outputs[:, 1] - value).square().mul(trainer.tensor(fresh[rows])).sum()
        return loss / len(part)


def clip_stale(q: Tensor, acted: Tensor, staleness: float | None, floor: float) -> Tensor:
    """Computes Q' of paper 004, eq. 1 and 2, `[B]`: the learner's value, clipped to a band around the actor's.

    The paper clips the ratio Q / Q_a to [1 - lambda, 1 + lambda] and multiplies it by Q_a. For all signs of Q and Q_a,
    this equals Q clipped to Q_a +- lambda * |Q_a|, which needs no division. The half-width here is
    lambda * max(|Q_a|, floor), because values near 0 have no scale of their own. Outside of the band Q' does not depend
    on Q, so such a sample has no gradient.

    Args:
        q: Q, values by the learner's weights, `[B]`.
        acted: Q_a, values by the weights that the actors played by, `[B]`.
        staleness: Lambda; None does not clip.
        floor: Lower bound on |Q_a| in the width of the band.
    """
    if staleness is None:
        return q
    half = staleness * acted.abs().clamp(min=floor)
    return q.clamp(acted - half, acted + half)
