"""Small nets with random weights, for tests of agents that play by them."""

from typing import Any

from envs.geister import Geister
from learners.belief_search.policies import BeliefPolicies, BeliefWeights
from learners.belief_search.view import BeliefGeister
from learners.networks.modules import ValueNet
from learners.networks.settings import NetworkSettings

NETWORK = NetworkSettings(trunk="flat", width=16, depth=2, norm="layer", outputs="move")
VALUE = NETWORK.model_copy(update={"outputs": "value"})


def random_weights(game: Geister, seed: int = 0) -> BeliefWeights:
    """Nets that play far from uniformly."""
    import torch

    def net(settings: NetworkSettings, scale: float) -> Any:
        made = ValueNet(settings, BeliefGeister.of(game).spec)
        weights = made.inference_weights()
        return weights | {"out.w": weights["out.w"] * scale}

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return BeliefWeights(1, net(NETWORK, 3.0), net(NETWORK, 5.0), net(VALUE, 1.0))


def policies_of(game: Geister, weights: BeliefWeights) -> BeliefPolicies:
    return BeliefPolicies(BeliefGeister.of(game), NETWORK, VALUE, weights)
