"""What the torch learners share: device and precision, one optimiser step, exact save and restore."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from learners.networks.modules import ValueNet
from learners.settings import TrainingSettings


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


class Trainer:
    """A network with its optimiser on a device; `step` does one update.

    Args:
        build: Makes a freshly initialised network; called again for every fit without warm start.
        settings: How to fit.
        device: Where to compute.
        seed: Of the initial weights.
    """

    def __init__(self, build: Any, settings: TrainingSettings, device: torch.device, seed: int) -> None:
        self._build = build
        self.settings = settings
        self.device = device
        self.seed = seed
        self.fits = 0
        self.net: ValueNet
        self.optimiser: torch.optim.Adam
        self._fresh()

    def _fresh(self) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed((self.seed + 1_000_003 * self.fits) % 2**63)
            self.net = self._build().to(self.device)
        self.optimiser = torch.optim.Adam(self.net.parameters(), lr=self.settings.learning_rate, fused=True)

    def begin_fit(self) -> None:
        """Called once a fit, before the first `step`."""
        if not self.settings.warm_start and self.fits > 0:
            self._fresh()
        self.fits += 1
        self.net.train()

    def autocast(self) -> AbstractContextManager:
        """bfloat16 context, if set."""
        return torch.autocast(self.device.type, torch.bfloat16) if self.settings.bf16 else nullcontext()

    def step(self, loss: Tensor) -> None:
        """Backpropagates a scalar loss, clips the gradient, updates the weights."""
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), self.settings.clip)
        self.optimiser.step()

    def tensor(self, array: NDArray) -> Tensor:
        """The array on the device."""
        return torch.from_numpy(array).to(self.device, non_blocking=True)

    def state_arrays(self) -> tuple[dict[str, NDArray], dict[str, Any]]:
        """Everything that a later `load_state_arrays` needs to go on bit for bit: arrays, and plain values."""
        arrays = {f"net.{name}": value for name, value in self.net.state_dict().items()}
        for index, entry in self.optimiser.state_dict()["state"].items():
            arrays |= {f"adam.{index}.{name}": value for name, value in entry.items()}
        copies = {name: value.cpu().numpy().copy() for name, value in arrays.items()}  # training goes on in place
        return copies, {"fits": self.fits}

    def load_state_arrays(self, arrays: dict[str, NDArray], meta: dict[str, Any]) -> None:
        """Reverse of `state_arrays`.

        Raises:
            RuntimeError: the arrays are of another network.
        """
        self.fits = int(meta["fits"])
        self.net.load_state_dict(
            {name[4:]: torch.from_numpy(np.array(a)) for name, a in arrays.items() if name.startswith("net.")}
        )
        state: dict[int, dict[str, Tensor]] = {}
        for name, array in arrays.items():
            if name.startswith("adam."):
                _, index, field = name.split(".", 2)
                state.setdefault(int(index), {})[field] = torch.from_numpy(np.array(array)).to(self.device)
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": state, "param_groups": groups})


def split_batches(block: NDArray, batch: int) -> Iterator[NDArray]:
    """Consecutive slices of `batch` rows; a last one shorter than 2 rows is dropped (batch normalisation)."""
    for start in range(0, len(block), batch):
        part = block[start : start + batch]
        if len(part) > 1:
            yield part
