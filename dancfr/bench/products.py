"""The matrix products of a network's layers, each alone and in several ways: the limit of its forward pass."""

from collections.abc import Callable, Mapping
from statistics import median

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from envs.sparse import Sparse
from learners.networks.arrays import View
from learners.networks.inference import ROWS, Inference, aligned
from learners.networks.kernels import chosen_outputs, sparse_layer
from learners.networks.settings import CONV_CHANNELS, Weights

Ways = dict[str, Callable[[], object]]
"""Functions by name that compute the same product."""


def layer_products(
    inference: Inference, view: View, slots: NDArray[np.int16], legal: NDArray[np.bool_]
) -> dict[str, Ways]:
    """Returns the ways to compute the product of each layer, by layer, for all rows of a view.

    Every layer has dense products. The first layer of a sparse view also has those without inputs that are 0, and an
    output layer with many outputs also has those of the legal actions only. Dense products are computed in parts of as
    many rows as in `Inference`, always in the same memory, so that factors and results are in the cache.

    Args:
        inference: One network with one view.
        view: Encoded infostates, `m` rows, a multiple of the rows that `Inference` computes at a time.
        slots: Output slots of each action, from `Game.output_slots`, `int16[m, A, K]`.
        legal: Legal actions, `bool[m, A]`.
    """
    weights = {name: stacked[0] for name, stacked in inference.weights.items()}
    rows = min(len(legal), ROWS[inference.settings.trunk])
    positions = weights["hidden0.w"].shape[0] // CONV_CHANNELS  # of a trunk's patches
    layers = {}
    for name in [name for name in weights if name.endswith(".w")]:
        factors = rows * positions if name.startswith("conv") else rows
        layers[name.removesuffix(".w")] = _dense(weights[name], factors, repeats=len(legal) // rows)
    if isinstance(view, Sparse):
        layers["hidden0"] |= _without_zeros(view, inference.weights)
    if "out.t" in weights:
        layers["out"]["legal actions"] = _legal_outputs(inference.weights, slots, legal)
    return layers


def fastest(ways: Mapping[str, list[float]]) -> tuple[str, float]:
    """Returns the way with the least median time, and that time."""
    way = min(ways, key=lambda name: median(ways[name]))
    return way, median(ways[way])


def _dense(matrix: NDArray[np.float32], rows: int, repeats: int) -> Ways:
    """Returns `repeats` products of `rows` random rows with a matrix `[I, H]`, zeros included."""
    x, out, by = aligned(rows, matrix.shape[0]), aligned(rows, matrix.shape[1]), aligned(*matrix.shape)
    x[:], by[:] = np.random.default_rng(0).standard_normal(x.shape), matrix
    given, factor, result = (torch.from_numpy(array) for array in (x, by, out))
    turned = factor.T.contiguous().T  # in memory as in `torch.nn.Linear`

    def repeat(call: Callable[[], object]) -> Callable[[], object]:
        def repeated() -> None:
            for _ in range(repeats):
                call()

        return repeated

    return {
        "NumPy": repeat(lambda: np.matmul(x, by, out=out)),
        "torch": repeat(lambda: torch.mm(given, factor, out=result)),
        "torch transposed": repeat(lambda: torch.mm(given, turned, out=result)),
    }


def _without_zeros(view: Sparse, weights: Weights) -> Ways:
    """Returns products of the nonzero inputs alone, by our kernel and by torch."""
    matrix, bias = weights["hidden0.w"], weights["hidden0.b"]
    out = aligned(1, len(view.place), matrix.shape[2])
    arrays = view.place.astype(np.int64), view.value, matrix[0]
    place, value, factor = (torch.from_numpy(array) for array in arrays)
    return {
        "our kernel": lambda: sparse_layer(view.place, view.value, matrix, 0, True, True, bias, out),
        "torch sparse": lambda: functional.embedding_bag(place, factor, per_sample_weights=value, mode="sum"),
    }


def _legal_outputs(weights: Weights, slots: NDArray[np.int16], legal: NDArray[np.bool_]) -> Callable[[], object]:
    """Returns the products of a random last hidden layer with the outputs of legal actions."""
    matrix, bias = weights["out.t"], weights["out.b"]
    hidden, values = aligned(1, len(legal), matrix.shape[2]), aligned(1, *legal.shape)
    hidden[:] = np.random.default_rng(0).standard_normal(hidden.shape)
    return lambda: chosen_outputs(hidden, matrix, bias, slots, legal, values)
