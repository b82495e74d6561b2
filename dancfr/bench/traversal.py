"""DREAM's traversals beside the inference that they cannot do without."""

from typing import Any

import numpy as np

from actors.traversal import DreamTraverser, TraversalTask, TraversalWeights
from dancfr.bench.timing import noise, rate, result, seconds_each
from dancfr.presets import PRESETS
from envs.geister import Geister
from learners.networks.inference import Inference
from learners.networks.modules import ValueNet

GAMES = 512


def measure(seconds: float) -> dict[str, Any]:
    """Decisions/s with the nets of `geister-quick`; those of the paper in the detail.

    The limit is bare inference: the advantage net alone on batches of 512 encoded infostates.
    """
    quick, paper = _measure("geister-quick", seconds / 2), _measure("geister-dream", seconds / 2)
    return result(
        "dream-traversal",
        quick["decisions_per_second"],
        "decisions/s",
        quick["advantage_net_rows_per_second"],
        quick["ratio"],
        {"games": GAMES, "limit": "the advantage net alone, batches of 512", "quick": quick, "paper": paper},
    )


def _measure(preset: str, seconds: float) -> dict[str, Any]:
    config: Any = PRESETS[preset].config
    game, settings = Geister(), config.network
    nets = [ValueNet(settings, game.spec, views).inference_weights() for views in (1, 1, 2)]
    traverser = DreamTraverser(game, settings, settings, config.sampling, GAMES)
    weights = TraversalWeights(1, (nets[0], nets[1]), nets[2])
    task = TraversalTask((1,), 1, 0, 2 * GAMES)
    decisions = traverser.traverse(task, weights)[0]["decisions"]

    states = game.reset(GAMES, np.random.default_rng(0))
    infostates = game.encode(game.observe(states, states["to_move"]), settings.encoding)[None]
    one, both = Inference(settings, nets[:1]), Inference(settings, nets[2:])
    times = seconds_each(
        {
            "traversal": lambda: traverser.traverse(task, weights),
            "advantage": lambda: one([infostates]),
            "baseline": lambda: both([infostates, infostates]),
        },
        seconds / 3,
    )
    bare, baseline = rate(GAMES, times["advantage"]), rate(GAMES, times["baseline"])
    needed = 1 / (1 / bare + 1 / baseline)
    speed = rate(decisions, times["traversal"])
    return {
        "decisions_per_second": speed,
        "advantage_net_rows_per_second": bare,
        "ratio": speed / bare,
        "ratio_to_both_nets": speed / needed,
        "noise": noise(times["traversal"]),
    }
