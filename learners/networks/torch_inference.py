"""The forward pass of `learners.networks.inference` in torch, for GPUs. Arguments, results and shapes are the same."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from envs.sparse import Sparse
from learners.devices import send
from learners.networks.arrays import Floats, View
from learners.networks.modules import sum_outputs, unfold
from learners.networks.settings import NetworkSettings, Weights

DEVICE_ROWS = 65_536
"""Rows per pass through all layers, which need 64 MiB for 256 activations each."""


class TorchInference:
    """The forward pass of T networks with the same settings on a device; see `learners.networks.inference.Inference`.

    Args:
        settings: Settings of the networks.
        nets: Weights of each network, from `ValueNet.inference_weights`.
        device: Device to compute on.
    """

    def __init__(self, settings: NetworkSettings, nets: Sequence[Weights], device: torch.device) -> None:
        self.settings = settings
        self.nets = len(nets)
        self._device = device
        self._weights = [
            {name: torch.from_numpy(np.array(array)).to(device) for name, array in net.items()} for net in nets
        ]

    def subset(self, which: NDArray[np.int64]) -> "TorchInference":
        """The networks with these indices, as a `TorchInference` that shares their weights."""
        chosen = object.__new__(TorchInference)
        chosen.settings, chosen._device = self.settings, self._device
        chosen._weights = [self._weights[net] for net in which]
        chosen.nets = len(chosen._weights)
        return chosen

    @torch.inference_mode()
    def __call__(self, views: Sequence[View]) -> Floats:
        """See `Inference.__call__`; the result is a new array."""
        given, rows = self._send_views(views), _rows(views[0])
        nets = []
        for net, w in enumerate(self._weights):
            parts = [self._outputs(w, _part(given, net, start)) for start in range(0, rows, DEVICE_ROWS)]
            nets.append(torch.cat(parts) if parts else torch.empty(0, w["out.w"].shape[1], device=self._device))
        return torch.stack(nets).cpu().numpy()

    @torch.inference_mode()
    def action_values(
        self, views: Sequence[View], slots: NDArray[np.int16], legal: NDArray[np.bool_], values: Floats | None = None
    ) -> Floats:
        """See `Inference.action_values`."""
        given, layout, needed = self._send_views(views), self._send(slots), self._send(legal)
        nets = []
        for net, w in enumerate(self._weights):
            parts = [
                sum_outputs(
                    self._outputs(w, _part(given, net, start)),
                    layout[start : start + DEVICE_ROWS],
                    needed[start : start + DEVICE_ROWS],
                )
                for start in range(0, len(legal), DEVICE_ROWS)
            ]
            nets.append(torch.cat(parts) if parts else torch.empty(legal.shape, device=self._device))
        found = torch.stack(nets).cpu().numpy()
        if values is None:
            return found
        values[:] = found
        return values

    def _outputs(self, w: dict[str, Tensor], views: Sequence[Tensor]) -> Tensor:
        """All outputs of one network, `[m, S]`."""
        if self.settings.trunk == "conv":
            x = self._trunk(w, views)
        else:
            flat = [view.flatten(1) for view in views]
            x = flat[0] if len(flat) == 1 else torch.cat(flat, dim=1)
        for i in range(self.settings.depth):
            y = torch.addmm(w[f"hidden{i}.b"], x, w[f"hidden{i}.w"])
            x = torch.relu_(y.add_(x) if y.shape == x.shape else y)
        if self.settings.norm == "layer":
            x = functional.layer_norm(x, x.shape[1:])
        return torch.addmm(w["out.b"], x, w["out.w"])

    def _trunk(self, w: dict[str, Tensor], views: Sequence[Tensor]) -> Tensor:
        """Both convolutions, `[m, positions * CONV_CHANNELS]`; each view has its part of the first one's channels."""
        first = [unfold(view) @ w[f"conv0.{v}.w"] + w[f"conv0.{v}.b"] for v, view in enumerate(views)]
        second = torch.tanh(torch.cat(first, dim=2)) @ w["conv1.w"] + w["conv1.b"]
        return torch.tanh(second).flatten(1)

    def _send_views(self, views: Sequence[View]) -> list[Tensor]:
        """Dense views on the device, `[T or 1, m, *shape]`."""
        shapes = [] if self.settings.trunk == "conv" else [len(self._weights[0]["hidden0.w"]) // len(views)]
        return [self._dense(view, *shapes) for view in views]

    def _dense(self, view: View, *shape: int) -> Tensor:
        if not isinstance(view, Sparse):
            return self._send(view)
        place, value = self._send(view.place).long(), self._send(view.value)
        zeros = torch.zeros(len(place), *shape, device=self._device)
        return zeros.scatter_add_(1, place, value)[None]

    def _send(self, array: NDArray[Any]) -> Tensor:
        return send(array, self._device)


def _rows(view: View) -> int:
    return len(view.place) if isinstance(view, Sparse) else view.shape[1]


def _part(views: Sequence[Tensor], net: int, start: int) -> list[Tensor]:
    """The views of `DEVICE_ROWS` rows for one network."""
    return [view[net if len(view) > 1 else 0, start : start + DEVICE_ROWS] for view in views]
