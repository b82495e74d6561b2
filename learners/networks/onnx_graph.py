"""Networks over numbered actions as ONNX graphs, for programs that do not have this package. `B` rows, `S` output
slots, `A` actions."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from onnx import ModelProto, TensorProto

from learners.networks.onnx_nodes import Graph, Tensor
from learners.networks.settings import CONV_CHANNELS, CONV_KERNEL, NetworkSettings, Weights

ROWS = "rows"
"""Name of the first axis, `B`."""

Policy = Literal["softmax", "regrets"]
"""How a policy comes from the outputs: by the softmax, or by regret matching on them as advantages."""


def value_graph(settings: NetworkSettings, weights: Weights, shape: Sequence[int]) -> ModelProto:
    """Returns a net of one view as a graph: ``x``, encoded infostates `float32[B, *shape]`, to ``out``, all its
    outputs, `float32[B, S]`.

    Args:
        settings: Settings of the net.
        weights: From `ValueNet.inference_weights`.
        shape: Shape of an encoded infostate, of `GameSpec.shapes`.
    """
    graph = _NetGraph(settings, weights, shape)
    graph.outputs("out")
    return graph.model({"x": (TensorProto.FLOAT, [ROWS, *shape])}, {"out": (TensorProto.FLOAT, [ROWS, "slots"])})


def policy_graph(
    settings: NetworkSettings,
    weights: Weights,
    shape: Sequence[int],
    actions: int,
    summands: int,
    unit: float | None,
    policy: Policy = "softmax",
) -> ModelProto:
    """Returns a policy net as a graph from infostates to policies.

    Its inputs are ``x``, encoded infostates `float32[B, *shape]`; ``slots``, the outputs whose sum belongs to each
    action, `int64[B, A, K]`, -1 for none; and ``legal``, `bool[B, A]`. Its results are ``policy``, `float32[B, A]`;
    with `unit`, ``value``, that of the infostate to its player, `float32[B]`; and of regret matching ``advantage``,
    `float32[B, A]`, 0 where not legal.

    Args:
        settings: Settings of the net.
        weights: From `ValueNet.inference_weights`; with `unit`, the output behind those of the actions is the value.
        shape: Shape of an encoded infostate.
        actions: A.
        summands: K.
        unit: What a value of 1 is in the game's returns; None: the net has no value.
        policy: How the policy comes from the outputs.
    """
    graph = _NetGraph(settings, weights, shape)
    out, count = graph.outputs("out"), weights["out.b"].shape[-1]
    results: dict[str, Tensor] = {"policy": (TensorProto.FLOAT, [ROWS, actions])}
    if unit is not None:
        scaled = graph.add("Mul", out, graph.hold(np.float32(unit)))
        graph.add("Gather", scaled, graph.hold(np.int64(count - 1)), axis=1, result="value")
        results["value"] = (TensorProto.FLOAT, [ROWS])
    outputs = graph.sums(out, count)
    if policy == "softmax":
        graph.add(
            "Softmax", graph.add("Where", "legal", outputs, graph.hold(np.float32(-np.inf))), axis=1, result="policy"
        )
    else:
        graph.match_regrets(outputs, actions)
        results["advantage"] = (TensorProto.FLOAT, [ROWS, actions])
    inputs: dict[str, Tensor] = {
        "x": (TensorProto.FLOAT, [ROWS, *shape]),
        "slots": (TensorProto.INT64, [ROWS, actions, summands]),
        "legal": (TensorProto.BOOL, [ROWS, actions]),
    }
    return graph.model(inputs, results)


class _NetGraph(Graph):
    """The graph of a `learners.networks.modules.ValueNet`."""

    def __init__(self, settings: NetworkSettings, weights: Weights, shape: Sequence[int]) -> None:
        super().__init__(weights)
        self.settings, self.shape = settings, shape

    def outputs(self, result: str) -> str:
        """Adds the whole net, see `learners.networks.modules.ValueNet`."""
        x = self.add("Reshape", "x", self.hold(np.array([-1, math.prod(self.shape)])))
        if self.settings.trunk == "conv":
            x = self.trunk(x)
        for i in range(self.settings.depth):
            y = self.layer(x, f"hidden{i}")
            inputs, width = self.weights[f"hidden{i}.w"].shape
            x = self.add("Relu", self.add("Add", y, x) if inputs == width else y)
        if self.settings.norm == "layer":  # batch normalisation is folded into the output layer
            x = self.add("LayerNormalization", x, self.hold(np.ones(self.settings.width, np.float32)), axis=-1)
        return self.add("Identity", self.layer(x, "out"), result=result)

    def trunk(self, x: str) -> str:
        """Adds the convolutions, as linear layers over patches like `learners.networks.modules.PatchTrunk`."""
        channels, height, width = self.shape
        positions, patch = (height - 1) * (width - 1), channels * CONV_KERNEL**2
        cells = np.arange(channels * height * width).reshape(channels, height, width)
        corners = [cells[:, y : height - 1 + y, x : width - 1 + x] for y in (0, 1) for x in (0, 1)]
        order = np.stack(corners).reshape(patch, positions).T.flatten()
        x = self.add("Gather", x, self.hold(order), axis=1)
        x = self.add("Reshape", x, self.hold(np.array([-1, positions, patch])))
        for name in ("conv0.0", "conv1"):
            x = self.add("Tanh", self.layer(x, name))
        return self.add("Reshape", x, self.hold(np.array([-1, positions * CONV_CHANNELS])))

    def sums(self, out: str, count: int) -> str:
        """Adds the sum of the outputs that ``slots`` names for each action, `[B, A]`, of `count` outputs."""
        padded = self.add("Pad", out, self.hold(np.array([0, 0, 0, 1])))  # what a slot of -1 reads
        absent = self.add("Less", "slots", self.hold(np.int64(0)))
        places = self.add("Where", absent, self.hold(np.int64(count)), "slots")
        rows = self.add("Gather", self.add("Shape", out), self.hold(np.int64(0)))
        row = self.add("Range", self.hold(np.int64(0)), rows, self.hold(np.int64(1)))
        first = self.add(
            "Mul", self.add("Reshape", row, self.hold(np.array([-1, 1, 1]))), self.hold(np.int64(count + 1))
        )
        flat = self.add("Reshape", padded, self.hold(np.array([-1])))
        read = self.add("Gather", flat, self.add("Add", places, first))
        return self.add("ReduceSum", read, self.hold(np.array([2])), keepdims=0)

    def match_regrets(self, outputs: str, actions: int) -> None:
        """Adds ``advantage`` and, by regret matching, ``policy``, see `learners.regret_matching.match_regrets`."""
        zero = self.hold(np.float32(0))
        advantage = self.add("Where", "legal", outputs, zero, result="advantage")
        positive = self.add("Relu", advantage)
        total = self.add("ReduceSum", positive, self.hold(np.array([1])), keepdims=1)
        some = self.add("Greater", total, zero)
        share = self.add("Div", positive, self.add("Where", some, total, self.hold(np.float32(1))))
        masked = self.add("Where", "legal", outputs, self.hold(np.float32(-np.inf)))
        best = self.add("ArgMax", masked, axis=1, keepdims=1)
        first = self.add("Cast", self.add("Equal", best, self.hold(np.arange(actions))), to=TensorProto.FLOAT)
        self.add("Where", some, share, first, result="policy")
