"""The torch modules. `B` rows; `F` features; `S` output slots; `V` views joined in one input (1 advantage, 2 baseline).

All convolutions here are written as linear layers over unfolded patches: the first needs no input gradient, and skinny
matrix products over patches train faster on CPUs than the convolution kernels do.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from envs.game import GameSpec
from envs.sparse import Sparse
from learners.networks.functions import ActionValues, HiddenLayer, Normalise, PatchFunction, SparseLayer
from learners.networks.inference import Floats, View
from learners.networks.settings import CONV_CHANNELS, CONV_KERNEL, NetworkSettings, Weights


class PatchTrunk(nn.Module):
    """Conv 2x2 x 16 with tanh, then conv 1x1 x 16 with tanh (paper 000, 5.2); with two views each gets 8 of the 16.

    Input `[V, B, C, H, W]`, output `[B, positions * 16]`.
    """

    def __init__(self, channels: int, views: int) -> None:
        super().__init__()
        patch = channels * CONV_KERNEL * CONV_KERNEL
        self.first = nn.ModuleList(nn.Linear(patch, CONV_CHANNELS // views) for _ in range(views))
        self.second = nn.Linear(CONV_CHANNELS, CONV_CHANNELS)

    def forward(self, planes: Tensor) -> Tensor:
        maps = [layer(unfold(view)) for layer, view in zip(self.first, planes, strict=True)]
        hidden = torch.tanh(maps[0] if len(maps) == 1 else torch.cat(maps, dim=-1))
        return torch.tanh(self.second(hidden)).flatten(1)

    def compiled(self, views: Sequence[Floats]) -> Tensor:
        """The same on views `float32[B, C, H, W]` on a CPU."""
        weights, biases = [layer.weight for layer in self.first], [layer.bias for layer in self.first]
        return PatchFunction.apply(views, self.second.weight, self.second.bias, *weights, *biases)


def unfold(planes: Tensor) -> Tensor:
    """2x2 patches of `[B, C, H, W]` as `[B, positions, 4 * C]`."""
    batch, channels, height, width = planes.shape
    shifted = [planes[:, :, y : height - 1 + y, x : width - 1 + x] for y in (0, 1) for x in (0, 1)]
    patches = torch.stack(shifted, dim=1).flatten(3)  # [B, 4, C, positions]
    return patches.reshape(batch, 4 * channels, -1).transpose(1, 2)


class ValueNet(nn.Module):
    """Trunk, `depth` hidden layers with skips, normalisation, linear output: `[V, B, *shape]` to `[B, S]`."""

    def __init__(self, settings: NetworkSettings, spec: GameSpec, views: int = 1) -> None:
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
        sizes = [size] + [settings.width] * settings.depth
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        self.norm = _norm(settings)
        self.out = nn.Linear(settings.width, spec.slots[settings.outputs])

    def forward(self, views: Tensor) -> Tensor:
        x = self.trunk(views) if self.trunk is not None else _join(views)
        for layer in self.hidden:
            y = layer(x)
            x = torch.relu(y + x if y.shape == x.shape else y)
        return self.out(self.norm(x))

    def action_values(self, views: Sequence[View], slots: NDArray[np.int16], needed: NDArray[np.bool_]) -> Tensor:
        """The value of each action that is needed: the sum of the outputs that stand for it; 0 for the others.

        Args:
            views: One for an advantage net, two for a baseline net, as `inference.encoder` gives them.
            slots: From `Game.output_slots`, `int16[B, A, K]`.
            needed: `bool[B, A]`.

        Returns:
            `float32[B, A]`, by compiled functions on a CPU in float32, else by the modules.
        """
        device = self.out.weight.device
        if device.type == "cpu" and not torch.is_autocast_enabled("cpu"):
            return self._compiled_values(views, slots, needed)
        dense = torch.stack([self._dense(view, device) for view in views])
        outputs = self(dense).float()
        return _gather(outputs, torch.from_numpy(slots).to(device)) * torch.from_numpy(needed).to(device)

    def _compiled_values(self, views: Sequence[View], slots: NDArray[np.int16], needed: NDArray[np.bool_]) -> Tensor:
        layers = list(self.hidden)
        if isinstance(self.trunk, PatchTrunk):
            x = self.trunk.compiled([np.ascontiguousarray(view[0]) for view in views])
        elif isinstance(views[0], Sparse) and layers[0].in_features != layers[0].out_features:
            x = SparseLayer.apply(views, layers[0].weight, layers[0].bias)
            layers = layers[1:]
        else:
            x = _join(torch.stack([self._dense(view, torch.device("cpu")) for view in views]))
        for layer in layers:
            x = HiddenLayer.apply(x, layer.weight, layer.bias)
        x = Normalise.apply(x) if isinstance(self.norm, nn.LayerNorm) else self.norm(x)
        return ActionValues.apply(x, self.out.weight, self.out.bias, slots, needed)

    def _dense(self, view: View, device: torch.device) -> Tensor:
        """A view as the modules read it, `[B, *shape]` on the device."""
        if not isinstance(view, Sparse):
            return torch.from_numpy(view[0]).to(device)
        place, value = (torch.from_numpy(array).to(device) for array in view)
        out = torch.zeros(len(place), self.inputs, device=device)
        return out.scatter_add_(1, place.long(), value)

    def inference_weights(self) -> Weights:
        """Arrays for `learners.networks.inference`, with batch normalisation folded into the output layer."""
        weights: Weights = {}
        if isinstance(self.trunk, PatchTrunk):
            for v, layer in enumerate(self.trunk.first):
                weights |= _linear(f"conv0.{v}", layer)
            weights |= _linear("conv1", self.trunk.second)
        for i, layer in enumerate(self.hidden):
            weights |= _linear(f"hidden{i}", layer)
        out = _linear("out", self.out)
        if isinstance(self.norm, nn.BatchNorm1d):
            mean, var = _array(self.norm.running_mean), _array(self.norm.running_var)
            scale = _array(self.norm.weight) / np.sqrt(var + self.norm.eps)
            shift = _array(self.norm.bias) - mean * scale
            out["out.b"] = out["out.b"] + shift @ out["out.w"]
            out["out.w"] = np.ascontiguousarray(scale[:, None] * out["out.w"])
        return weights | out


def _gather(outputs: Tensor, slots: Tensor) -> Tensor:
    """The value of each action, `[B, A]`: the sum of the outputs `[B, S]` that stand for it, `slots [B, A, K]`."""
    batch, actions, summands = slots.shape
    gathered = outputs.gather(1, slots.long().clamp(min=0).reshape(batch, -1)).reshape(batch, actions, summands)
    if summands == 1:  # a slot of -1 then means an action that is never legal
        return gathered[:, :, 0]
    return (gathered * (slots >= 0)).sum(2)


def _norm(settings: NetworkSettings) -> nn.Module:
    if settings.norm == "batch":
        return nn.BatchNorm1d(settings.width)
    if settings.norm == "layer":  # its affine part would only repeat the output layer's
        return nn.LayerNorm(settings.width, elementwise_affine=False)
    return nn.Identity()


def _join(views: Tensor) -> Tensor:
    return views[0].flatten(1) if len(views) == 1 else torch.cat([view.flatten(1) for view in views], dim=1)


def _array(tensor: Tensor | None) -> NDArray[np.float32]:
    assert tensor is not None
    return tensor.detach().cpu().float().numpy().copy()


def _linear(name: str, layer: nn.Module) -> Weights:
    assert isinstance(layer, nn.Linear)
    return {f"{name}.w": np.ascontiguousarray(_array(layer.weight).T), f"{name}.b": _array(layer.bias)}
