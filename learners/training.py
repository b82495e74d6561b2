"""Shared by all torch learners: device and precision, optimiser steps, averaged weights, exact save and restore."""

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from learners.data_parallel import Ranks
from learners.devices import keep_freed_memory, send
from learners.networks.settings import Weights
from learners.optimisers import TensorFlowRmsProp
from learners.settings import Fitting
from learners.storage import ForeignState

_GENERATOR = Lock()
"""Held while fresh weights are drawn from the generator of the process, which several threads may want to do."""


class TrainingDiverged(RuntimeError):
    """A loss is not finite, and the net is lost; checkpoints written before the fit are not."""


class Trainer:
    """A network with its optimiser on a device; `fit` trains it.

    Args:
        build: Makes a freshly initialised network; called again for every fit without warm start.
        settings: Optimiser, minibatches, and so on.
        device: Where to train.
        seed: Seed of the initial weights.

    Attributes:
        net: The network.
        model: What to call in training: the network or, with several processes, a wrapper of it that adds up gradients.
        fits: Fits so far.
        steps: Updates of the last fit, or of the one under way.
        ranks: The processes that train the same net, see `join`.
        done: Part of the run that is done, for settings that change along it; whoever calls for a fit sets it.
        cure: What `fit` advises to do about the learning rate, or in its place, where the loss is not finite.
    """

    def __init__(self, build: Callable[[], nn.Module], settings: Fitting, device: torch.device, seed: int) -> None:
        self._build = build
        self.settings = settings
        self.device = device
        self.seed = seed
        self.fits = 0
        self.steps = 0
        self.ranks = Ranks()
        self.done = 0.0
        self.cure = "lower it"
        self.net: Any
        self.model: nn.Module
        self.optimiser: torch.optim.Optimizer
        self._parameters: list[nn.Parameter]
        self._average: _RunningAverage | None = None
        if device.type == "cpu":
            keep_freed_memory()
        self._fresh()

    def _fresh(self) -> None:
        with _GENERATOR, torch.random.fork_rng(devices=[]):
            torch.manual_seed((self.seed + 1_000_003 * self.fits) % 2**63)
            self.net = self._build().to(self.device)
        self.model = self.net
        self._parameters = list(self.net.parameters())
        self.optimiser = _optimiser(self._parameters, self.settings)
        if self.settings.weight_average:
            self._average = _RunningAverage(self.net, self.settings.weight_average)

    def start_from(self, weights: Weights) -> None:
        """Replaces the initial weights, and those of the running average.

        Raises:
            ValueError: they are of another network.
        """
        self.net.load_inference_weights(weights)
        if self._average is not None:
            self._average = _RunningAverage(self.net, self.settings.weight_average)

    def join(self, ranks: Ranks) -> None:
        """Makes every later fit one of several processes that hold the same net, each of which trains on its part of a
        minibatch. To be called in all of them before the first fit."""
        self.ranks = ranks

    def set_learning_rate(self, rate: float) -> None:
        """Sets the learning rate of the steps that follow; with `anneal`, each step sets its own."""
        for group in self.optimiser.param_groups:
            group["lr"] = rate

    def begin_fit(self) -> None:
        """Called once a fit, before the first `step`."""
        if self.fits > 0 and not self.settings.warm_start:
            self._fresh()
        elif self.fits > 0 and not self.settings.keep_moments:
            self.optimiser = _optimiser(self._parameters, self.settings)
        self.fits += 1
        self.steps = 0
        self.model = self.ranks.wrap(self.net)
        self.model.train()

    def autocast(self) -> AbstractContextManager[Any]:
        """bfloat16 context, if set."""
        return torch.autocast(self.device.type, torch.bfloat16) if self.settings.bf16 else nullcontext()

    def fit(self, blocks: Iterable[NDArray[np.void]], loss: Callable[[NDArray[np.void]], Tensor]) -> dict[str, float]:
        """One fit on blocks of rows, minibatch by minibatch.

        Args:
            blocks: Rows, each block of any length.
            loss: Scalar loss of a minibatch, the mean over its rows.

        Returns:
            ``loss``, its mean over the minibatches, and ``rows`` trained on.

        Raises:
            TrainingDiverged: the loss is not finite.
        """
        self.begin_fit()
        total, batches, rows = torch.zeros((), device=self.device), 0, 0
        for part, weight in self.parts(blocks):
            total += weight * self.step([partial(loss, part)], weight)
            batches += 1
            rows += len(part)
        return self.end_fit(total, batches, rows)

    def parts(self, blocks: Iterable[NDArray[np.void]]) -> Iterator[tuple[NDArray[np.void], float]]:
        """This process's share of each minibatch, and its weight in the minibatch; see `Ranks.parts`."""
        return self.ranks.parts(blocks, self.settings.batch)

    def own(self, rows: NDArray[np.void]) -> NDArray[np.void]:
        """This process's share of one minibatch."""
        return rows[self.ranks.share(len(rows)).cut(len(rows))]

    def step(self, pieces: Sequence[Callable[[], Tensor]], weight: float = 1.0) -> Tensor:
        """One update of the weights: gradients, their clipping, the optimiser, the running average.

        Args:
            pieces: Functions that compute the summands of the loss. Each is called and backpropagated before the next
                one is called, so that memory holds the intermediate results of one piece only.
            weight: Weight of the rows of this process in the minibatch.

        Returns:
            The loss.
        """
        self.optimiser.zero_grad(set_to_none=True)
        total = torch.zeros((), device=self.device)
        scale = weight * self.ranks.ranks  # the gradient is a mean over the processes
        for number, piece in enumerate(pieces):
            last = number == len(pieces) - 1
            with nullcontext() if last else self.ranks.accumulate(self.model):
                value = piece()
                (value if scale == 1 else value * scale).backward()
            total += value.detach()
        self._update()
        return total

    def _update(self) -> None:
        if self.settings.anneal and self.settings.minibatches:
            share = max(1 - self.steps / self.settings.minibatches, 0.0)
            self.set_learning_rate(self.settings.learning_rate * share)
        self.steps += 1
        if self.settings.clip is not None:
            nn.utils.clip_grad_norm_(self._parameters, self.settings.clip)
        self.optimiser.step()
        if self._average is not None:
            self._average.update()

    def end_fit(self, total: Tensor, batches: int, rows: int) -> dict[str, float]:
        """Metrics of a fit from the sum of its losses.

        Raises:
            TrainingDiverged: the losses were not finite.
        """
        sums = self.ranks.sum(torch.stack([total.double(), total.new_tensor(rows, dtype=torch.float64)]))
        loss, rows = float(sums[0]) / max(batches, 1), int(sums[1])
        self.check_loss(loss, self.cure)
        return {"loss": loss, "rows": rows}

    def check_loss(self, loss: float, cure: str) -> None:
        """Raises TrainingDiverged, with advice about the learning rate, where a fit's loss is not finite."""
        if not math.isfinite(loss):
            raise TrainingDiverged(
                f"the loss of fit {self.fits} is {loss}: the targets are too large for learning_rate="
                f"{self.settings.learning_rate:g}; {cure}"
            )

    @property
    def playing_net(self) -> Any:
        """The net that `weights` describes: the averaged one, if there is one."""
        return self.net if self._average is None else self._average.net

    def weights(self) -> Weights:
        """Arrays for `learners.networks.inference.Inference`: of the averaged net, if there is one."""
        weights: Weights = self.playing_net.inference_weights()
        return weights

    def tensor(self, array: NDArray[Any]) -> Tensor:
        """Returns a tensor on the device; it shares the memory of the array where possible."""
        return send(array, self.device)

    def state_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Everything that a later `load_state_arrays` needs to resume bit for bit: arrays, and plain values."""
        arrays = {f"net.{name}": value for name, value in self.net.state_dict().items()}
        for index, entry in self.optimiser.state_dict()["state"].items():
            arrays |= {f"optimiser.{index}.{name}": value for name, value in entry.items()}
        if self._average is not None:
            arrays |= {f"average.{name}": value for name, value in self._average.state_dict().items()}
        copies = {name: value.cpu().numpy().copy() for name, value in arrays.items()}  # training continues in place
        return copies, {"fits": self.fits, "optimiser": self.settings.optimiser}

    def load_state_arrays(self, arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> None:
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
    """Base of the learners of one net, which its trainer holds; subclasses define `fit`."""

    trainer: Trainer
    whole_buffer = False
    """Whether a fit is given every row of the buffer once, and makes its minibatches itself."""

    def weights(self) -> Weights:
        """Arrays for playing, see `Trainer.weights`."""
        return self.trainer.weights()

    def state_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """For a checkpoint, see `Trainer.state_arrays`."""
        return self.trainer.state_arrays()

    def load_state_arrays(self, arrays: dict[str, NDArray[Any]], meta: dict[str, Any]) -> None:
        """From a checkpoint."""
        self.trainer.load_state_arrays(arrays, meta)


class _RunningAverage:
    """A running average of a net's weights over minibatches, in which the n-th one weighs n to a power.

    Does what `torch.optim.swa_utils.AveragedModel` does, and has the same state, but counts in Python: reading a count
    from a GPU would wait for it in every step.
    """

    def __init__(self, net: nn.Module, power: float) -> None:
        self.net = copy.deepcopy(net).requires_grad_(False)
        self._power = power
        self._count = 0
        self._pairs = list(zip(_state(self.net), _state(net), strict=True))

    def update(self) -> None:
        """Takes in the weights as they are now."""
        share = (self._power + 1) / (self._count + 1 + self._power)
        for held, new in self._pairs:
            if held.is_floating_point():
                held.lerp_(new, share)
            else:  # batch normalisation counts its minibatches
                held.copy_(new)
        self._count += 1

    def state_dict(self) -> dict[str, Tensor]:
        state = {f"module.{name}": value for name, value in self.net.state_dict().items()}
        return {"n_averaged": torch.tensor(self._count)} | state

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self._count = int(state["n_averaged"])
        self.net.load_state_dict({name.removeprefix("module."): a for name, a in state.items() if name != "n_averaged"})


def _state(net: nn.Module) -> list[Tensor]:
    return [value.detach() for value in [*net.parameters(), *net.buffers()]]


def _optimiser(parameters: Iterable[nn.Parameter], settings: Fitting) -> torch.optim.Optimizer:
    if settings.optimiser == "rmsprop":
        return torch.optim.RMSprop(parameters, lr=settings.learning_rate, eps=settings.epsilon)
    if settings.optimiser == "rmsprop_tf":
        return TensorFlowRmsProp(parameters, lr=settings.learning_rate, eps=settings.epsilon)
    return torch.optim.Adam(parameters, lr=settings.learning_rate, eps=settings.epsilon, fused=True)


def _tensors(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, Tensor]:
    return {name[len(prefix) :]: torch.from_numpy(np.array(a)) for name, a in arrays.items() if name.startswith(prefix)}


def _mismatch(saved: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> str:
    """The first array whose presence or shape differs between a saved net and the one at hand; empty if none does.
    Torch would list every array, a line each."""
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
