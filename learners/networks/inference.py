"""The forward pass of a network in NumPy and compiled kernels: what traversals, self-play and agents run.

NumPy's matrix product (OpenBLAS) with fused compiled kernels between the products is faster on small batches than a
framework's eager pass, and a process that only plays needs no torch (see `dancfr bench inference`).
"""

import math
from collections.abc import Sequence

import numpy as np
from numba import njit
from numpy.typing import NDArray

from learners.networks.settings import NetworkSettings, Weights

Floats = NDArray[np.float32]

_fast = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz", "arcp"})
"""Sums may be reordered, so that they are vectorised."""


@_fast
def _bias_relu(x, bias):
    """x = ReLU(x + bias), `x [T, m, H]`, `bias [T, H]`."""
    for t in range(x.shape[0]):
        for b in range(x.shape[1]):
            for j in range(x.shape[2]):
                v = x[t, b, j] + bias[t, j]
                x[t, b, j] = v if v > 0 else np.float32(0)


@_fast
def _bias_skip_relu(x, bias, skip):
    """x = ReLU(x + bias + skip), `x [T, m, H]`, `bias [T, H]`, `skip [T, m, H]` or `[1, m, H]` for all nets alike."""
    for t in range(x.shape[0]):
        s = t if skip.shape[0] > 1 else 0
        for b in range(x.shape[1]):
            for j in range(x.shape[2]):
                v = x[t, b, j] + bias[t, j] + skip[s, b, j]
                x[t, b, j] = v if v > 0 else np.float32(0)


@_fast
def _layer_norm(x):
    """Each row of `x [T, m, H]` to mean 0 and variance 1."""
    width = x.shape[2]
    for t in range(x.shape[0]):
        for b in range(x.shape[1]):
            total = np.float32(0)
            for j in range(width):
                total += x[t, b, j]
            mean = total / np.float32(width)
            square = np.float32(0)
            for j in range(width):
                d = x[t, b, j] - mean
                square += d * d
            scale = np.float32(1) / np.sqrt(square / np.float32(width) + np.float32(1e-5))
            for j in range(width):
                x[t, b, j] = (x[t, b, j] - mean) * scale


@_fast
def _add_bias(x, bias):
    """x += bias, `x [T, m, H]`, `bias [T, H]`."""
    for t in range(x.shape[0]):
        for b in range(x.shape[1]):
            for j in range(x.shape[2]):
                x[t, b, j] += bias[t, j]


@_fast
def _patches(planes, out):
    """2x2 patches of `[B, C, H, W]` into `[B, positions, 4 * C]`, in the order of `modules.unfold`."""
    batch, channels, height, width = planes.shape
    for b in range(batch):
        for y in range(height - 1):
            for x in range(width - 1):
                row = out[b, y * (width - 1) + x]
                for c in range(channels):
                    row[c] = planes[b, c, y, x]
                    row[channels + c] = planes[b, c, y, x + 1]
                    row[2 * channels + c] = planes[b, c, y + 1, x]
                    row[3 * channels + c] = planes[b, c, y + 1, x + 1]


@_fast
def action_values(outputs, slots, legal, values):
    """The value of each action: the sum of the outputs that stand for it; 0 where it is not legal.

    Args:
        outputs: `float32[T, B, S]`.
        slots: From `Game.output_slots`, `int16[B, A, K]`.
        legal: `bool[B, A]`.
        values: Result, `float32[T, B, A]`.
    """
    for t in range(outputs.shape[0]):
        for b in range(outputs.shape[1]):
            for a in range(slots.shape[1]):
                value = np.float32(0)
                if legal[b, a]:
                    for k in range(slots.shape[2]):
                        if slots[b, a, k] >= 0:
                            value += outputs[t, b, slots[b, a, k]]
                values[t, b, a] = value


def stack_weights(nets: Sequence[Weights]) -> Weights:
    """The weights of T nets of one description with a leading dimension T."""
    return {name: np.stack([net[name] for net in nets]) for name in nets[0]}


