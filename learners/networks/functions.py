"""The layers of `modules` for training on CPUs: autograd functions around compiled kernels.

They compute what the modules do (a test holds them to it) in about half of the time: tanh and what stands between
matrix products are fused and vectorised, inputs that are 0 and outputs that no sample needs are left out, and a trunk
works on cuts that stay in the second-level cache. Matrix products are torch's where nothing else is said.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.autograd import Function

from envs.sparse import Sparse
from learners.networks import gradients, kernels
from learners.networks.inference import MANY_OUTPUTS, Floats, aligned
from learners.networks.settings import CONV_CHANNELS

TRUNK_ROWS = 128
"""Rows of a batch that go through a trunk at a time."""


def _array(tensor: Tensor) -> Floats:
    return tensor.detach().contiguous().numpy()


class PatchFunction(Function):
    """`modules.PatchTrunk`: both convolutions on views `float32[B, C, H, W]`, to `[B, positions * 16]`.

    Arguments: the views; weight and bias of the second convolution; weights of the first, a view each; their biases.
    """

    @staticmethod
    def forward(ctx: Any, views: Sequence[Floats], second: Tensor, second_bias: Tensor, *first: Tensor) -> Tensor:
        """The trunk's output, `float32[B, positions * 16]`, in pieces that stay in a cache."""
        batch, channels, height, width = views[0].shape
        positions, each = (height - 1) * (width - 1), CONV_CHANNELS // len(views)
        matrices, biases = [_array(matrix).T for matrix in first[: len(views)]], torch.cat(first[len(views) :])
        hidden, outputs = torch.empty(2, batch * positions, CONV_CHANNELS)
        low, high = hidden.numpy(), outputs.numpy()
        unfolded = aligned(TRUNK_ROWS * positions, 4 * channels)
        for start in range(0, batch, TRUNK_ROWS):
            rows = slice(start, min(batch, start + TRUNK_ROWS))
            at = slice(rows.start * positions, rows.stop * positions)
            for v, (view, matrix) in enumerate(zip(views, matrices, strict=True)):
                np.matmul(_unfold(view[rows], unfolded), matrix, out=low[at, v * each : (v + 1) * each])
            kernels.bias_tanh(low[None, at], _array(biases)[None])
            np.matmul(low[at], _array(second).T, out=high[at])
            kernels.bias_tanh(high[None, at], _array(second_bias)[None])
        ctx.views = views
        ctx.save_for_backward(hidden, outputs, second)
        return outputs.reshape(batch, -1)

    @staticmethod
    def backward(ctx: Any, *upper: Tensor) -> Any:
        """Gradients by the weights and biases; none by the views, which are data."""
        hidden, outputs, second = map(_array, ctx.saved_tensors)
        batch, channels, height, width = ctx.views[0].shape
        positions, each = (height - 1) * (width - 1), CONV_CHANNELS // len(ctx.views)
        above = _array(upper[0]).reshape(-1, CONV_CHANNELS)
        second_gradient = np.zeros((CONV_CHANNELS, CONV_CHANNELS), np.float32)
        first_gradients = np.zeros((len(ctx.views), each, 4 * channels), np.float32)
        first_bias, second_bias = np.zeros((2, CONV_CHANNELS), np.float32)
        unfolded = aligned(TRUNK_ROWS * positions, 4 * channels)
        scratch = aligned(2, TRUNK_ROWS * positions, CONV_CHANNELS)
        for start in range(0, batch, TRUNK_ROWS):
            rows = slice(start, min(batch, start + TRUNK_ROWS))
            at = slice(rows.start * positions, rows.stop * positions)
            high, low = scratch[:, : at.stop - at.start]
            gradients.tanh_gradient(above[at], outputs[at], high, second_bias)
            second_gradient += high.T @ hidden[at]
            np.matmul(high, second, out=low)
            gradients.tanh_gradient(low, hidden[at], low, first_bias)
            for v, view in enumerate(ctx.views):
                patches = _unfold(view[rows], unfolded)
                first_gradients[v] += low[:, v * each : (v + 1) * each].T @ patches
        weights, biases = torch.from_numpy(first_gradients), torch.from_numpy(first_bias).split(each)
        return None, torch.from_numpy(second_gradient), torch.from_numpy(second_bias), *weights, *biases


def _unfold(planes: Floats, out: Floats) -> Floats:
    """Patches of `[B, C, H, W]` as rows `[B * positions, 4 * C]` in the memory of `out`."""
    batch, channels, height, width = planes.shape
    positions = (height - 1) * (width - 1)
    rows = out[: batch * positions]
    kernels.patches(planes, rows.reshape(batch, positions, 4 * channels))
    return rows


