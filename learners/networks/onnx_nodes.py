"""Builds ONNX graphs node by node."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, helper, numpy_helper

from learners.networks.settings import Weights

OPSET, IR = 17, 9
"""Versions that ONNX Runtime reads since 1.15."""

Tensor = tuple[int, Sequence[int | str]]
"""Type of a tensor, of `onnx.TensorProto`, and its shape, in which a name stands for any size."""


class Graph:
    """A graph that grows by a node at a time. Nodes take names of results and give the name of theirs.

    Args:
        weights: Arrays of linear layers: ``name.w``, `[in, out]`, and ``name.b``.
    """

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
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

    def model(self, inputs: Mapping[str, Tensor], results: Mapping[str, Tensor]) -> ModelProto:
        """Returns the model with these inputs and results."""
        given, found = (
            [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in named.items()]
            for named in (inputs, results)
        )
        held = [numpy_helper.from_array(array, name) for name, array in self.held.items()]
        graph = helper.make_graph(self.nodes, "net", given, found, held)
        opset = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opset, ir_version=IR, producer_name="dancfr")
