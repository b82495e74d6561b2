"""The shapes by which stored nets are checked are those of fresh nets."""

import numpy as np
import pytest

from dancfr.games.registry import make_game
from dancfr.methods.stored import policy_net_shapes, value_net_shapes
from envs.game import numbered
from learners.networks.modules import ValueNet
from learners.networks.settings import NetworkSettings
from learners.policy_gradient.network import policy_net


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize(
    ("game", "trunk", "outputs"),
    [
        ("geister", "conv", "square"),
        ("mini-geister", "conv", "move"),
        ("geister", "flat", "ghost"),
        ("kuhn", "flat", "action"),
    ],
)
def test_shapes_are_those_of_fresh_nets(game: str, trunk: str, outputs: str, depth: int) -> None:
    rules = numbered(make_game(game))
    network = NetworkSettings.model_validate({"trunk": trunk, "outputs": outputs, "depth": depth, "width": 24})
    for made, shapes in (
        (ValueNet(network, rules.spec), value_net_shapes(rules, network)),
        (policy_net(network, rules.spec), policy_net_shapes(rules, network)),
    ):
        assert shapes == {name: np.shape(array) for name, array in made.inference_weights().items()}


def test_a_game_without_the_outputs_is_refused() -> None:
    with pytest.raises(ValueError, match="has outputs action, not square"):
        policy_net_shapes(numbered(make_game("kuhn")), NetworkSettings(outputs="square"))
