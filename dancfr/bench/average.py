"""A move by the average of many networks."""

from typing import Any

import numpy as np

from dancfr.bench.timing import noise, rate, result, seconds_each
from dancfr.presets import PRESETS
from envs.geister import Geister
from learners.dream.agent import DreamAgent
from learners.networks.modules import ValueNet

NETS = 200


def measure(seconds: float) -> dict[str, Any]:
    """Milliseconds of one move on one board by the exact average of 200 nets of the paper, for one player.

    The limit is reading the stacked weights once from memory.
    """
    paper, quick = _measure("geister-dream", seconds / 2), _measure("geister-quick", seconds / 2)
    return result(
        "average-policy",
        paper["ms"],
        "ms",
        paper["limit_ms"],
        paper["limit_ms"] / paper["ms"],
        {"nets": NETS, "limit": "reading all weights once", "paper": paper, "quick": quick},
    )


def _measure(preset: str, seconds: float) -> dict[str, Any]:
    config: Any = PRESETS[preset].config
    game, rng = Geister(), np.random.default_rng(1)
    net = ValueNet(config.network, game.spec)
    nets = [(t + 1, {k: v + np.float32(1e-3 * t) for k, v in net.inference_weights().items()}) for t in range(NETS)]
    agent = DreamAgent(game, config.network, {0: nets, 1: nets[:1]}, "exact")
    agent.begin(game, 1, rng)
    board, place = game.reset(1, rng), np.zeros(1, np.int64)
    weights = np.concatenate([np.concatenate([a.ravel() for a in arrays.values()]) for _, arrays in nets])
    times = seconds_each({"move": lambda: agent.act(board, place, rng), "read": lambda: weights.sum()}, seconds / 2)
    return {
        "ms": 1e3 / rate(1, times["move"]),
        "limit_ms": 1e3 / rate(1, times["read"]),
        "megabytes": weights.nbytes / 1e6,
        "noise": noise(times["move"]),
    }
