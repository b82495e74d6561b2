"""The networks as torch modules.

In shapes, `B` is the number of rows, `F` that of features, `S` that of output slots, `A` that of actions, and `V` that
of views: one infostate for advantages and policies, the infostates of both players for baselines.

Convolutions are written as linear layers over patches. The first one needs no input gradient, and on CPUs the narrow
matrix products over patches train faster than torch's convolutions.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from envs.game import GameSpec
from envs.sparse import Sparse
from learners.data_parallel import BatchNorm
from learners.devices import send
from learners.networks.arrays import View
from learners.networks.operations import SPARSE_SHARE, ChosenOutputs, SparseInputs, SparseLayer
from learners.networks.settings import CONV_CHANNELS, CONV_KERNEL, MANY_OUTPUTS, NetworkSettings, Weights

Inputs = Tensor | SparseInputs
"""A view as a `ValueNet` reads it, see `ValueNet.tensors`."""
TRUNK_ROWS, GPU_TRUNK_ROWS = 256, 65_536
"""Rows per pass through a trunk. Its intermediate results then stay in the second-level cache of a CPU, and fill a
GPU."""


def tanh(x: Tensor) -> Tensor:
    """Computes tanh(x) in the memory of x, which must be the result of a linear layer."""
    # The difference in `_Tanh` would cancel the few digits of bfloat16.
    if x.device.type != "cpu" or x.dtype != torch.float32:
        return torch.tanh(x)
    found: Tensor = _Tanh.apply(x)
    return found


class _Tanh(torch.autograd.Function):
    """Computes tanh(x) as 2 sigmoid(2x) - 1, within 4e-7. On CPUs this is 3 times as fast as `torch.tanh`, because the
    sigmoid is vectorised."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y = x.mul_(2).sigmoid_().mul_(2).sub_(1)
        ctx.mark_dirty(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, *upper: Tensor) -> Tensor:
        (y,) = ctx.saved_tensors
        return torch.addcmul(upper[0], upper[0] * y, y, value=-1)


