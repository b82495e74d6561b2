"""Benchmark of the self-play of Deep Monte-Carlo on GuanDan, compared with inference of the same rows."""

from typing import Any

import numpy as np

from actors.dmc import DmcPlayer
from actors.listed_play import ListedPlayer, SelfPlayTask, SelfPlayWeights
from dancfr.bench.timing import matrix_product, noise, rate, result, seconds_each
from dancfr.methods import find_preset
from dancfr.methods.dmc.config import DmcConfig
from envs.guandan import GuanDan
from envs.sparse import Sparse
from learners.listed.network import QNet
from learners.networks.q_inference import QInference

GAMES, FEW_GAMES = 16, 2
"""Rounds per timed call, and rounds per timed call of benchmarks of less than `SHORT` seconds."""
SHORT = 10.0


def measure(seconds: float) -> dict[str, Any]:
    """Measures decisions/s of self-play with the paper's network: rules, features, inference, choices and samples.

    The limit is inference alone, on the encoded decisions of the same self-play. As in self-play, the part of the
    first layer that depends on the state alone is computed once per state. The detail also has the network of
    `guandan-dmc-quick`.
    """
    paper = _measure("guandan-dmc", seconds * 0.7)
    quick = _measure("guandan-dmc-quick", seconds * 0.3)
    detail = {"limit": "inference of the same rows, encoded before", "paper": paper, "quick": quick}
    speed = paper["decisions/s"]
    return result("guandan-selfplay", speed, "decisions/s", speed / paper["ratio"], paper["ratio"], detail)


def _measure(preset: str, seconds: float) -> dict[str, Any]:
    config = find_preset(preset).config_as(DmcConfig)
    game = GuanDan(length="round", situation="drawn")
    weights = QNet(config.network, game.spec).inference_weights()
    player = _Player(game, config.network, config.epsilon)
    games = GAMES if seconds >= SHORT else FEW_GAMES
    task, carried = SelfPlayTask((1,), games, games), SelfPlayWeights(0, weights)
    stats, _ = player.play(task, carried)
    inputs, player.inputs = player.inputs, None
    inference = QInference(config.network, weights)

    def infer() -> None:
        for states, offsets, actions in inputs or []:
            inference(states, offsets, actions)

    times = seconds_each(
        {"play": lambda: player.play(task, carried), "infer": infer, "product": matrix_product()}, seconds
    )
    multiplications = sum(array.size for name, array in weights.items() if name.endswith(".w"))
    large = rate(1024**3, times["product"]) / multiplications
    return {
        "decisions/s": round(rate(int(stats["decisions"]), times["play"])),
        "samples/s": round(rate(int(stats["samples"]), times["play"])),
        "rows/s": round(rate(int(stats["rows"]), times["play"])),
        "inference rows/s": round(rate(int(stats["rows"]), times["infer"])),
        "rows/s of a large product": round(large),
        "rows a sample": round(stats["rows"] / stats["samples"], 1),
        "ratio": round(rate(1, times["play"]) / rate(1, times["infer"]), 3),
        "noise": noise(times["play"]),
    }


class Recorder(ListedPlayer):
    """Records the inputs of its network while `inputs` is a list."""

    inputs: list[tuple[np.ndarray, np.ndarray, Sparse]] | None = None

    def _make_inference(self, net: Any) -> Any:
        inference = super()._make_inference(net)
        self.inputs = []

        def call(states: Any, offsets: Any, actions: Any) -> Any:
            if self.inputs is not None:
                self.inputs.append((states, offsets, actions))
            return inference(states, offsets, actions)

        return call


class _Player(DmcPlayer, Recorder):
    """Plays epsilon-greedily and records the inputs of its net."""
