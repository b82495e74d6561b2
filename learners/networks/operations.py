"""Operations of training on a CPU that are kernels of our own, where torch would compute much that is known to be 0.

All else in training is torch's. In shapes, `B` is the number of rows, `H` that of units, `S` that of output slots, `A`
that of actions, `V` that of views, `F` that of inputs of a view, and `K` that of inputs of a row that can be nonzero.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from learners.networks.kernels import chosen_outputs, chosen_outputs_gradient, sparse_layer, sparse_layer_gradient

SPARSE_SHARE = 0.25
"""Largest `K / F` at which `SparseLayer` is worth it."""


class SparseInputs(NamedTuple):
    """A view in the form of `envs.sparse.Sparse`: `place`, `int16[B, K]`, and `value`, `float32[B, K]`."""

    place: Tensor
    value: Tensor


class SparseLayer(torch.autograd.Function):
    """A linear layer of sparse views: only the weights of nonzero inputs are read, and only they have a gradient.

    The arguments are weight `[H, V * F]`, bias `[H]`, and then `place` and `value` of each view.
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor, *views: Tensor) -> Tensor:
        """Returns the outputs, `float32[B, H]`."""
        matrix, offset = weight.detach().t().contiguous().numpy(), bias.detach().numpy()
        outputs = torch.empty(len(views[0]), len(bias))
        for first, place, value in _views(views, len(matrix)):
            sparse_layer(place, value, matrix[None], first, first == 0, False, offset[None], outputs.numpy()[None])
        ctx.save_for_backward(*views)
        ctx.inputs = len(matrix)
        return outputs

    @staticmethod
    def backward(ctx: Any, *upper: Tensor) -> Any:
        """Returns the gradients with respect to weight and bias."""
        views, gradient = ctx.saved_tensors, upper[0].contiguous()
        weight = torch.zeros(ctx.inputs, gradient.shape[1])
        for first, place, value in _views(views, ctx.inputs):
            sparse_layer_gradient(gradient.numpy(), place, value, first, weight.numpy())
        return weight.t(), gradient.sum(0), *[None] * len(views)


def _views(views: Sequence[Tensor], inputs: int) -> Iterator[tuple[int, NDArray[np.int16], NDArray[np.float32]]]:
    """Yields each view's first input, places and values."""
    pairs = list(zip(views[::2], views[1::2], strict=True))
    for number, (place, value) in enumerate(pairs):
        yield number * inputs // len(pairs), place.numpy(), value.numpy()


class ChosenOutputs(torch.autograd.Function):
    """Output layer on a CPU that computes only the outputs of the needed actions, and only their gradients.

    The arguments are x `[B, H]`, weight `[S, H]`, bias `[S]`, and slots and needed as in `ValueNet.forward`.

    A game may have hundreds of outputs, of which a row needs a few. With all outputs, `geister-quick` trained on 28 %
    fewer rows per second.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, slots: Tensor, needed: Tensor) -> Tensor:
        """Returns the values, `float32[B, A]`."""
        values = torch.empty(needed.shape)
        hidden, matrix, offset = (tensor.detach().contiguous().numpy()[None] for tensor in (x, weight, bias))
        chosen_outputs(hidden, matrix, offset, slots.numpy(), needed.numpy(), values.numpy()[None])
        ctx.save_for_backward(x, weight, slots, needed)
        return values

    @staticmethod
    def backward(ctx: Any, *upper: Tensor) -> Any:
        """Returns the gradients with respect to x, weight and bias."""
        x, weight, slots, needed = ctx.saved_tensors
        results = torch.empty_like(x), torch.zeros_like(weight), torch.zeros(len(weight))
        arrays = [tensor.detach().contiguous().numpy() for tensor in (upper[0], x, weight, slots, needed, *results)]
        chosen_outputs_gradient(*arrays)
        return *results, None, None
