"""What the torch learners share: device and precision, one optimiser step, exact save and restore."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from learners.data_parallel import Ranks, share_batch_norm
from learners.networks.settings import Weights
from learners.settings import Fitting
from learners.storage import ForeignState


def choose_device(name: Literal["cpu", "cuda", "auto"] | str) -> torch.device:
    """The torch device of that name.

    Raises:
        ValueError: CUDA was asked for and there is none.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError("no CUDA device is visible to torch: use --device cpu, or install a CUDA build of torch")
    return torch.device(name)


class TrainingDiverged(RuntimeError):
    """A loss is no number any more, so the net is lost; what was saved before the fit is not."""


class Trainer:
    """A network with its optimiser on a device; `step` does one update.

    Args:
        build: Makes a freshly initialised network; called again for every fit without warm start.
        settings: How to fit.
        device: Where to compute.
        seed: Of the initial weights.

    Attributes:
        steps: Updates of the last fit, or of the one under way.
        heed: Called before each update; a fit that somebody wants to end is left by what it raises.
        ranks: Other processes that train the same net, see `join`.
    """

    def __init__(self, build: Any, settings: Fitting, device: torch.device, seed: int) -> None:
        self.heed: Callable[[], None] = lambda: None
        self._build = build
        self.settings = settings
        self.device = device
        self.seed = seed
        self.fits = 0
        self.net: Any
        self.optimiser: torch.optim.Optimizer
        self.ranks: Ranks | None = None
        self._average: AveragedModel | None = None
        self.steps = 0
        self._fresh()

    def _fresh(self) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed((self.seed + 1_000_003 * self.fits) % 2**63)
            self.net = self._build().to(self.device)
        if self.ranks is not None:
            share_batch_norm(self.net, self.ranks)
        self.optimiser = _optimiser(self.net, self.settings)
        if self.settings.weight_average:
            self._average = AveragedModel(self.net, multi_avg_fn=self._blend, use_buffers=True)

    def _blend(self, average: Any, current: Any, count: Any) -> None:
        """Takes the weights after minibatch n = `count` + 1 into the running average, in place."""
        power = self.settings.weight_average
        share = (power + 1) / (int(count) + 1 + power)
        for held, new in zip(average, current, strict=True):
            if held.is_floating_point():
                held.lerp_(new, share)
            else:  # batch normalisation counts its minibatches
                held.copy_(new)

    def join(self, ranks: Ranks) -> None:
        """From now on every fit is one of all ranks, which hold the same net; each trains on its part of a minibatch,
        see `parts`. To be called before the first fit, and on all ranks."""
        self.ranks = ranks
        share_batch_norm(self.net, ranks)

    def begin_fit(self) -> None:
        """Called once a fit, before the first `step`."""
        if not self.settings.warm_start and self.fits > 0:
            self._fresh()
        self.fits += 1
        self.steps = 0
        if self.ranks is not None:
            self.ranks.begin_fit(self.net)
        self.net.train()

    def autocast(self) -> AbstractContextManager:
        """bfloat16 context, if set."""
        return torch.autocast(self.device.type, torch.bfloat16) if self.settings.bf16 else nullcontext()

    def fit(self, blocks: Iterable[NDArray[np.void]], loss: Callable[[NDArray[np.void]], Tensor]) -> dict[str, float]:
        """One fit on blocks of rows, minibatch by minibatch.

        Args:
            blocks: Rows, each block of any length.
            loss: Scalar loss of a minibatch.

        Returns:
            ``loss``, its mean over the minibatches, and ``rows`` trained on.

        Raises:
            TrainingDiverged: the loss is not finite.
        """
        self.begin_fit()
        total, batches, rows = torch.zeros((), device=self.device), 0, 0
        for part in self.parts(blocks):
            value = loss(part)
            self.step(value)
            total += value.detach() * (1.0 if self.ranks is None else self.ranks.weight)
            batches += 1
            rows += len(part)
        return self.end_fit(total, batches, rows)

    def parts(self, blocks: Iterable[NDArray[np.void]]) -> Iterator[NDArray[np.void]]:
        """What this process trains on of each minibatch in turn: all of it, or the share of its rank."""
        if self.ranks is not None:
            return self.ranks.parts(blocks, self.settings.batch)
        return (part for block in blocks for part in split_batches(block, self.settings.batch))

    def together(self, values: Tensor) -> Tensor:
        """The sum of these values over all ranks; in place."""
        return values if self.ranks is None else self.ranks.together(values)

    def own(self, rows: NDArray[np.void]) -> NDArray[np.void]:
        """What this process trains on of one minibatch."""
        return rows if self.ranks is None else rows[self.ranks.share(len(rows)).cut(len(rows))]

    def log_mean(self, logs: NDArray[np.floating[Any]]) -> float:
        """Log of the mean of exp(`logs`), over those of all ranks."""
        if self.ranks is not None:
            return self.ranks.log_mean(logs)
        return float(np.logaddexp.reduce(logs.astype(np.float64)) - np.log(len(logs)))

    def step(self, loss: Tensor | Iterable[Tensor]) -> None:
        """Backpropagates a scalar loss, clips the gradient, updates the weights.

        Args:
            loss: The loss, or its summands, made one at a time: only what one of them needs is held in memory.
        """
        self.heed()
        self.optimiser.zero_grad(set_to_none=True)
        for part in (loss,) if isinstance(loss, Tensor) else loss:
            (part if self.ranks is None else part * self.ranks.weight).backward()
        if self.ranks is not None:
            self.ranks.add_gradients(self.net)
        if self.settings.anneal and self.settings.minibatches:
            share = max(1 - self.steps / self.settings.minibatches, 0.0)
            for group in self.optimiser.param_groups:
                group["lr"] = self.settings.learning_rate * share
        self.steps += 1
        if self.settings.clip is not None:
            nn.utils.clip_grad_norm_(self.net.parameters(), self.settings.clip)
        self.optimiser.step()
        if self._average is not None:
            self._average.update_parameters(self.net)

    def end_fit(self, total: Tensor, batches: int, rows: int) -> dict[str, float]:
        """Metrics of a fit from the sum of its losses.

        Raises:
            TrainingDiverged: the losses were not finite.
        """
        sums = self.together(torch.stack([total.double(), torch.tensor(rows, device=self.device).double()]))
        loss, rows = float(sums[0]) / max(batches, 1), int(sums[1])
        self.check_loss(loss, "lower it, or bound the targets (sampling.target_clip)")
        return {"loss": loss, "rows": rows}

    def check_loss(self, loss: float, cure: str) -> None:
        """Raises TrainingDiverged, with what to do about the learning rate, where a fit's loss is not finite."""
        if not math.isfinite(loss):
            raise TrainingDiverged(
                f"the loss of fit {self.fits} is {loss}: the targets are too large for learning_rate="
                f"{self.settings.learning_rate:g}; {cure}"
            )

    def weights(self) -> Weights:
        """Arrays for `learners.networks.inference.Inference`: of the averaged net, if there is one."""
        net: Any = self.net if self._average is None else self._average.module
        weights: Weights = net.inference_weights()
        return weights

    def tensor(self, array: NDArray) -> Tensor:
        """The array on the device."""
        if len(array) == 1:  # a field of one record counts as contiguous, with strides that torch does not take
            array = array.copy()
        return torch.from_numpy(array).to(self.device, non_blocking=True)

    def state_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        """Everything that a later `load_state_arrays` needs to go on bit for bit: arrays, and plain values."""
        arrays = {f"net.{name}": value for name, value in self.net.state_dict().items()}
        for index, entry in self.optimiser.state_dict()["state"].items():
            arrays |= {f"optimiser.{index}.{name}": value for name, value in entry.items()}
        if self._average is not None:
            arrays |= {f"average.{name}": value for name, value in self._average.state_dict().items()}
        copies = {name: value.cpu().numpy().copy() for name, value in arrays.items()}  # training goes on in place
        return copies, {"fits": self.fits, "optimiser": self.settings.optimiser}

    def load_state_arrays(self, arrays: dict[str, NDArray], meta: dict[str, Any]) -> None:
        """Reverse of `state_arrays`.

        Raises:
            ForeignState: the arrays are of another network or optimiser.
        """
        if meta.get("optimiser") != self.settings.optimiser:
            raise ForeignState(
                f"the saved state is of the optimiser {meta.get('optimiser')}, not of {self.settings.optimiser}"
            )
        nets = {"net.": self.net} | ({} if self._average is None else {"average.": self._average})
        for prefix, net in nets.items():
            saved = _tensors(arrays, prefix)
            problem = _mismatch(saved, net.state_dict()) if saved else "it has no average of the weights"
            if problem:
                raise ForeignState(f"the saved state is of another network: {problem}")
            net.load_state_dict(saved)
        self.fits = int(meta["fits"])
        state: dict[int, dict[str, Tensor]] = {}
        for name, array in arrays.items():
            if name.startswith("optimiser."):
                _, index, field = name.split(".", 2)
                state.setdefault(int(index), {})[field] = torch.from_numpy(np.array(array)).to(self.device)
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": state, "param_groups": groups})


