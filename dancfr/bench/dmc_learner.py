"""Benchmark of Deep Monte-Carlo's learner on samples of GuanDan, and of its network over lists of actions."""

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dancfr.bench.timing import matrix_product, noise, rate, result, seconds_each
from envs.guandan.game import GuanDan
from envs.ragged import choose_rows, take_lists
from envs.sparse import Sparse
from learners.dmc.learner import QLearner
from learners.dmc.settings import DmcTrainingSettings
from learners.listed.network import QNet
from learners.listed.settings import QNetworkSettings
from learners.networks.q_inference import QInference
from learners.networks.torch_q_inference import TorchQInference
from learners.samples import pack_actions, value_dtype

TABLES = 512
DECISIONS = 64
WHOLE_BATCH_TAKES = 30.0
"""Seconds below which the benchmark trains on minibatches of `SHORT` rows."""

SHORT, TORCH_ROWS, BF16_ROWS = 2048, 4096, 64

Lists = tuple[NDArray[np.float32], NDArray[np.int64], Sparse]


def measure(seconds: float) -> dict[str, Any]:
    """Measures rows/s of a fit with the network and minibatch of paper 004, from packed samples to updated weights.

    The limit is the multiplications of the forward and backward passes, without the unused gradient of the inputs, at
    the speed of a large float32 matrix product. In the detail, ``torch`` is a step of torch modules over all rows
    in one batch, on dense inputs (fewer rows with bfloat16), and ``inference`` is a forward pass over the lists of
    actions of `DECISIONS` decisions.
    """
    learner = _learner(seconds * 0.7, DmcTrainingSettings().batch if seconds >= WHOLE_BATCH_TAKES else SHORT)
    detail = {
        "limit": "its multiplications at the speed of a 1024x1024 matrix product",
        **learner,
        "inference": _inference(seconds * 0.3),
    }
    if torch.cuda.is_available():
        detail["cuda"] = _on_cuda(seconds / 2)
    return result("dmc-learner", learner["rows/s"], "rows/s", learner["limit rows/s"], learner["ratio"], detail)


def samples(game: GuanDan, tables: int, rng: np.random.Generator) -> NDArray[np.void]:
    """Returns rows of `value_dtype` for all decisions with a choice in rounds of random play."""
    states, blocks, who = game.reset(tables, rng), [], []
    while not game.finished(states).all():
        choices, mover = game.choices(states), game.to_move(states)
        picked = choose_rows(choices.offsets, rng.random(tables))
        asked = np.flatnonzero((np.diff(choices.offsets) > 1) & ~game.scripted(states))
        block = np.zeros(len(asked), value_dtype(game.spec, game.action_dtype))
        block["infostate"] = game.observe(states[asked], mover[asked])
        block["action"] = pack_actions(choices.rows[picked[asked]])
        game.step(states, choices.rows[picked])
        blocks.append(block)
        who.append((asked, mover[asked]))
    returns = game.returns(states)
    for block, seats in zip(blocks, who, strict=True):
        block["target"] = returns[seats]
    return np.concatenate(blocks)


def lists(game: GuanDan, decisions: int, rng: np.random.Generator) -> Lists:
    """Returns states, offsets and actions of decisions in rounds of random play, as inputs of a network."""
    states, seen = game.reset(decisions, rng), []
    while not game.finished(states).all():
        seen.append(states.copy())
        choices = game.choices(states)
        game.step(states, choices.rows[choose_rows(choices.offsets, rng.random(decisions))])
    states = np.concatenate(seen)
    choices = game.choices(states)
    asked = rng.choice(np.flatnonzero((np.diff(choices.offsets) > 1) & ~game.scripted(states)), decisions)
    taken, _ = take_lists(choices, asked)
    packed = game.observe(states[asked], game.to_move(states[asked]))
    return game.encode(packed), taken.offsets, game.encode_actions(taken.rows)


