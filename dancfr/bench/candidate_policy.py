"""Benchmark of policies over candidates on GuanDan: self-play and learning together, compared with their nets alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from actors.candidate_policy import CandidatePolicyPlayer
from actors.listed_play import SelfPlayTask, SelfPlayWeights
from dancfr.bench.self_play import Recorder
from dancfr.bench.timing import noise, rate, result, seconds_each
from dancfr.games.registry import make_game
from dancfr.methods import find_preset
from dancfr.methods.candidate_policy.config import CandidatePolicyConfig
from envs.capabilities import FullListedGame
from learners.candidate_policy.learner import CandidatePolicyLearner
from learners.listed.critic import without_critic
from learners.networks.q_inference import QInference

PRESET = "guandan-quick"
MINIBATCHES = 2
GAMES = 8
"""Rounds per timed call of benchmarks of less than `SHORT` seconds."""
SHORT = 10.0


def measure(seconds: float) -> dict[str, Any]:
    """Measures samples/s of one core that plays rounds and trains on them, with the quick preset's nets.

    As in the preset, the learner trains on a number of rows for each sample. The limit is the same without games,
    inputs, critic's advantages and samples: inference of the rounds' decisions and training steps on the rows, all
    encoded before.
    """
    config = find_preset(PRESET).config_as(CandidatePolicyConfig)
    game = make_game(config.game, **config.game_options)
    assert isinstance(game, FullListedGame)
    learner, bare = (kind(game, config.network, config.training, seed=1) for kind in (CandidatePolicyLearner, _Encoded))
    weights = SelfPlayWeights(1, learner.weights())
    player = _Player(game, config.network, config.training.proposals, config.training.trace)
    task = SelfPlayTask((1,), config.chunk if seconds >= SHORT else GAMES, config.tables)
    stats, blocks = player.play(task, weights)
    recorded, player.inputs = player.inputs or [], None
    inference = QInference(config.network, without_critic(weights.net))
    draws = np.random.default_rng(1).integers(0, len(blocks["values"]), (MINIBATCHES, config.training.batch))
    batches = [blocks["values"][rows] for rows in draws]

    def infer() -> None:
        for states, offsets, actions in recorded:
            inference(states, offsets, actions)

    calls = {
        "play": lambda: player.play(task, weights),
        "infer": infer,
        "fit": lambda: learner.fit(batches, 1),
        "bare fit": lambda: bare.fit(batches, 1),
    }
    times = seconds_each(calls, seconds)
    samples, games, training = stats["samples"], stats["games"], config.training
    rows = training.batch * training.minibatches / (config.games * samples / games)  # that are trained on for a sample
    fits = rows * samples / draws.size  # timed fits for the samples of a timed chunk
    both = [play + fits * fit for play, fit in zip(times["play"], times["fit"], strict=True)]
    nets = [play + fits * fit for play, fit in zip(times["infer"], times["bare fit"], strict=True)]
    speed, limit = rate(samples, both), rate(samples, nets)
    detail = {
        "limit": "inference and training steps of the same rows, encoded before",
        "rows trained on for a sample": round(rows, 2),
        "self-play samples/s": round(rate(samples, times["play"])),
        "inference samples/s": round(rate(samples, times["infer"])),
        "learner rows/s": round(rate(draws.size, times["fit"])),
        "training steps' rows/s": round(rate(draws.size, times["bare fit"])),
        "noise": noise(both),
    }
    return result("guandan-policy", speed, "samples/s", limit, speed / limit, detail)


class _Player(CandidatePolicyPlayer, Recorder):
    """Plays by a policy and records the inputs of its net."""


class _Encoded(CandidatePolicyLearner):
    """Remembers the inputs of its first fit, and trains on them from then on."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._kept: dict[int, list[Tensor]] = {}

    def _inputs(self, piece: NDArray[np.void], offsets: NDArray[np.int64], owner: NDArray[np.int64]) -> list[Tensor]:
        key = hash(piece["log_probability"].tobytes())
        if key not in self._kept:
            self._kept[key] = super()._inputs(piece, offsets, owner)
        return self._kept[key]