class PatchTrunk(nn.Module):
    """Convolution 2x2 with 16 channels and tanh, then 1x1 with 16 channels and tanh (paper 000, 5.2).

    With two views, each has 8 of the first convolution's channels.

    Args:
        channels: Planes of a view.
        views: Number of views.
    """

    def __init__(self, channels: int, views: int) -> None:
        super().__init__()
        patch = channels * CONV_KERNEL * CONV_KERNEL
        self.first = nn.ModuleList(nn.Linear(patch, CONV_CHANNELS // views) for _ in range(views))
        self.second = nn.Linear(CONV_CHANNELS, CONV_CHANNELS)

    def forward(self, views: Sequence[Tensor]) -> Tensor:
        """Maps `V` views `[B, C, H, W]` to features `[B, positions * 16]`."""
        _, *shape = views[0].shape
        cells = torch.arange(views[0][0].numel(), device=views[0].device).reshape(1, *shape)
        patches = unfold(cells).flatten()  # cell of each entry of each patch
        first: list[Any] = list(self.first)
        weight = torch.block_diag(*[layer.weight for layer in first])
        bias = torch.cat([layer.bias for layer in first])
        outputs = []
        at_once = TRUNK_ROWS if views[0].device.type == "cpu" else GPU_TRUNK_ROWS
        for parts in zip(*[view.flatten(1).split(at_once) for view in views], strict=True):
            rows = _beside([part.index_select(1, patches).reshape(-1, shape[0] * CONV_KERNEL**2) for part in parts])
            hidden = tanh(functional.linear(rows, weight, bias))
            outputs.append(tanh(self.second(hidden)).reshape(len(parts[0]), -1))
        return torch.cat(outputs)


def unfold(planes: Tensor) -> Tensor:
    """2x2 patches of `[B, C, H, W]` as `[B, positions, 4 * C]`."""
    batch, channels, height, width = planes.shape
    shifted = [planes[:, :, y : height - 1 + y, x : width - 1 + x] for y in (0, 1) for x in (0, 1)]
    patches = torch.stack(shifted, dim=1).flatten(3)  # [B, 4, C, positions]
    return patches.reshape(batch, 4 * channels, -1).transpose(1, 2)


class ValueNet(nn.Module):
    """Trunk, `depth` hidden layers with skip connections, normalisation, and a linear output layer.

    Args:
        settings: Settings of the network.
        spec: Constants of the game.
        views: Number of views.
        more: Number of outputs beside those of the layout.

    Raises:
        ValueError: the game lacks what the network needs.
    """

    def __init__(self, settings: NetworkSettings, spec: GameSpec, views: int = 1, more: int = 0) -> None:
        super().__init__()
        settings.check(spec)
        self.settings = settings
        shape = spec.shapes[settings.encoding]
        self.inputs = int(np.prod(shape))  # of one view
        if settings.trunk == "conv":
            channels, height, width = shape
            self.trunk: nn.Module | None = PatchTrunk(channels, views)
            size = (height - 1) * (width - 1) * CONV_CHANNELS
        else:
            self.trunk = None
            size = views * self.inputs
        self._skips_zeros = self.trunk is None and size != settings.width  # no skip connection needs all inputs
        sizes = [size] + [settings.width] * settings.depth
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        self.norm = _norm(settings)
        self.out = nn.Linear(settings.width, spec.slots[settings.outputs] + more)

    def forward(self, views: Sequence[Inputs], slots: Tensor | None = None, needed: Tensor | None = None) -> Tensor:
        """Computes the outputs, or the values of actions.

        On a CPU, gradients are identical in every run. On CUDA, atomic operations add up the gradients of an output
        that belongs to several actions of a row, in no fixed order.

        Args:
            views: `V` views, `[B, *shape]` in the network's encoding or sparse, see `tensors`.
            slots: Output slots of each action, from `Game.output_slots`, `int16[B, A, K]`; None for all outputs.
            needed: Actions whose value is needed, `bool[B, A]`.

        Returns:
            The value of each needed action, which is the sum of its outputs, and 0 for the others, `float32[B, A]`; or
            all outputs, `[B, S]`.
        """
        hidden: list[Any] = list(self.hidden)
        if isinstance(views[0], SparseInputs):
            first = hidden.pop(0)
            x = torch.relu_(SparseLayer.apply(first.weight, first.bias, *chain.from_iterable(views)))
        else:
            dense = cast("Sequence[Tensor]", views)
            x = self.trunk(dense) if self.trunk is not None else _beside([view.flatten(1) for view in dense])
        for layer in hidden:
            y = layer(x)
            x = torch.relu_(y.add_(x) if y.shape == x.shape else y)
        x = self.norm(x)
        if slots is None or needed is None:
            found: Tensor = self.out(x)
            return found
        if x.device.type == "cpu" and self.out.out_features >= MANY_OUTPUTS:
            chosen: Tensor = ChosenOutputs.apply(x.float(), self.out.weight, self.out.bias, slots, needed)
            return chosen
        return sum_outputs(self.out(x).float(), slots, needed)

    def active_units(self, views: Sequence[Inputs]) -> Tensor:
        """Which hidden units are above 0 for any row, with moments of normalisation as they are; `bool[units]`."""
        active: list[Tensor] = []

        def note(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
            active.append((inputs[0] > 0).any(0))

        layers = [*self.hidden[1:], self.norm]  # each one's input is what the layer before it puts out
        hooks = [layer.register_forward_pre_hook(note) for layer in layers]
        was_training = self.training
        self.eval()
        with torch.no_grad():
            self(views)
        self.train(was_training)
        for hook in hooks:
            hook.remove()
        return torch.cat(active)

    def tensors(self, views: Sequence[View]) -> list[Inputs]:
        """Converts views from `inference.encoder` to the input of `forward`, on the network's device."""
        device = self.out.weight.device
        skips = device.type == "cpu" and self._skips_zeros and all(self._mostly_zero(view) for view in views)
        return [self._inputs(view, device, skips) for view in views]

    def _mostly_zero(self, view: View) -> bool:
        return isinstance(view, Sparse) and view.place.shape[1] <= SPARSE_SHARE * self.inputs

    def _inputs(self, view: View, device: torch.device, skips: bool) -> Inputs:
        if not isinstance(view, Sparse):
            return send(view[0], device)
        place, value = (send(array, device) for array in view)
        if skips:
            return SparseInputs(place, value)
        return torch.zeros(len(place), self.inputs, device=device).scatter_add_(1, place.long(), value)

    def inference_weights(self) -> Weights:
        """Arrays for `learners.networks.inference`, with batch normalisation folded into the output layer."""
        weights: Weights = {}
        if isinstance(self.trunk, PatchTrunk):
            for v, layer in enumerate(self.trunk.first):
                weights |= linear_arrays(f"conv0.{v}", layer)
            weights |= linear_arrays("conv1", self.trunk.second)
        for i, layer in enumerate(self.hidden):
            weights |= linear_arrays(f"hidden{i}", layer)
        out = linear_arrays("out", self.out)
        if isinstance(self.norm, nn.BatchNorm1d):
            mean, var = _array(self.norm.running_mean), _array(self.norm.running_var)
            scale = _array(self.norm.weight) / np.sqrt(var + self.norm.eps)
            shift = _array(self.norm.bias) - mean * scale
            out["out.b"] = out["out.b"] + shift @ out["out.w"]
            out["out.w"] = np.ascontiguousarray(scale[:, None] * out["out.w"])
        return weights | out

    def load_inference_weights(self, weights: Weights) -> None:
        """Reverse of `inference_weights`.

        Raises:
            ValueError: the arrays are of another network, or batch normalisation has been folded into them.
        """
        if self.settings.norm == "batch":
            raise ValueError("a net with network.norm=batch cannot be taken back from the weights that it plays by")
        layers: dict[str, Any] = {f"hidden{i}": layer for i, layer in enumerate(self.hidden)} | {"out": self.out}
        if isinstance(self.trunk, PatchTrunk):
            layers |= {f"conv0.{v}": layer for v, layer in enumerate(self.trunk.first)} | {"conv1": self.trunk.second}
        load_linear(layers, weights)


def sum_outputs(outputs: Tensor, slots: Tensor, needed: Tensor) -> Tensor:
    """Returns the value of each needed action, computed from all outputs `[B, S]`."""
    batch, actions, summands = slots.shape
    wanted = (slots >= 0) & needed[:, :, None]
    places = torch.where(wanted, slots, outputs.shape[1]).transpose(1, 2).reshape(batch, -1).long()
    values = functional.pad(outputs, (0, 1)).gather(1, places)  # slot -1 is padding: it reads an appended 0
    return values.reshape(batch, summands, actions).sum(1)


def _beside(views: Sequence[Tensor]) -> Tensor:
    return views[0] if len(views) == 1 else torch.cat(list(views), dim=1)


def _norm(settings: NetworkSettings) -> nn.Module:
    if settings.norm == "batch":
        return BatchNorm(settings.width)
    if settings.norm == "layer":  # its affine part would only repeat the output layer's
        return nn.LayerNorm(settings.width, elementwise_affine=False)
    return nn.Identity()


def _array(tensor: Tensor | None) -> NDArray[np.float32]:
    assert tensor is not None
    return tensor.detach().cpu().float().numpy().copy()


def linear_arrays(name: str, layer: Any) -> Weights:
    """Returns the arrays of a linear layer for inference: ``NAME.w``, `[inputs, outputs]`, and ``NAME.b``."""
    return {f"{name}.w": np.ascontiguousarray(_array(layer.weight).T), f"{name}.b": _array(layer.bias)}


def load_linear(layers: Mapping[str, Any], arrays: Weights) -> None:
    """Reverse of `linear_arrays` for layers by their names.

    Raises:
        ValueError: names or shapes differ.
    """
    if arrays.keys() != {f"{name}.{part}" for name in layers for part in "wb"}:
        raise ValueError("the weights are those of another network")
    with torch.no_grad():
        for name, layer in layers.items():
            matrix, bias = arrays[f"{name}.w"].T, arrays[f"{name}.b"]
            if matrix.shape != layer.weight.shape:
                raise ValueError(f"{name} has {matrix.shape} weights, expected {tuple(layer.weight.shape)}")
            layer.weight.copy_(torch.from_numpy(matrix.copy()))
            layer.bias.copy_(torch.from_numpy(bias.copy()))
