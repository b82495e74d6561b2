"""The forward pass of a network in NumPy and compiled kernels, for traversals, self-play and agents.

On small batches, NumPy's matrix product (OpenBLAS) with fused compiled kernels between the products is faster than
torch's eager execution, and a process that only plays does not import torch (see `dancfr bench inference`). Three
optimisations go beyond that: inputs that are 0 are skipped if the game provides sparse encodings, outputs that no legal
action needs are not computed, and large batches are split so that the activations stay in the second-level cache.

In shapes, `T` is the number of networks, `m` the number of infostates per network, `S` that of output slots, `A` that
of actions, `K` that of slots per action, and `H` that of hidden units.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from envs.game import Game, Packed, SparseGame
from envs.sparse import Sparse, dense
from learners.networks.arrays import Floats, View
from learners.networks.kernels import (
    action_values,
    add_bias,
    bias_relu,
    bias_skip_relu,
    bias_tanh,
    chosen_outputs,
    few_products,
    layer_norm,
    patches,
    sparse_layer,
)
from learners.networks.settings import CONV_CHANNELS, MANY_OUTPUTS, NetworkSettings, Weights

ROWS = {"flat": 512, "conv": 128}
"""Rows per pass through all layers, by trunk. The activations of more rows would not fit into a cache of 512 KiB."""

_DERIVED = ("conv0.b", "out.t")
"""Arrays that are computed from the given ones."""

FEW_ROWS = 8
"""Up to this number of rows per network, reading the weights dominates the cost."""


def encoder(game: Game, settings: NetworkSettings) -> Callable[[Packed], View]:
    """The encoder of packed infostates for `Inference`: sparse if both the game and the network allow it."""
    if settings.encoding == "flat" and isinstance(game, SparseGame):
        return game.encode_sparse
    return lambda packed: game.encode(packed, settings.encoding)[None]


class Forward(Protocol):
    """The forward pass of networks with the same settings, see `Inference`."""

    nets: int

    def __call__(self, views: Sequence[View]) -> Floats: ...

    def action_values(
        self, views: Sequence[View], slots: NDArray[np.int16], legal: NDArray[np.bool_], values: Floats | None = None
    ) -> Floats: ...


def make_forward(settings: NetworkSettings, nets: Sequence[Weights], device: str = "cpu") -> Forward:
    """The forward pass on a device: on a CPU by compiled kernels, see `Inference`, else by torch.

    Raises:
        DeviceMissing: there is no such device.
    """
    if device == "cpu":
        return Inference(settings, nets)
    from learners.devices import choose_device
    from learners.networks.torch_inference import TorchInference

    return TorchInference(settings, nets, choose_device(device))


def aligned(*shape: int) -> Floats:
    """Uninitialised array, aligned to a cache line: vectors that span two lines cost a fifth of the speed."""
    size = math.prod(shape)
    memory = np.empty(size + 16, np.float32)
    start = -memory.ctypes.data // 4 % 16
    return memory[start : start + size].reshape(shape)


def stack_weights(nets: Sequence[Weights]) -> Weights:
    """Stacks the weights of T networks with the same settings along a new first dimension."""
    stacked = {name: aligned(len(nets), *array.shape) for name, array in nets[0].items()}
    for name, array in stacked.items():
        np.stack([net[name] for net in nets], out=array)
    return stacked


class Inference:
    """The forward pass of T networks with the same settings.

    An instance reuses its scratch buffers, so it may be used by one thread only.

    Args:
        settings: Settings of the networks.
        nets: Weights of each network, from `ValueNet.inference_weights`.
    """

    def __init__(self, settings: NetworkSettings, nets: Sequence[Weights]) -> None:
        self.settings = settings
        self.nets = len(nets)
        self.weights = stack_weights(nets)
        if settings.trunk == "conv":
            biases = sorted(name for name in self.weights if name.startswith("conv0.") and name.endswith(".b"))
            self.weights["conv0.b"] = np.concatenate([self.weights[name] for name in biases], axis=1)
        matrix = self.weights["out.w"]
        if matrix.shape[2] >= MANY_OUTPUTS:
            self.weights["out.t"] = aligned(self.nets, matrix.shape[2], matrix.shape[1])
            self.weights["out.t"][:] = matrix.transpose(0, 2, 1)
        self._scratch: dict[str, Floats] = {}

    def subset(self, which: NDArray[np.int64]) -> "Inference":
        """The networks with these indices, as an `Inference` that shares the scratch buffers.

        If they are all networks in order, this instance is returned and nothing is copied.
        """
        if np.array_equal(which, np.arange(self.nets)):
            return self
        chosen = object.__new__(Inference)
        chosen.settings, chosen.nets = self.settings, len(which)
        chosen.weights = {name: stacked[which] for name, stacked in self.weights.items()}
        chosen._scratch = self._scratch
        return chosen

    def unstacked(self) -> list[Weights]:
        """The weights of each network, as they were given."""
        given = {name: stacked for name, stacked in self.weights.items() if name not in _DERIVED}
        return [{name: stacked[t] for name, stacked in given.items()} for t in range(self.nets)]

    def __call__(self, views: Sequence[View]) -> Floats:
        """Computes all outputs of every network.

        Args:
            views: Encoded infostates, one view for an advantage network and two for a baseline network.

        Returns:
            Outputs `float32[T, m, S]` in a scratch buffer that the next call overwrites.
        """
        outputs = self._buffer("all", self.nets, _rows(views[0]), self.weights["out.w"].shape[2])
        for w, nets, rows, part in self._parts(views):
            self._outputs(w, part, outputs[nets, rows])
        return outputs

    def action_values(
        self,
        views: Sequence[View],
        slots: NDArray[np.int16],
        legal: NDArray[np.bool_],
        values: Floats | None = None,
    ) -> Floats:
        """Computes the value of each legal action by every network.

        Args:
            views: Encoded infostates, as for `__call__`.
            slots: Output slots of each action, from `Game.output_slots`, `int16[m, A, K]`.
            legal: Legal actions, `bool[m, A]`.
            values: Array for the result, `float32[T, m, A]`; by default a new one.

        Returns:
            Value of each action, the sum of the outputs in its slots, `float32[T, m, A]`; 0 for illegal actions.
        """
        if values is None:
            values = np.empty((self.nets, *legal.shape), np.float32)
        for w, nets, rows, part in self._parts(views):
            if "out.t" in w:
                hidden = self._hidden(w, part)
                chosen_outputs(hidden, w["out.t"], w["out.b"], slots[rows], legal[rows], values[nets, rows])
            else:
                outputs = self._buffer("part", len(w["out.b"]), _rows(part[0]), w["out.b"].shape[1])
                self._outputs(w, part, outputs)
                action_values(outputs, slots[rows], legal[rows], values[nets, rows])
        return values

    def _parts(self, views: Sequence[View]) -> Iterator[tuple[Weights, slice, slice, Sequence[View]]]:
        """Splits the work into passes through all layers: weights, networks, rows, and the views of these rows."""
        m = _rows(views[0])
        step = ROWS[self.settings.trunk]
        if m <= FEW_ROWS or (m <= step and self.nets == 1):
            yield self.weights, slice(0, self.nets), slice(0, m), views
            return
        for t in range(self.nets):
            nets = slice(t, t + 1)
            weights = {name: stacked[nets] for name, stacked in self.weights.items()}
            for start in range(0, m, step):
                rows = slice(start, min(m, start + step))
                yield weights, nets, rows, [_part(view, nets, rows) for view in views]

    def _buffer(self, name: str, *shape: int) -> Floats:
        size = math.prod(shape)
        held = self._scratch.get(name)
        if held is None or held.size < size:
            held = self._scratch[name] = aligned(size)
        return held[:size].reshape(shape)

    def _outputs(self, w: Weights, views: Sequence[View], outputs: Floats) -> None:
        _product(self._hidden(w, views), w["out.w"], outputs)
        add_bias(outputs, w["out.b"])

    def _hidden(self, w: Weights, views: Sequence[View]) -> Floats:
        """The last hidden layer, normalised, `float32[T, m, H]` in a scratch buffer."""
        first = 0
        if self.settings.trunk == "conv":
            x = self._trunk(w, views)
        elif isinstance(views[0], Sparse) and w["hidden0.w"].shape[1] != w["hidden0.w"].shape[2]:
            x = self._sparse_hidden(w, views)
            first = 1
        else:
            x = self._join(views, w["hidden0.w"].shape[1] // len(views))
        for i in range(first, self.settings.depth):
            matrix, bias = w[f"hidden{i}.w"], w[f"hidden{i}.b"]
            y = self._buffer(f"hidden{i}", len(matrix), x.shape[1], matrix.shape[2])
            _product(x, matrix, y)
            if x.shape[2] == y.shape[2]:
                bias_skip_relu(y, bias, x)
            else:
                bias_relu(y, bias)
            x = y
        if self.settings.norm == "layer":
            layer_norm(x)
        return x

    def _sparse_hidden(self, w: Weights, views: Sequence[View]) -> Floats:
        """The first hidden layer from sparse views, `float32[T, m, H]`."""
        matrix, bias = w["hidden0.w"], w["hidden0.b"]
        y = self._buffer("hidden0", len(matrix), _rows(views[0]), matrix.shape[2])
        last = len(views) - 1
        for v, view in enumerate(views):
            assert isinstance(view, Sparse)  # all views have the same type
            first = v * (matrix.shape[1] // len(views))
            sparse_layer(view.place, view.value, matrix, first, v == 0, v == last, bias, y)
        return y

    def _join(self, views: Sequence[View], inputs: int) -> Floats:
        """Concatenates dense views, `float32[T or 1, m, views * inputs]`."""
        flat = [
            _densify(v, inputs) if isinstance(v, Sparse) else v.reshape(*v.shape[:2], math.prod(v.shape[2:]))
            for v in views
        ]
        if len(flat) == 1:
            return flat[0]
        joined = self._buffer("joined", *flat[0].shape[:2], len(flat) * inputs)
        return np.concatenate(flat, axis=2, out=joined)

    def _trunk(self, w: Weights, views: Sequence[View]) -> Floats:
        """Both convolutions as matrix products over patches, `float32[T, m, positions * CONV_CHANNELS]`."""
        given, batch, channels, height, width = np.shape(views[0])
        positions = (height - 1) * (width - 1)
        size = len(w["conv1.w"]), batch * positions, CONV_CHANNELS
        unfolded = self._buffer("patches", given * batch, positions, 4 * channels)
        maps, second = self._buffer("maps", *size), self._buffer("second", *size)
        each = CONV_CHANNELS // len(views)
        for v, view in enumerate(views):
            assert not isinstance(view, Sparse)  # planes are dense
            patches(view.reshape(given * batch, channels, height, width), unfolded)
            rows = unfolded.reshape(given, batch * positions, -1)
            np.matmul(rows, w[f"conv0.{v}.w"], out=maps[:, :, v * each : (v + 1) * each])
        bias_tanh(maps, w["conv0.b"])
        np.matmul(maps, w["conv1.w"], out=second)
        bias_tanh(second, w["conv1.b"])
        return second.reshape(size[0], batch, -1)


def _rows(view: View) -> int:
    return len(view.place) if isinstance(view, Sparse) else view.shape[1]


def _part(view: View, nets: slice, rows: slice) -> View:
    if isinstance(view, Sparse):
        return Sparse(view.place[rows], view.value[rows])
    return view[nets if len(view) > 1 else slice(0, 1), rows]


def _densify(view: Sparse, inputs: int) -> Floats:
    out = np.empty((1, len(view.place), inputs), np.float32)
    dense(view.place, view.value, out[0])
    return out


def _product(x: Floats, matrix: Floats, out: Floats) -> None:
    """out = x @ matrix."""
    if x.shape[1] <= FEW_ROWS:
        few_products(x, matrix, out)
    else:
        np.matmul(x, matrix, out=out)
