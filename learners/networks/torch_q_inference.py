"""The forward pass of a Q-network over lists of actions in torch, for GPUs and for bfloat16."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from envs.sparse import Sparse
from learners.devices import send
from learners.listed.settings import QNetworkSettings
from learners.networks.arrays import Floats
from learners.networks.q_inference import ROWS, check_lists
from learners.networks.settings import Weights

GPU_ROWS = 131_072
"""Actions per pass through all layers on a GPU, which need 256 MiB between two layers of 512 units."""


class TorchQInference:
    """A `learners.networks.q_inference.QForward` on a device.

    Args:
        settings: Settings of the network.
        weights: Weights from `QNet.inference_weights`.
        device: Device to compute on.
        bf16: Compute in bfloat16, weights included; the returned values are float32.
    """

    def __init__(
        self, settings: QNetworkSettings, weights: Weights, device: torch.device | str = "cpu", bf16: bool = False
    ) -> None:
        self.settings = settings
        self.device = torch.device(device)
        self._dtype = torch.bfloat16 if bf16 else torch.float32
        self._weights = {name: torch.from_numpy(array).to(self.device, self._dtype) for name, array in weights.items()}
        self._squash = torch.tanh_ if settings.activation == "tanh" else torch.relu_
        self._rows = ROWS if self.device.type == "cpu" else GPU_ROWS

    @torch.inference_mode()
    def __call__(self, states: Floats, offsets: NDArray[np.int64], actions: Sparse) -> Floats:
        """See `QForward`."""
        check_lists(states, offsets, actions)
        count = len(actions.place)
        if count == 0:
            return np.empty(0, np.float32)
        w = self._weights
        x = self._send(states).to(self._dtype)
        for i in range(self.settings.tower):
            x = self._squash(torch.addmm(w[f"tower{i}.b"], x, w[f"tower{i}.w"]))
        base = torch.addmm(w["hidden0.b"], x, w["state.w"])
        lists = self._send(np.diff(offsets))
        state = torch.arange(len(states), device=self.device).repeat_interleave(lists, output_size=count)
        place, value = self._send(actions.place).long(), self._send(actions.value).to(self._dtype)
        parts = [slice(start, start + self._rows) for start in range(0, count, self._rows)]
        values = [self._run(base[state[part]], place[part], value[part]) for part in parts]
        return torch.cat(values).float().cpu().numpy()

    def _run(self, base: Tensor, place: Tensor, value: Tensor) -> Tensor:
        """Returns the values of actions, `[m]`, given the states' part of the first layer, `base [m, H]`."""
        w, squash = self._weights, self._squash
        vectors = torch.zeros(len(place), len(w["action.w"]), dtype=self._dtype, device=self.device)
        x = squash(torch.addmm(base, vectors.scatter_add_(1, place, value), w["action.w"]))
        for i in range(1, self.settings.depth):
            x = squash(torch.addmm(w[f"hidden{i}.b"], x, w[f"hidden{i}.w"]))
        return torch.addmm(w["out.b"], x, w["out.w"])[:, 0]

    def _send(self, array: NDArray[Any]) -> Tensor:
        return send(array, self.device)
