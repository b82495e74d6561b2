"""Benchmark of DREAM's traversals, compared with bare inference."""

from typing import Any

import numpy as np

from actors.dream.traversal import DreamTraverser, TraversalTask, TraversalWeights
from dancfr.bench.environment import play
from dancfr.bench.timing import joined, noise, rate, result, seconds_each
from dancfr.methods import find_preset
from envs.geister import Geister
from learners.dream.settings import SamplingSettings
from learners.networks.inference import Inference, encoder
from learners.networks.modules import ValueNet
from learners.networks.settings import NetworkSettings

GAMES = 512


def measure(seconds: float) -> dict[str, Any]:
    """Measures decisions/s with the nets of `geister-quick` and with those of the paper.

    The limit is bare inference: all outputs of the advantage net on batches of 512 encoded infostates. A traversal also
    evaluates the baseline net at every decision, but skips inputs that are 0 and outputs of illegal actions. In the
    detail, ``inference needed`` is the inference of both nets with the same omissions, and ``outputs by square`` has
    nets with another layout of outputs.
    """
    quick: Any = find_preset("geister-quick").config
    paper: Any = find_preset("geister-dream").config
    square = NetworkSettings.model_validate(quick.network.model_dump() | {"outputs": "square"})
    details = {
        "net of geister-quick": _measure(quick.network, quick.sampling, seconds * 0.4),
        "net of the paper": _measure(paper.network, paper.sampling, seconds * 0.4),
    }
    details["net of geister-quick"]["outputs by square"] = _measure(square, quick.sampling, seconds * 0.2)
    return joined(*(_row(case, detail) for case, detail in details.items()))


def _row(case: str, measured: dict[str, Any]) -> dict[str, Any]:
    speed, bare = measured["decisions/s"], measured["bare inference"]
    detail = {"limit": "all outputs of the advantage net alone, batches of 512", "games": GAMES, **measured}
    return result("dream-traversal", speed, "decisions/s", bare, measured["ratio"], detail, case)


def _measure(settings: NetworkSettings, sampling: SamplingSettings, seconds: float) -> dict[str, Any]:
    game = Geister()
    nets = [ValueNet(settings, game.spec, views).inference_weights() for views in (1, 1, 2)]
    traverser = DreamTraverser(game, settings, settings, sampling, GAMES)
    weights = TraversalWeights(1, (nets[0], nets[1]), nets[2])
    task = TraversalTask((1,), 1, 0, 2 * GAMES)
    decisions = traverser.traverse(task, weights)[0]["decisions"]

    states = game.reset(GAMES, np.random.default_rng(0))
    play(game, states, 40, np.random.default_rng(0))
    mover, legal = game.to_move(states), game.legal(states)
    packed, other = game.observe(states, mover), game.observe(states, 1 - mover)
    features = game.encode(packed, settings.encoding)[None]
    encode, slots = encoder(game, settings), game.output_slots(packed, settings.outputs)
    advantage, baseline = Inference(settings, nets[:1]), Inference(settings, nets[2:])

    def needed() -> None:
        advantage.action_values([encode(packed)], slots, legal)
        baseline.action_values([encode(packed), encode(other)], slots, legal)

    calls = {
        "traversal": lambda: traverser.traverse(task, weights),
        "bare": lambda: advantage([features]),
        "needed": needed,
    }
    times = seconds_each(calls, seconds)
    speed, bare = rate(decisions, times["traversal"]), rate(GAMES, times["bare"])
    both = rate(GAMES, times["needed"])
    return {
        "decisions/s": round(speed),
        "bare inference": round(bare),
        "ratio": round(speed / bare, 3),
        "inference needed": round(both),
        "ratio to it": round(speed / both, 3),
        "noise": noise(times["traversal"]),
    }
