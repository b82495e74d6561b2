"""Benchmark of the forward pass of an advantage net, compared with its matrix products alone and other backends."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dancfr.bench.environment import play
from dancfr.bench.products import fastest, layer_products
from dancfr.bench.timing import joined, matrix_product, noise, rate, result, seconds_each
from dancfr.methods import find_preset
from envs.geister import Geister
from learners.networks.inference import Inference, encoder
from learners.networks.modules import ValueNet
from learners.networks.settings import NetworkSettings

GAMES = 512
COMPILING_TAKES = 5.0
"""Seconds below which the benchmark omits backends that need a C++ compiler."""


def measure(seconds: float) -> dict[str, Any]:
    """Measures rows/s of the nets of `geister-quick` and of the paper, from infostates to values of legal actions.

    Batches have 512 rows. The limit is the time of the layers' products alone, without encoding, activations,
    normalisation and copies: each layer at its size in this net, in the fastest of several ways in float32. Those ways
    include the omission of inputs that are 0 and of outputs that no legal action needs, since a forward pass that omits
    them exceeds every limit of dense products. A forward pass contains these products and more, so its ratio exceeds 1
    by the noise of the measurement at most.

    The detail has all backends. `ours dense`, our kernels without sparse inputs, and the backends of other libraries
    start from encoded inputs. It also has the rows/s of all multiplications, including those by zero, at the speed of a
    1024x1024 product, which is not a limit for the same reason.
    """
    presets = {"net of geister-quick": "geister-quick", "net of the paper": "geister-dream"}
    nets: dict[str, Any] = {case: find_preset(preset).config for case, preset in presets.items()}
    return joined(*(_measure(case, config.network, seconds / 2) for case, config in nets.items()))


def _measure(case: str, settings: NetworkSettings, seconds: float) -> dict[str, Any]:
    game, rng = Geister(), np.random.default_rng(0)
    states = game.reset(GAMES, rng)
    play(game, states, 40, rng)
    legal, packed = game.legal(states), game.observe(states, game.to_move(states))
    net = ValueNet(settings, game.spec).eval()
    features = game.encode(packed, settings.encoding)
    inference, encode = Inference(settings, [net.inference_weights()]), encoder(game, settings)
    slots = game.output_slots(packed, settings.outputs)

    def ours() -> None:
        inference.action_values([encode(packed)], game.output_slots(packed, settings.outputs), legal)

    calls: dict[str, Callable[[], object]] = {"ours": ours, "ours dense": lambda: inference([features[None]])}
    calls |= _torch_backends(net, features, compiling=seconds >= COMPILING_TAKES)
    session = _onnx_session(net, features)
    if session is not None:
        name = session.get_inputs()[0].name
        calls["ONNX Runtime"] = lambda: session.run(None, {name: features})
    products = layer_products(inference, encode(packed), slots, legal)
    parts = {f"{layer}: {way}": call for layer, ways in products.items() for way, call in ways.items()}
    times = seconds_each(calls | parts | {"large product": matrix_product()}, seconds)
    best = {layer: fastest({way: times[f"{layer}: {way}"] for way in ways}) for layer, ways in products.items()}
    rows = {name: round(rate(GAMES, times[name])) for name in calls}
    limit = round(GAMES / sum(taken for _, taken in best.values()))
    ratio = rows["ours"] / limit
    detail = {
        "limit": "the products of its layers alone, each in the fastest of several ways",
        "batch": GAMES,
        "rows/s": rows,
        "microseconds of the products": {f"{at}, {way}": round(1e6 * taken, 1) for at, (way, taken) in best.items()},
        "rows/s of a large product": round(rate(1024**3, times["large product"]) / multiplications_a_row(net)),
        "noise": noise(times["ours"]),
    }
    return result("inference", rows["ours"], "rows/s", limit, ratio, detail, case)


def _torch_backends(net: ValueNet, features: NDArray[np.float32], compiling: bool) -> dict[str, Callable[[], object]]:
    """Returns forward passes of torch, whose matrix products on CPUs are those of MKL or oneDNN."""
    given = torch.from_numpy(features)[None]

    def run(module: Any, bf16: bool) -> Callable[[], object]:
        def call() -> None:
            with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                module(given)

        return call

    calls = {"torch eager": run(net, False), "torch eager bf16": run(net, True)}
    if compiling:
        calls["torch.compile"] = run(torch.compile(net), False)
    return calls


def _onnx_session(net: ValueNet, features: NDArray[np.float32]) -> Any:
    """Returns the net in ONNX Runtime with one thread; None without the extra `bench`."""
    try:
        import onnxruntime

        from learners.networks.onnx_graph import value_graph
    except ModuleNotFoundError:
        return None
    weights = net.inference_weights()
    model = value_graph(net.settings, weights, features.shape[1:])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    ours = Inference(net.settings, [weights])([features[None]])[0]
    if not np.allclose(session.run(None, {"x": features})[0], ours, atol=1e-4):
        raise AssertionError("the outputs of ONNX Runtime differ from those of torch")
    return session


def multiplications_a_row(net: ValueNet) -> int:
    """Counts the multiplications of a forward pass per row; patches of a trunk count once per position."""
    total = 0

    def count(layer: Any, inputs: Any, _: Any) -> None:
        nonlocal total
        total += inputs[0].numel() // 2 * layer.out_features  # the forward pass has two rows

    hooks = [m.register_forward_hook(count) for m in net.modules() if isinstance(m, torch.nn.Linear)]
    shape = Geister().spec.shapes[net.settings.encoding]
    net(torch.zeros(1, 2, *shape))
    for hook in hooks:
        hook.remove()
    return total
