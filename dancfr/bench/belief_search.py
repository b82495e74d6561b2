"""Benchmark of self-play and searches with beliefs on full Geister, compared with bare inference."""

from typing import Any

import numpy as np

from actors.belief_search import BeliefSampler, BeliefTask
from dancfr.bench.environment import play
from dancfr.bench.timing import noise, rate, result, seconds_each
from dancfr.methods import find_preset
from dancfr.methods.belief_search.config import BeliefSearchConfig
from envs.geister import Geister
from learners.belief_search.policies import BeliefWeights
from learners.belief_search.view import BeliefGeister
from learners.networks.inference import Inference
from learners.networks.modules import ValueNet

ROWS = 512


def measure(seconds: float) -> dict[str, Any]:
    """Measures infostates/s evaluated by the nets of `geister-belief-search-quick`, in chunks of the preset's size.

    Almost all infostates are evaluated to compute likelihoods, up to 70 per move. The limit is bare inference: all
    outputs of the policy net on batches of 512 encoded infostates.
    """
    config = find_preset("geister-belief-search-quick").config_as(BeliefSearchConfig)
    game = Geister()
    view = BeliefGeister.of(game)
    policy, value = (ValueNet(n, view.spec).inference_weights() for n in (config.network, config.value_network))
    sampler = BeliefSampler(game, config.network, config.value_network, config.search)
    weights = BeliefWeights(1, policy, policy, value)
    task = BeliefTask((1,), 1, config.chunk, config.states * config.chunk // config.games)
    stats = sampler.sample(task, weights)[0]

    states = game.reset(ROWS, np.random.default_rng(0))
    play(game, states, 40, np.random.default_rng(0))
    features = view.encode(view.observe(states, game.to_move(states)))[None]
    net = Inference(config.network, [policy])
    times = seconds_each({"search": lambda: sampler.sample(task, weights), "bare": lambda: net([features])}, seconds)
    speed, bare = rate(stats["net_rows"], times["search"]), rate(ROWS, times["bare"])
    detail = {
        "limit": "all outputs of the policy net alone, batches of 512",
        "games a chunk": config.chunk,
        "decisions/s": round(rate(stats["decisions"], times["search"])),
        "belief states/s": round(rate(stats["states"], times["search"])),
        "infostates a decision": round(stats["net_rows"] / stats["decisions"], 1),
        "noise": noise(times["search"]),
    }
    return result("belief-search", speed, "infostates/s", bare, speed / bare, detail)
