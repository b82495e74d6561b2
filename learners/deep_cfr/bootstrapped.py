"""The learner of bootstrapped cumulative advantages: DCFR+ and PDCFR+ with nets (Xu et al. 2025, arXiv 2511.08174).

Deep CFR fits a net to the samples of all iterations. This learner fits it to those of the newest iteration alone, and
adds what the net of the iteration before has accumulated:

    R_t(s, a) = d(t - 1) * max(R_{t-1}(s, a), 0) + r_t(s, a),        d(t) = t^alpha / (t^alpha + 1),

where r_t is a sampled advantage. Regret matching on R_t is DCFR+. PDCFR+ expects the next advantages to be those of
this iteration, and plays by regret matching on

    P_{t+1}(s, a) = d(t) * max(R_t(s, a), 0) + r_t(s, a).

Xu et al. have a net for R_t and another for r_t, from which they compute P_{t+1}; here the second net is fitted to
P_{t+1} itself, which is the same in the limit and is played as any other advantage net.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from envs.game import Game
from learners.deep_cfr.advantage import AdvantageLearner
from learners.deep_cfr.settings import Importance
from learners.networks.settings import NetworkSettings, Weights
from learners.samples import unpack_mask
from learners.settings import TrainingSettings
from learners.storage import ForeignState, arrays_under

ROWS_AT_ONCE = 16_384
"""Rows for which a net is evaluated at a time."""


class BootstrappedAdvantageLearner(AdvantageLearner):
    """Fits one player's net of cumulative advantages to the samples of one iteration and to its former self.

    Args:
        game, network, training, importance, importance_clip, huber_delta, merge, device, seed: See `AdvantageLearner`.
            Both nets of PDCFR+ have the same settings.
        predictive: PDCFR+ instead of DCFR+.
        discount_power: Exponent alpha of the discount; the larger it is, the sooner the discount comes near 1.
    """

    def __init__(
        self,
        game: Game,
        network: NetworkSettings,
        training: TrainingSettings,
        *,
        predictive: bool,
        discount_power: float,
        importance: Importance = "none",
        importance_clip: float = 10.0,
        huber_delta: float | None = None,
        merge: bool = False,
        device: torch.device | None = None,
        seed: int = 0,
    ) -> None:
        options: dict[str, Any] = {
            "importance": importance,
            "importance_clip": importance_clip,
            "huber_delta": huber_delta,
            "device": device,
        }
        super().__init__(game, network, training, merge=merge, seed=seed, **options)
        self.discount_power = discount_power
        self.merge = merge
        self.whole_buffer = True  # targets are computed once for each row
        self.prediction: AdvantageLearner | None = None
        if predictive:
            other = int(np.random.SeedSequence((seed, 1)).generate_state(1)[0])
            self.prediction = AdvantageLearner(game, network, training, seed=other, **options)

    def fit(self, blocks: Iterable[NDArray[np.void]], iteration: int) -> dict[str, float]:
        """Trains on the samples of an iteration.

        Args:
            blocks: All samples of this iteration, and no others, as `advantage_dtype` rows.
            iteration: Number t of this fit, from 1.

        Returns:
            ``loss`` of the cumulative advantages, and ``rows``, the number of rows that both nets were trained on.

        Raises:
            TrainingDiverged: the loss is not finite.
        """
        samples = self._joined(blocks)
        if not len(samples):
            return self._left_out()
        rows = self._rows(samples, iteration)
        immediate = rows["advantage"].copy()
        rows["advantage"] += self.carried(rows, iteration - 1)
        metrics = self._fit_rows(rows)
        if self.prediction is not None:
            rows["advantage"] = immediate + self.carried(rows, iteration)
            self.prediction.trainer.join(self.trainer.ranks)
            metrics["rows"] += self.prediction._fit_rows(rows)["rows"]
        return metrics

    def _rows(self, samples: NDArray[np.void], iteration: int) -> NDArray[np.void]:
        """The rows of the fit, which may be written to; their `log_weight` is that of the loss."""
        if self.merge:
            return self._merge(samples, iteration)
        scale = None if self.importance == "none" else self.trainer.ranks.log_mean(samples["log_weight"])
        weight = self._weights(samples, iteration, scale)
        rows = samples[weight > 0]
        rows["log_weight"] = np.log(weight[weight > 0])
        return rows

    def carried(self, rows: NDArray[np.void], iteration: int) -> NDArray[np.float32]:
        """The start of iteration t + 1 at the infostates of some rows, d(t) * max(R_t, 0), `float32[n, A]`."""
        found = np.zeros(rows["advantage"].shape, np.float32)
        if iteration == 0 or self.trainer.fits == 0:
            return found
        net = self.trainer.playing_net.eval()
        with torch.no_grad():
            for start in range(0, len(rows), ROWS_AT_ONCE):
                part = rows[start : start + ROWS_AT_ONCE]
                infostate = np.ascontiguousarray(part["infostate"])
                legal = unpack_mask(np.ascontiguousarray(part["legal"]), self.game.spec.num_actions)
                slots = self.game.output_slots(infostate, self.network.outputs)
                values = self.values([self.encode(infostate)], slots, legal, net)
                found[start : start + len(part)] = values.clamp(min=0).float().cpu().numpy()
        return np.float32(discount(iteration, self.discount_power)) * found

    def weights(self) -> Weights:
        """Arrays for playing: of the net that regret matching is applied to."""
        return super().weights() if self.prediction is None else self.prediction.weights()

    def state_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, meta = super().state_arrays()
        if self.prediction is None:
            return arrays, meta
        others, other = self.prediction.state_arrays()
        return arrays | {f"prediction.{name}": value for name, value in others.items()}, meta | {"prediction": other}

    def load_state_arrays(self, arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> None:
        super().load_state_arrays({n: a for n, a in arrays.items() if not n.startswith("prediction.")}, meta)
        if self.prediction is not None:
            if "prediction" not in meta:
                raise ForeignState("the saved state has no prediction net: it was trained with another bootstrap")
            self.prediction.load_state_arrays(arrays_under(arrays, "prediction"), meta["prediction"])


def discount(iteration: int, power: float) -> float:
    """Returns d(t) = t^alpha / (t^alpha + 1), the discount of the cumulative advantages of t iterations."""
    return 1 / (1 + math.exp(-power * math.log(iteration)))
