"""Q-nets over listed actions as ONNX graphs. `D` decisions, `N` choices of all of them, `F` and `A` inputs of each."""

from onnx import ModelProto, TensorProto

from learners.listed.settings import QNetworkSettings
from learners.networks.onnx_nodes import Graph, Tensor
from learners.networks.settings import Weights


def q_graph(settings: QNetworkSettings, weights: Weights) -> ModelProto:
    """Returns a Q-net as a graph from decisions and their choices to values.

    Its inputs are ``x``, the encoded states, `float32[D, F]`; ``choices``, the encoded choices of all states,
    `float32[N, A]`; and ``decision``, the row of ``x`` to which each choice belongs, `int64[N]`. Its result is
    ``value``, `float32[N]`. As in `learners.networks.q_inference`, layers that see the state alone run once for each.

    Args:
        settings: Settings of the net.
        weights: From `QNet.inference_weights`.
    """
    graph, squash = Graph(weights), "Tanh" if settings.activation == "tanh" else "Relu"
    x = "x"
    for i in range(settings.tower):
        x = graph.add(squash, graph.layer(x, f"tower{i}"))
    state = graph.add("MatMul", x, graph.hold(weights["state.w"], "state.w"))
    state = graph.add("Add", state, graph.hold(weights["hidden0.b"], "hidden0.b"))
    choice = graph.add("MatMul", "choices", graph.hold(weights["action.w"], "action.w"))
    y = graph.add(squash, graph.add("Add", graph.add("Gather", state, "decision", axis=0), choice))
    for i in range(1, settings.depth):
        y = graph.add(squash, graph.layer(y, f"hidden{i}"))
    graph.add("Squeeze", graph.layer(y, "out"), graph.hold([1]), result="value")
    features = len(weights["tower0.w" if settings.tower else "state.w"]), len(weights["action.w"])
    inputs: dict[str, Tensor] = {
        "x": (TensorProto.FLOAT, ["decisions", features[0]]),
        "choices": (TensorProto.FLOAT, ["choices", features[1]]),
        "decision": (TensorProto.INT64, ["choices"]),
    }
    return graph.model(inputs, {"value": (TensorProto.FLOAT, ["choices"])})
