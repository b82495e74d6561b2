"""Networks as ONNX graphs, for programs that do not have this package. `B` rows, `S` output slots, `A` actions."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from learners.networks.settings import CONV_CHANNELS, CONV_KERNEL, NetworkSettings, Weights

OPSET, IR = 17, 9
"""Versions that ONNX Runtime reads since 1.15."""


def value_graph(settings: NetworkSettings, weights: Weights, shape: Sequence[int]) -> ModelProto:
    """Returns a net of one view as a graph: ``x``, encoded infostates `float32[B, *shape]`, to ``out``, all its
    outputs, `float32[B, S]`.

    Args:
        settings: Settings of the net.
        weights: From `ValueNet.inference_weights`.
        shape: Shape of an encoded infostate, of `GameSpec.shapes`.
    """
    graph = _Graph(settings, weights, shape)
    return graph.model({"x": (TensorProto.FLOAT, shape)}, {graph.outputs("out"): (TensorProto.FLOAT, ["slots"])})


def policy_graph(
    settings: NetworkSettings, weights: Weights, shape: Sequence[int], actions: int, summands: int, unit: float
) -> ModelProto:
    """Returns a policy net as a graph from infostates to policies.

    Its inputs are ``x``, encoded infostates `float32[B, *shape]`; ``slots``, the outputs whose sum is the logit of each
    action, `int64[B, A, K]`, -1 for none; and ``legal``, `bool[B, A]`. Its results are ``policy``, `float32[B, A]`, and
    ``value``, that of the infostate to its player, `float32[B]`.

    Args:
        settings: Settings of the net.
        weights: From `ValueNet.inference_weights`; the output behind those of the actions is the value.
        shape: Shape of an encoded infostate.
        actions: A.
        summands: K.
        unit: What a value of 1 is in the game's returns.
    """
    graph = _Graph(settings, weights, shape)
    out = graph.outputs("out")
    last = weights["out.b"].shape[-1] - 1
    value = graph.add("Gather", graph.add("Mul", out, graph.hold(np.float32(unit))), graph.hold(np.int64(last)), axis=1)
    graph.add("Identity", value, result="value")
    padded = graph.add("Pad", out, graph.hold(np.array([0, 0, 0, 1])))  # what a slot of -1 reads
    absent = graph.add("Less", "slots", graph.hold(np.int64(0)))
    places = graph.add("Where", absent, graph.hold(np.int64(last + 1)), "slots")
    each = graph.add("Unsqueeze", places, graph.hold(np.array([3])))
    read = graph.add("GatherND", padded, each, batch_dims=1)
    logits = graph.add("ReduceSum", read, graph.hold(np.array([2])), keepdims=0)
    masked = graph.add("Where", "legal", logits, graph.hold(np.float32(-np.inf)))
    graph.add("Softmax", masked, axis=1, result="policy")
    inputs = {
        "x": (TensorProto.FLOAT, shape),
        "slots": (TensorProto.INT64, [actions, summands]),
        "legal": (TensorProto.BOOL, [actions]),
    }
    return graph.model(inputs, {"policy": (TensorProto.FLOAT, [actions]), "value": (TensorProto.FLOAT, [])})


class _Graph:
    """A graph that grows by a node at a time. Nodes take names of results and give the name of theirs."""

    def __init__(self, settings: NetworkSettings, weights: Weights, shape: Sequence[int]) -> None:
        self.settings, self.weights, self.shape = settings, weights, shape
        self.nodes: list[NodeProto] = []
        self.held: dict[str, Any] = {}

    def hold(self, array: Any, name: str | None = None) -> str:
        """Adds a constant."""
        name = name or f"constant{len(self.held)}"
        self.held[name] = np.asarray(array)
        return name

    def add(self, kind: str, *inputs: str, result: str | None = None, **attributes: Any) -> str:
        """Adds a node."""
        result = result or f"y{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [result], **attributes))
        return result

    def layer(self, x: str, name: str) -> str:
        """Adds a linear layer over the last axis."""
        matrix, bias = (self.hold(self.weights[f"{name}.{part}"], f"{name}.{part}") for part in "wb")
        return self.add("Add", self.add("MatMul", x, matrix), bias)

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

    def model(self, inputs: dict[str, Any], results: dict[str, Any]) -> ModelProto:
        """Returns the model; each input and result has its type and its shape behind the rows."""
        given, found = (
            [helper.make_tensor_value_info(name, kind, ["rows", *shape]) for name, (kind, shape) in named.items()]
            for named in (inputs, results)
        )
        held = [numpy_helper.from_array(array, name) for name, array in self.held.items()]
        graph = helper.make_graph(self.nodes, "net", given, found, held)
        opset = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opset, ir_version=IR, producer_name="dancfr")
