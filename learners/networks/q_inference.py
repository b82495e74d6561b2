"""The forward pass of a Q-network over lists of actions in NumPy and compiled kernels, for self-play and agents.

`D` states have `N` actions in all, in one list after the other. The tower, if there is one, and the part of the first
layer that depends on the state are computed once per state, and the part that depends on the action from the few
nonzero entries of its vector. The other layers are matrix products with fused compiled kernels between them.
`learners.networks.torch_q_inference` does the same with torch, also on GPUs.
"""

from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from envs.sparse import Sparse
from learners.listed.settings import QNetworkSettings
from learners.networks import kernels
from learners.networks.arrays import Floats
from learners.networks.inference import aligned
from learners.networks.settings import Weights

ROWS = 512
"""Actions per pass through all layers. A matrix product begins by copying its second factor, so products with few rows
are slow: 128 rows reach 0.91 of the speed of a large product, and 512 rows all of it. More rows do not fit into the
caches."""

FEW_ROWS = 4
"""Up to this number of rows, except for a single row, reading the weights dominates the cost."""


class QForward(Protocol):
    """Runs a Q-network over lists of actions."""

    def __call__(self, states: Floats, offsets: NDArray[np.int64], actions: Sparse) -> Floats:
        """Computes the values of all actions, `float32[N]`.

        Args:
            states: The encoded states, `float32[D, F]`.
            offsets: The actions of state d are the rows ``offsets[d]`` to ``offsets[d + 1]`` - 1, `int64[D + 1]`.
            actions: Feature vectors of all actions, `N` rows.

        Raises:
            ValueError: the arguments do not fit each other.
        """
        ...


def check_lists(states: Floats, offsets: NDArray[np.int64], actions: Sparse) -> None:
    """Raises ValueError unless states, lists and actions fit each other, which compiled code does not check."""
    if len(offsets) != len(states) + 1 or offsets[0] != 0 or offsets[-1] != len(actions.place):
        raise ValueError(
            f"{len(states)} states and {len(actions.place)} actions do not fit lists of {len(offsets) - 1} states that "
            f"go from {offsets[0]} to {offsets[-1]}"
        )


class QInference:
    """A `QForward` on the CPU in float32. It reuses its scratch buffers, so it may be used by one thread only.

    Args:
        settings: Settings of the network.
        weights: Weights from `QNet.inference_weights`.
    """

    def __init__(self, settings: QNetworkSettings, weights: Weights) -> None:
        self.settings = settings
        self.weights: Weights = {}
        for name, array in weights.items():
            self.weights[name] = aligned(*array.shape)
            self.weights[name][...] = array
        self._layers = aligned(2, ROWS, settings.width)
        self._states: dict[str, Floats] = {}

    def __call__(self, states: Floats, offsets: NDArray[np.int64], actions: Sparse) -> Floats:
        """See `QForward`."""
        check_lists(states, offsets, actions)
        if actions.place.shape[1] % 4:  # the kernel reads four entries at a time
            raise ValueError(
                f"actions must have a multiple of 4 entries, padded with zeros, got {actions.place.shape[1]}"
            )
        values = np.empty(len(actions.place), np.float32)
        if len(values) == 0:
            return values
        base = self._base(states)
        parts = -(-len(values) // ROWS)
        bounds = [len(values) * part // parts for part in range(parts + 1)]  # equal lengths: short parts are slow
        for start, stop in pairwise(bounds):
            self._run(base, offsets, actions, start, values[start:stop])
        return values

    def _base(self, states: Floats) -> Floats:
        """Computes the tower, and the states' part of the first layer with the bias, `[D, H]` in a scratch buffer."""
        w, x = self.weights, states
        squash = kernels.bias_tanh if self.settings.activation == "tanh" else kernels.bias_relu
        for i in range(self.settings.tower):
            y = self._scratch(f"tower{i}", len(states), self.settings.tower_width)
            _product(x, w[f"tower{i}.w"], y)
            squash(y[None], w[f"tower{i}.b"][None])
            x = y
        base = self._scratch("base", len(states), self.settings.width)
        _product(x, w["state.w"], base)
        base += w["hidden0.b"]
        return base

    def _scratch(self, name: str, rows: int, width: int) -> Floats:
        if name not in self._states or len(self._states[name]) < rows:
            self._states[name] = aligned(rows, width)
        return self._states[name][:rows]

    def _run(self, base: Floats, offsets: NDArray[np.int64], actions: Sparse, start: int, values: Floats) -> None:
        """Computes the values of the actions from `start` on."""
        w, tanh = self.weights, self.settings.activation == "tanh"
        x, y = self._layers[:, : len(values)]
        kernels.action_layer(base, offsets, actions.place, actions.value, w["action.w"], start, tanh, x)
        squash = kernels.bias_tanh if tanh else kernels.bias_relu
        for i in range(1, self.settings.depth):
            _product(x, w[f"hidden{i}.w"], y)
            squash(y[None], w[f"hidden{i}.b"][None])
            x, y = y, x
        np.matmul(x, w["out.w"][:, 0], out=values)
        values += w["out.b"]


def _product(x: Floats, matrix: Floats, out: Floats) -> None:
    """out = x @ matrix."""
    if 1 < len(x) <= FEW_ROWS:
        kernels.few_products(x[None], matrix[None], out[None])
    else:
        np.matmul(x, matrix, out=out)