class SparseLayer(Function):
    """ReLU(x @ weight.T + bias) for the joined sparse views x; arguments: the views, weight `[H, I]`, bias."""

    @staticmethod
    def forward(ctx: Any, views: Sequence[Sparse], weight: Tensor, bias: Tensor) -> Tensor:
        matrix = _array(weight.t())[None]
        y = np.empty((1, len(views[0].place), len(weight)), np.float32)
        inputs, last = weight.shape[1] // len(views), len(views) - 1
        for v, (place, value) in enumerate(views):
            kernels.sparse_layer(place, value, matrix, v * inputs, v == 0, v == last, _array(bias)[None], y)
        outputs = torch.from_numpy(y[0])
        ctx.views, ctx.inputs = views, weight.shape[1]
        ctx.save_for_backward(outputs)
        return outputs

    @staticmethod
    def backward(ctx: Any, *upper: Tensor) -> Any:
        (y,) = ctx.saved_tensors
        bias, matrix = np.zeros(y.shape[1], np.float32), np.zeros((ctx.inputs, y.shape[1]), np.float32)
        lower = np.empty(y.shape, np.float32)
        gradients.relu_gradient(_array(upper[0]), _array(y), lower, bias)
        for v, (place, value) in enumerate(ctx.views):
            gradients.sparse_gradient(lower, place, value, v * (ctx.inputs // len(ctx.views)), matrix)
        return None, torch.from_numpy(matrix).t(), torch.from_numpy(bias)


class HiddenLayer(Function):
    """ReLU(x @ weight.T + bias), and + x before the ReLU where the shapes agree; arguments: x, weight, bias."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        y = torch.mm(x, weight.t())
        if x.shape == y.shape:
            kernels.bias_skip_relu(y.numpy()[None], _array(bias)[None], _array(x)[None])
        else:
            kernels.bias_relu(y.numpy()[None], _array(bias)[None])
        ctx.save_for_backward(x, y, weight)
        return y

    @staticmethod
    def backward(ctx: Any, *upper: Tensor) -> Any:
        x, y, weight = ctx.saved_tensors
        lower, bias = torch.empty_like(y), torch.zeros(y.shape[1])
        gradients.relu_gradient(_array(upper[0]), y.numpy(), lower.numpy(), bias.numpy())
        below = None
        if ctx.needs_input_grad[0]:
            below = torch.addmm(lower, lower, weight) if x.shape == y.shape else torch.mm(lower, weight)
        return below, torch.mm(lower.t(), x), bias


class DenseLayer(Function):
    """tanh(x @ weight.T + bias), or ReLU; arguments: x, weight, bias, whether it is tanh.

    Its matrix products are NumPy's: at a thousand rows and 512 units they took 7 % off a Q-network's training.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, tanh: bool) -> Tensor:
        y = _product(_array(x), _array(weight).T)
        squash = kernels.bias_tanh if tanh else kernels.bias_relu
        squash(y.numpy()[None], _array(bias)[None])
        ctx.tanh = tanh
        ctx.save_for_backward(x, y, weight)
        return y

    @staticmethod
    def backward(ctx: Any, *upper: Tensor) -> Any:
        x, y, weight = map(_array, ctx.saved_tensors)
        lower, bias = np.empty_like(y), torch.zeros(y.shape[1])
        slope = gradients.tanh_gradient if ctx.tanh else gradients.relu_gradient
        slope(_array(upper[0]), y, lower, bias.numpy())
        below = _product(lower, weight) if ctx.needs_input_grad[0] else None
        return below, _product(lower.T, x), bias, None


def _product(a: Floats, b: Floats) -> Tensor:
    """a @ b."""
    out = torch.empty(len(a), b.shape[1])
    np.matmul(a, b, out=out.numpy())
    return out


class Normalise(Function):
    """Each row to mean 0 and variance 1."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        y, scale = torch.empty_like(x), torch.empty(len(x))
        gradients.normalise(_array(x), y.numpy(), scale.numpy())
        ctx.save_for_backward(y, scale)
        return y

    @staticmethod
    def backward(ctx: Any, *upper: Tensor) -> Any:
        y, scale = ctx.saved_tensors
        lower = torch.empty_like(y)
        gradients.normalise_gradient(_array(upper[0]), y.numpy(), scale.numpy(), lower.numpy())
        return lower


class ActionValues(Function):
    """Values `[B, A]` of the actions that are needed, from the last hidden layer: sums of linear outputs.

    Arguments: x, weight `[S, H]`, bias, slots `int16[B, A, K]`, needed `bool[B, A]` (0 is the value of the others).
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        slots: NDArray[np.int16],
        needed: NDArray[np.bool_],
    ) -> Tensor:
        """Values `float32[B, A]`: of many outputs only those that are needed are computed."""
        values = np.empty((1, *needed.shape), np.float32)
        ctx.many = len(weight) >= MANY_OUTPUTS
        if ctx.many:
            kernels.chosen_outputs(_array(x)[None], _array(weight)[None], _array(bias)[None], slots, needed, values)
        else:
            outputs = torch.addmm(bias, x, weight.t())
            kernels.action_values(outputs.numpy()[None], slots, needed, values)
        ctx.slots, ctx.needed = slots, needed
        ctx.save_for_backward(x, weight)
        return torch.from_numpy(values[0])

    @staticmethod
    def backward(ctx: Any, *upper: Tensor) -> Any:
        """Gradients by x `[B, H]`, the weight `[S, H]` and the bias `[S]`, in the way that `forward` went."""
        x, weight = ctx.saved_tensors
        if ctx.many:
            lower, matrix, bias = torch.empty_like(x), torch.zeros_like(weight), torch.zeros(len(weight))
            gradients.chosen_gradient(
                _array(upper[0]),
                _array(x),
                _array(weight),
                ctx.slots,
                ctx.needed,
                lower.numpy(),
                matrix.numpy(),
                bias.numpy(),
            )
            return lower, matrix, bias, None, None
        outputs = torch.empty(len(x), len(weight))
        gradients.scatter_gradient(_array(upper[0]), ctx.slots, ctx.needed, outputs.numpy())
        return torch.mm(outputs, weight), torch.mm(outputs.t(), x), outputs.sum(0), None, None