class NetLearner:
    """What a learner of one net passes on to its trainer."""

    trainer: Trainer
    whole_buffer = False
    """Whether a fit wants every row of the buffer once, whatever its minibatches are."""

    def weights(self) -> Weights:
        """Arrays for playing, see `Trainer.weights`."""
        return self.trainer.weights()

    def state_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        """For a checkpoint, see `Trainer.state_arrays`."""
        return self.trainer.state_arrays()

    def load_state_arrays(self, arrays: dict[str, NDArray], meta: dict[str, Any]) -> None:
        """From a checkpoint."""
        self.trainer.load_state_arrays(arrays, meta)


def _optimiser(net: nn.Module, settings: Fitting) -> torch.optim.Optimizer:
    if settings.optimiser == "rmsprop":
        return torch.optim.RMSprop(net.parameters(), lr=settings.learning_rate, eps=settings.epsilon)
    return torch.optim.Adam(net.parameters(), lr=settings.learning_rate, eps=settings.epsilon, fused=True)


def _tensors(arrays: dict[str, NDArray], prefix: str) -> dict[str, Tensor]:
    return {name[len(prefix) :]: torch.from_numpy(np.array(a)) for name, a in arrays.items() if name.startswith(prefix)}


def _mismatch(saved: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> str:
    """The first array by which a saved net differs in form from the one at hand; empty if none does. Torch would list
    every array, a line each."""
    problems = []
    for name in [*wanted, *(name for name in saved if name not in wanted)]:
        if name not in saved:
            problems.append(f"it has no {name}")
        elif name not in wanted:
            problems.append(f"it has a {name}, which the network at hand has not")
        elif saved[name].shape != wanted[name].shape:
            shapes = [" x ".join(map(str, net[name].shape)) for net in (saved, wanted)]
            problems.append(f"its {name} is {shapes[0]}, that of the network at hand {shapes[1]}")
    more = f" (and {len(problems) - 1} more differences)" if len(problems) > 1 else ""
    return problems[0] + more if problems else ""


def split_batches(block: NDArray, batch: int) -> Iterator[NDArray]:
    """Consecutive slices of `batch` rows; a last one shorter than 2 rows is dropped (batch normalisation)."""
    for start in range(0, len(block), batch):
        part = block[start : start + batch]
        if len(part) > 1:
            yield part
