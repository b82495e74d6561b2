"""Benchmark of policy gradients on Geister: self-play and learning together, compared with their nets alone."""

from typing import Any

import numpy as np

from actors.trajectories import TrajectoryPlayer
from actors.trajectory_tasks import LEARNER, TrajectoryTask, TrajectoryWeights
from dancfr.bench.timing import noise, rate, result, seconds_each
from dancfr.games.registry import make_game
from dancfr.methods import find_preset
from dancfr.methods.policy_gradient.config import PolicyGradientConfig
from envs.game import numbered
from learners.policy_gradient.learner import PolicyLearner
from learners.policy_gradient.policy import PolicyInference
from learners.samples import unpack_mask

PRESET = "geister-policy-gradient-quick"


def measure(seconds: float) -> dict[str, Any]:
    """Measures decisions/s of one core that plays chunks of self-play and trains on them, with the quick preset's net.

    The limit is the same without games, samples and advantages: inference of the chunk's infostates, in batches of as
    many games, and the fit of its samples.
    """
    config = find_preset(PRESET).config_as(PolicyGradientConfig)
    game = numbered(make_game(config.game, **config.game_options))
    learner = PolicyLearner(game, config.network, config.training, seed=1)
    weights = TrajectoryWeights(1, config.network, (learner.weights(),))
    player = TrajectoryPlayer(game, config.training.discount, config.training.trace)
    task = TrajectoryTask((1, 1, 0), ((config.chunk, (LEARNER,) * game.spec.num_players),))
    stats, blocks = player.play(task, weights)
    rows = blocks["net0"]
    infer = PolicyInference(game, config.network, weights.nets[0])
    legal = unpack_mask(rows["legal"], game.spec.num_actions)
    infostates = np.ascontiguousarray(rows["infostate"])
    cuts = range(0, len(rows), config.chunk)

    def evaluate() -> None:
        for first in cuts:
            infer(infostates[first : first + config.chunk], legal[first : first + config.chunk])

    times = seconds_each(
        {"play": lambda: player.play(task, weights), "infer": evaluate, "fit": lambda: learner.fit([rows], 1)}, seconds
    )
    decisions = stats["decisions"]
    both = [play + fit for play, fit in zip(times["play"], times["fit"], strict=True)]
    bare = [play + fit for play, fit in zip(times["infer"], times["fit"], strict=True)]
    speed, limit = rate(decisions, both), rate(decisions, bare)
    detail = {
        "limit": "inference of the same infostates and the fit alone",
        "self-play decisions/s": round(rate(decisions, times["play"])),
        "inference decisions/s": round(rate(decisions, times["infer"])),
        "learner decisions/s": round(rate(decisions, times["fit"])),
        "noise": noise(both),
    }
    return result("policy-gradient", speed, "decisions/s", limit, speed / limit, detail)
