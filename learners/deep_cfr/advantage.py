"""The advantage learner: fits d(s, a) to the sampled immediate advantages of one player's reservoir."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import huber_loss

from envs.game import Game
from learners.deep_cfr.merging import merge_samples
from learners.deep_cfr.settings import Importance
from learners.networks.arrays import View
from learners.networks.learner import ValueNetLearner
from learners.networks.settings import NetworkSettings
from learners.samples import advantage_dtype, unpack_mask
from learners.settings import Fitting, TrainingSettings


class Targets(NamedTuple):
    """A minibatch, unpacked and encoded for the loss.

    Attributes:
        inputs: Infostates in the network's encoding.
        slots: Output slots of each action, from `Game.output_slots`, `int16[B, A, K]`.
        legal: Legal actions, `bool[B, A]`.
        advantage: Sampled advantages, `float32[B, A]`; 0 for illegal actions.
        weight: Weight of each sample, `float32[B]`.
    """

    inputs: View
    slots: NDArray[np.int16]
    legal: NDArray[np.bool_]
    advantage: torch.Tensor
    weight: torch.Tensor


class AdvantageLearner(ValueNetLearner):
    """Fits one player's advantage net by mean squared error, or by Huber's loss; the weight of a sample is a power of
    its iteration t.

    Args:
        game: Unpacks and encodes infostates.
        network: Settings of the net.
        training: Settings of the fits.
        importance: Whether samples also have the importance weight 1 / x^xi(s), where x^xi is the reach probability of
            the traverser's own sampling (paper 000, 4.7): ``none``, ``full``, or ``clipped`` at `importance_clip` times
            the mean weight.
        importance_clip: See `importance`.
        iteration_power: Exponent of t in the weight of a sample: 1 is linear CFR, 0 plain CFR; larger exponents forget
            faster (discounted CFR, Brown and Sandholm 2019).
        huber_delta: Error above which the loss grows linearly, twice Huber's loss with this delta, so that samples
            far off pull no stronger than those that are `huber_delta` off; None: squared errors. The fixed point is
            then no mean of the samples any more, but between their mean and their median.
        merge: Whether the samples of one infostate are merged into one row before a fit; see `merging`.
        device: Device to train on; the CPU by default.
        seed: Seed of the initial weights.
    """

    def __init__(
        self,
        game: Game,
        network: NetworkSettings,
        training: TrainingSettings,
        *,
        importance: Importance = "none",
        importance_clip: float = 10.0,
        iteration_power: float = 1.0,
        huber_delta: float | None = None,
        merge: bool = False,
        device: torch.device | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(game, network, training, device=device, seed=seed)
        self.trainer.cure = "lower it, or bound the targets (sampling.target_clip)"
        self.importance = importance
        self.importance_clip = importance_clip
        self.iteration_power = iteration_power
        self.huber_delta = huber_delta
        self.whole_buffer = merge

    def fit(self, blocks: Iterable[NDArray[np.void]], iteration: int) -> dict[str, float]:
        """Trains on blocks of `advantage_dtype` rows, minibatch by minibatch.

        With `merge`, the blocks must be the whole buffer, and minibatches are drawn from the merged rows.

        Without any row, as of a player who never moves, such a net stays as it is.

        Returns:
            ``loss`` (mean weighted squared error, or Huber's, per output) and ``rows``, the number of rows trained on;
            with `merge` also ``infostates``, the number of merged rows.

        Raises:
            TrainingDiverged: the loss is not finite.
        """
        if self.whole_buffer:
            samples = self._joined(blocks)
            return self._fit_merged(samples, iteration) if len(samples) else self._left_out() | {"infostates": 0}
        blocks, mean_log_weight = iter(blocks), None
        if self.importance != "none" and (first := next(blocks, None)) is not None:
            mean_log_weight = self.trainer.ranks.log_mean(first["log_weight"])  # one scale for the whole fit
            blocks = chain([first], blocks)
        return self.fit_by(
            blocks, lambda part: self._loss(self._prepare(part, self._weights(part, iteration, mean_log_weight)))
        )

    def _left_out(self) -> dict[str, float]:
        """Metrics of a fit that is left out, since its player has had no decision."""
        self.trainer.steps = 0
        return {"loss": 0.0, "rows": 0}

    def _joined(self, blocks: Iterable[NDArray[np.void]]) -> NDArray[np.void]:
        """Returns the rows of all blocks; none of a player who has had no decision."""
        return np.concatenate([np.empty(0, advantage_dtype(self.game.spec)), *blocks])

    def _fit_merged(self, samples: NDArray[np.void], iteration: int) -> dict[str, float]:
        """Merges the samples to one row per infostate, and runs one fit on these rows."""
        merged = self._merge(samples, iteration)
        return self._fit_rows(merged) | {"infostates": len(merged)}

    def _merge(self, samples: NDArray[np.void], iteration: int) -> NDArray[np.void]:
        """Returns one row per infostate, whose `log_weight` is the logarithm of its weight in the loss."""
        scale = None if self.importance == "none" else _log_mean(samples["log_weight"])
        weight = self._weights(samples, iteration, scale).astype(np.float64)
        samples, weight = samples[weight > 0], weight[weight > 0]
        merged = merge_samples(samples, weight, samples["infostate"])
        inputs = self.encode(np.ascontiguousarray(merged["infostate"]))
        if isinstance(inputs, np.ndarray):  # packed infostates can differ where the net sees no difference
            merged = merge_samples(merged, np.exp(merged["log_weight"].astype(np.float64)), inputs)
        return merged

    def _fit_rows(self, rows: NDArray[np.void]) -> dict[str, float]:
        """Runs one fit on rows whose `log_weight` is the logarithm of their weight in the loss."""
        mean_log_weight = _log_mean(rows["log_weight"])
        if len(rows) == 1:  # a minibatch of one row would be dropped, see `Ranks.parts`
            rows = np.repeat(rows, 2)

        def prepare(part: NDArray[np.void]) -> Targets:
            return self._prepare(part, np.exp(part["log_weight"] - mean_log_weight))

        settings = self.trainer.settings
        one = settings.minibatches is not None and len(rows) <= settings.batch
        whole = prepare(self.trainer.own(rows)) if one else None
        rng = np.random.default_rng((self.trainer.seed, self.trainer.fits))
        return self.fit_by(
            _batches(rows, settings, rng), lambda part: self._loss(prepare(part) if whole is None else whole)
        )

    def _weights(
        self, part: NDArray[np.void], iteration: int, mean_log_weight: float | None
    ) -> NDArray[np.floating[Any]]:
        """Returns the weight of each sample: by iteration and, unless `mean_log_weight` is None, by importance."""
        weight = (part["iteration"] / np.float32(iteration)) ** np.float32(self.iteration_power)
        if mean_log_weight is not None:
            importance = np.exp(np.minimum(part["log_weight"] - mean_log_weight, 80.0))
            if self.importance == "clipped":
                importance = np.minimum(importance, self.importance_clip)
            weight = weight * importance
        return np.asarray(weight)

    def _prepare(self, part: NDArray[np.void], weight: NDArray[np.floating[Any]]) -> Targets:
        """Unpacks and encodes a minibatch."""
        infostate = np.ascontiguousarray(part["infostate"])
        legal = unpack_mask(np.ascontiguousarray(part["legal"]), self.game.spec.num_actions)
        target = self.trainer.tensor(np.ascontiguousarray(part["advantage"]))
        slots = self.game.output_slots(infostate, self.network.outputs)
        return Targets(
            self.encode(infostate), slots, legal, target, self.trainer.tensor(np.asarray(weight, np.float32))
        )

    def _loss(self, batch: Targets) -> torch.Tensor:
        values = self.values([batch.inputs], batch.slots, batch.legal)
        error = values - batch.advantage  # both are 0 for illegal actions
        if self.huber_delta is None:
            each = error.square()
        else:
            each = 2 * huber_loss(values, batch.advantage, reduction="none", delta=self.huber_delta)
        return (each.sum(1) * batch.weight).mean() / self.game.spec.num_actions


def _batches(rows: NDArray[np.void], settings: Fitting, rng: np.random.Generator) -> Iterator[NDArray[np.void]]:
    """Yields the minibatches of a fit: each has all rows if they fit into one minibatch, or else rows drawn at random.

    Without `settings.minibatches`, the only block is a permutation of all rows, for one epoch.
    """
    if settings.minibatches is None:
        yield rows[rng.permutation(len(rows))]
        return
    for _ in range(settings.minibatches):
        yield rows if len(rows) <= settings.batch else rows[rng.integers(0, len(rows), settings.batch)]


def _log_mean(log_weight: NDArray[np.float32]) -> float:
    return float(np.logaddexp.reduce(log_weight.astype(np.float64)) - np.log(len(log_weight)))
