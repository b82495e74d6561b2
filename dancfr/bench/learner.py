"""Benchmark of DREAM's learners on real samples, compared with a large matrix product and with steps of torch."""

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from actors.dream.traversal import DreamTraverser, TraversalTask, TraversalWeights
from dancfr.bench.inference import COMPILING_TAKES, multiplications_a_row
from dancfr.bench.timing import matrix_product, noise, rate, result, seconds_each
from dancfr.methods import find_preset
from dancfr.methods.dream.config import DreamConfig
from envs.geister import Geister
from learners.deep_cfr.advantage import AdvantageLearner
from learners.dream.baseline import BaselineLearner
from learners.networks.modules import ValueNet

BATCHES = 4


def measure(seconds: float) -> dict[str, Any]:
    """Measures rows/s of an advantage fit with the paper's net and batch; the detail has `geister-quick` and baselines.

    The limit is derived from the FLOP/s of a large float32 matrix product: a row takes three times the multiplications
    of a forward pass, with two operations each. In the detail, ``torch`` is a step of the bare network on dense inputs
    with all outputs as targets, and ``inputs`` are the rows for which one core encodes infostates and output slots:
    what a GPU cannot exceed, since it is the CPU that does this for it.
    """
    paper, quick = _measure("geister-dream", seconds / 2), _measure("geister-quick", seconds / 2)
    detail = {"limit": "FLOP/s of a 1024x1024 matrix product", "paper": paper, "quick": quick}
    cuda = _on_cuda(seconds / 2)
    if cuda:
        detail["cuda"] = cuda
    return result("dream-learner", paper["rows/s"], "rows/s", paper["limit"], paper["ratio"], detail)


def _samples(preset: str) -> tuple[Any, dict[str, NDArray[np.void]]]:
    """Returns the configuration of a preset, and `BATCHES` minibatches of samples of each kind from uniform play."""
    config = find_preset(preset).config_as(DreamConfig)
    traverser = DreamTraverser(Geister(), config.network, config.baseline_network, config.sampling)
    _, block = traverser.traverse(TraversalTask((1,), 1, 0, 512), TraversalWeights(0, (None, None), None))
    rng, count = np.random.default_rng(1), BATCHES * config.advantage_training.batch
    return config, {part: records[rng.integers(0, len(records), count)] for part, records in block.items()}


def _measure(preset: str, seconds: float) -> dict[str, Any]:
    config, rows = _samples(preset)
    game, batch = Geister(), config.advantage_training.batch
    advantage = AdvantageLearner(game, config.network, config.advantage_training)
    baseline = BaselineLearner(game, config.baseline_network, config.baseline_training)
    features = game.encode(np.ascontiguousarray(rows["advantages"]["infostate"][:batch]), config.network.encoding)
    others = _torch_steps(ValueNet(config.network, game.spec), features, compiling=seconds >= COMPILING_TAKES)
    times = seconds_each(
        {
            "advantage": lambda: advantage.fit([rows["advantages"]], 1),
            "baseline": lambda: baseline.fit([rows["transitions"]], 1),
            "product": matrix_product(),
            "advantage inputs": partial(_encode, advantage, [rows["advantages"]["infostate"]]),
            "baseline inputs": partial(_encode, baseline, _pairs(rows["transitions"])),
            **others,
        },
        seconds,
    )
    multiplications = multiplications_a_row(ValueNet(config.network, game.spec))
    flops = rate(2 * 1024**3, times["product"])
    speed, limit = rate(BATCHES * batch, times["advantage"]), flops / (6 * multiplications)
    return {
        "batch": batch,
        "rows/s": round(speed),
        "limit": round(limit),
        "ratio": round(speed / limit, 3),
        "baseline rows/s": round(rate(BATCHES * batch, times["baseline"])),
        "inputs rows/s": {n: round(rate(BATCHES * batch, times[f"{n} inputs"])) for n in ("advantage", "baseline")},
        "torch rows/s": {name: round(rate(batch, times[name])) for name in others},
        "multiplications a row": multiplications,
        "FLOP/s": round(speed * 6 * multiplications),
        "FLOP/s of the product": round(flops),
        "noise": noise(times["advantage"]),
    }


def _pairs(transitions: NDArray[np.void]) -> list[NDArray[np.uint8]]:
    """The infostates of both players, before and after each action."""
    return [transitions[name][:, view] for name in ("infostates", "next_infostates") for view in (0, 1)]


def _encode(learner: AdvantageLearner | BaselineLearner, views: Sequence[NDArray[np.uint8]]) -> None:
    """Encodes the infostates of rows, and every other view's output slots, a minibatch at a time as a fit does."""
    batch = learner.trainer.settings.batch
    for start in range(0, len(views[0]), batch):
        parts = [np.ascontiguousarray(view[start : start + batch]) for view in views]
        for part in parts:
            learner.encode(part)
        for part, other in zip(parts[::2], parts[1::2] or (None,), strict=True):
            learner.game.output_slots(part, learner.network.outputs, other)


def _torch_steps(net: ValueNet, features: NDArray[np.float32], compiling: bool) -> dict[str, Callable[[], object]]:
    """Returns functions that run forward pass, backward pass and Adam in torch, with all outputs as targets."""
    optimiser = torch.optim.Adam(net.parameters(), fused=True)
    given = torch.from_numpy(features)[None]

    def step(module: Any, bf16: bool) -> Callable[[], object]:
        def call() -> None:
            with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                outputs = module(given).float()
            optimiser.zero_grad(set_to_none=True)
            outputs.square().mean().backward()
            optimiser.step()

        return call

    steps = {"eager": step(net, False), "eager bf16": step(net, True)}
    if compiling:
        steps["torch.compile"] = step(torch.compile(net), False)
    return steps


def _on_cuda(seconds: float) -> dict[str, Any]:
    """Measures rows/s of both learners on a GPU with the paper's net, by precision; empty without a GPU."""
    if not torch.cuda.is_available():
        return {}
    config, rows = _samples("geister-dream")
    calls: dict[str, Callable[[], object]] = {}
    for precision in ("float32", "bf16"):
        training = config.advantage_training.model_copy(update={"bf16": precision == "bf16"})
        device = torch.device("cuda")
        advantage = AdvantageLearner(Geister(), config.network, training, device=device)
        baseline = BaselineLearner(Geister(), config.baseline_network, training, device=device)
        calls[f"advantage {precision}"] = partial(advantage.fit, [rows["advantages"]], 1)
        calls[f"baseline {precision}"] = partial(baseline.fit, [rows["transitions"]], 1)
    times = seconds_each(calls, seconds, clock=perf_counter)
    work = BATCHES * config.advantage_training.batch
    return {"device": torch.cuda.get_device_name(), "rows/s": {n: round(rate(work, t)) for n, t in times.items()}}
