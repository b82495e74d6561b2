"""The torch modules. `B` rows; `F` features; `S` output slots; `V` views joined in one input (1 advantage, 2 baseline).

All convolutions here are written as linear layers over unfolded patches: the first needs no input gradient, and skinny
matrix products over patches train faster on CPUs than the convolution kernels do.
"""

from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from envs.game import GameSpec
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
        if settings.trunk == "conv":
            channels, height, width = shape
            self.trunk: nn.Module | None = PatchTrunk(channels, views)
            size = (height - 1) * (width - 1) * CONV_CHANNELS
        else:
            self.trunk = None
            size = views * int(np.prod(shape))
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