class Inference:
    """Runs T networks of one description in one go; keeps its scratch memory, so an instance serves one thread.

    `m` is the number of infostates that each network gets.

    Args:
        settings: Description of the networks.
        nets: The weights of each, from `ValueNet.inference_weights`.
    """

    def __init__(self, settings: NetworkSettings, nets: Sequence[Weights]) -> None:
        self.settings = settings
        self.nets = len(nets)
        self.weights = stack_weights(nets)
        if settings.trunk == "conv":
            biases = sorted(name for name in self.weights if name.startswith("conv0.") and name.endswith(".b"))
            self.weights["conv0.b"] = np.concatenate([self.weights[name] for name in biases], axis=1)
        self._scratch: dict[str, Floats] = {}

    def subset(self, which: NDArray[np.int64]) -> "Inference":
        """The nets of those indices as a new instance; all of them in order are not copied."""
        if np.array_equal(which, np.arange(self.nets)):
            return self
        chosen = object.__new__(Inference)
        chosen.settings, chosen.nets = self.settings, len(which)
        chosen.weights = {name: stacked[which] for name, stacked in self.weights.items()}
        chosen._scratch = self._scratch
        return chosen

    def _buffer(self, name: str, *shape: int) -> Floats:
        size = math.prod(shape)
        held = self._scratch.get(name)
        if held is None or held.size < size:
            held = self._scratch[name] = np.empty(size, np.float32)
        return held[:size].reshape(shape)

    def __call__(self, views: Sequence[Floats]) -> Floats:
        """Outputs of every net for its own or for common infostates.

        Args:
            views: The encoded infostates, one array for an advantage net and two for a baseline net, each
                `float32[T, m, *shape]`, or `float32[1, m, *shape]` for all nets alike.

        Returns:
            `float32[T, m, S]` in scratch memory that the next call overwrites.
        """
        w = self.weights
        x = self._trunk(views) if self.settings.trunk == "conv" else self._join(views)
        for i in range(self.settings.depth):
            matrix = w[f"hidden{i}.w"]
            y = self._buffer(f"hidden{i}", self.nets, x.shape[1], matrix.shape[2])
            np.matmul(x, matrix, out=y)
            if x.shape[2] == y.shape[2]:
                _bias_skip_relu(y, w[f"hidden{i}.b"], x)
            else:
                _bias_relu(y, w[f"hidden{i}.b"])
            x = y
        if self.settings.norm == "layer":
            _layer_norm(x)
        out = self._buffer("out", self.nets, x.shape[1], w["out.w"].shape[2])
        np.matmul(x, w["out.w"], out=out)
        _add_bias(out, w["out.b"])
        return out

    def _join(self, views: Sequence[Floats]) -> Floats:
        flat = [view.reshape(*view.shape[:2], -1) for view in views]
        if len(flat) == 1:
            return flat[0]
        joined = self._buffer("joined", *flat[0].shape[:2], sum(view.shape[2] for view in flat))
        return np.concatenate(flat, axis=2, out=joined)

    def _trunk(self, views: Sequence[Floats]) -> Floats:
        w = self.weights
        given, batch, channels, height, width = views[0].shape
        positions = (height - 1) * (width - 1)
        patches = self._buffer("patches", given * batch, positions, 4 * channels)
        maps = self._buffer("maps", self.nets, batch * positions, w["conv1.w"].shape[1])
        each = maps.shape[2] // len(views)
        for v, view in enumerate(views):
            _patches(view.reshape(given * batch, channels, height, width), patches)
            rows = patches.reshape(given, batch * positions, -1)
            if len(views) == 1:
                np.matmul(rows, w["conv0.0.w"], out=maps)
            else:
                maps[:, :, v * each : (v + 1) * each] = rows @ w[f"conv0.{v}.w"]
        _add_bias(maps, w["conv0.b"])
        np.tanh(maps, out=maps)
        second = np.matmul(maps, w["conv1.w"], out=self._buffer("second", *maps.shape))
        _add_bias(second, w["conv1.b"])
        np.tanh(second, out=second)
        return second.reshape(self.nets, batch, -1)
