"""Benchmark of a move by the average policy of many networks."""

from typing import Any

import numpy as np

from dancfr.bench.timing import noise, rate, result, seconds_each
from dancfr.methods import find_preset
from envs.geister import Geister
from learners.dream.agent import DreamAgent
from learners.networks.modules import ValueNet
from learners.networks.settings import NetworkSettings

NETS = 200


def measure(seconds: float) -> dict[str, Any]:
    """Measures milliseconds per move in one game by the exact average of 200 nets of the paper's size.

    The limit is reading the weights of all nets from memory once. Nets of `geister-quick` read only the weights of
    nonzero inputs and legal actions, so they may be faster than this limit.
    """
    paper: Any = find_preset("geister-dream").config
    quick: Any = find_preset("geister-quick").config
    ours = _measure(paper.network, seconds / 2)
    detail = {
        "limit": "reading all weights once",
        "nets": NETS,
        "paper": ours,
        "quick": _measure(quick.network, seconds / 2),
    }
    return result("average-policy", ours["ms"], "ms", ours["limit"], ours["limit"] / ours["ms"], detail)


def _measure(network: NetworkSettings, seconds: float) -> dict[str, Any]:
    game, rng = Geister(), np.random.default_rng(1)
    net = ValueNet(network, game.spec).inference_weights()
    nets = [(t + 1, {name: array + np.float32(1e-3 * t) for name, array in net.items()}) for t in range(NETS)]
    agent = DreamAgent(game, network, {0: nets, 1: nets}, "exact")
    agent.begin(game, 1, rng)
    board, place = game.reset(1, rng), np.zeros(1, np.int64)

    def move() -> None:
        nonlocal board
        if game.finished(board)[0]:
            agent.begin(game, 1, rng)
            board = game.reset(1, rng)
        game.step(board, agent.act(board, place, rng))

    weights = np.concatenate([array.ravel() for _, arrays in nets for array in arrays.values()])
    times = seconds_each({"move": move, "read": lambda: weights @ weights}, seconds)
    return {
        "ms": 1e3 / rate(1, times["move"]),
        "limit": 1e3 / rate(1, times["read"]),
        "megabytes": round(weights.nbytes / 1e6, 1),
        "noise": noise(times["move"]),
    }