def _learner(seconds: float, batch: int) -> dict[str, Any]:
    game, network, rng = GuanDan(), QNetworkSettings(), np.random.default_rng(0)
    played = samples(game, TABLES, rng)
    rows = played[rng.integers(0, len(played), batch)]
    learner = QLearner(game, network, DmcTrainingSettings(batch=batch))
    steps = {
        "float32": _torch_step(game, network, rows[:TORCH_ROWS], False),
        "bf16": _torch_step(game, network, rows[:BF16_ROWS], True),
    }
    times = seconds_each({"fit": lambda: learner.fit([rows], 1), "product": matrix_product(), **steps}, seconds)
    weights = learner.weights()
    forward = sum(array.size for name, array in weights.items() if name.endswith(".w"))
    multiplications = 3 * forward - weights["state.w"].size - weights["action.w"].size
    flops = rate(2 * 1024**3, times["product"])
    speed, limit = rate(batch, times["fit"]), flops / (2 * multiplications)
    return {
        "batch": batch,
        "rows/s": round(speed),
        "limit rows/s": round(limit),
        "ratio": round(speed / limit, 3),
        "torch rows/s": {
            "float32": round(rate(min(batch, TORCH_ROWS), times["float32"])),
            "bf16": round(rate(BF16_ROWS, times["bf16"])),
        },
        "multiplications a row": multiplications,
        "FLOP/s of the product": round(flops),
        "noise": noise(times["fit"]),
    }


def _torch_step(game: GuanDan, network: QNetworkSettings, rows: NDArray[np.void], bf16: bool) -> Callable[[], object]:
    """Returns a function that runs forward pass, backward pass and RMSProp in torch."""
    net = QNet(network, game.spec)
    optimiser = torch.optim.RMSprop(net.parameters(), lr=1e-3, eps=1e-5)
    states = torch.from_numpy(game.encode(np.ascontiguousarray(rows["infostate"])))
    pairs = torch.cat([states, torch.zeros(len(rows), game.spec.action_features)], dim=1)
    target = torch.from_numpy(np.ascontiguousarray(rows["target"]))

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            values = net(pairs).float()
        optimiser.zero_grad(set_to_none=True)
        (values - target).square().mean().backward()
        optimiser.step()

    return step


def _inference(seconds: float) -> dict[str, Any]:
    """Measures actions/s of the network; the limit counts the state's part of the first layer once per state."""
    game, network, rng = GuanDan(), QNetworkSettings(), np.random.default_rng(1)
    weights = QNet(network, game.spec).inference_weights()
    given, few = lists(game, DECISIONS, rng), lists(game, DECISIONS // 8, rng)
    count = len(given[2].place)
    calls: dict[str, Callable[[], object]] = {
        "ours": partial(QInference(network, weights), *given),
        "torch": partial(TorchQInference(network, weights), *given),
        "torch bf16": partial(TorchQInference(network, weights, bf16=True), *few),
        "product": matrix_product(),
    }
    times = seconds_each(calls, seconds)
    state = weights["state.w"].size
    action = sum(array.size for name, array in weights.items() if name.endswith(".w")) - state
    limit = count * rate(1024**3, times["product"]) / (DECISIONS * state + count * action)
    ours = rate(count, times["ours"])
    return {
        "decisions": DECISIONS,
        "actions": count,
        "actions/s": {
            "ours": round(ours),
            "torch": round(rate(count, times["torch"])),
            "torch bf16": round(rate(len(few[2].place), times["torch bf16"])),
        },
        "limit actions/s": round(limit),
        "ratio": round(ours / limit, 3),
        "noise": noise(times["ours"]),
    }


def _on_cuda(seconds: float) -> dict[str, Any]:
    """Measures rows/s of a fit and actions/s of the network on a GPU, by precision; empty without a GPU."""
    game, network, rng = GuanDan(), QNetworkSettings(), np.random.default_rng(2)
    training = DmcTrainingSettings()
    played = samples(game, TABLES, rng)
    rows = played[rng.integers(0, len(played), training.batch)]
    weights, given = QNet(network, game.spec).inference_weights(), lists(game, 8 * TABLES, rng)
    calls: dict[str, Callable[[], object]] = {}
    for precision in ("float32", "bf16"):
        bf16 = precision == "bf16"
        settings = training.model_copy(update={"bf16": bf16})
        calls[f"fit {precision}"] = partial(
            QLearner(game, network, settings, device=torch.device("cuda")).fit, [rows], 1
        )
        calls[f"inference {precision}"] = partial(TorchQInference(network, weights, "cuda", bf16), *given)
    times = seconds_each(calls, seconds, clock=perf_counter)
    work = {name: len(rows) if name.startswith("fit") else len(given[2].place) for name in calls}
    return {
        "device": torch.cuda.get_device_name(),
        "decisions": 8 * TABLES,
        "rows/s": {name: round(rate(work[name], each)) for name, each in times.items()},
    }
