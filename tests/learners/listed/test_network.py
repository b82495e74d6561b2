"""The Q-network: its outputs and its description."""

import numpy as np
import pytest
import torch

from envs.geister import Geister
from envs.sparse import Sparse, dense
from learners.dmc.settings import DmcTrainingSettings
from learners.listed.network import QNet
from learners.listed.settings import QNetworkSettings
from tests.ragged_game import HeapGame

GAME = HeapGame()


def pairs(rows: int) -> tuple[np.ndarray, Sparse]:
    rng = np.random.default_rng(rows)
    states = rng.normal(size=(rows, GAME.largest)).astype(np.float32)
    return states, Sparse(rng.integers(0, 4, (rows, 4)).astype(np.int16), rng.normal(size=(rows, 4)).astype(np.float32))


def plain(net: QNet, states: np.ndarray, actions: Sparse) -> torch.Tensor:
    """Dense vectors of actions beside the states, and torch's own activations."""
    vectors = np.empty((len(states), 4), np.float32)
    dense(actions.place, actions.value, vectors)
    x = torch.from_numpy(np.concatenate([states, vectors], axis=1))
    for layer in net.hidden:
        x = torch.tanh(layer(x)) if net.settings.activation == "tanh" else layer(x).clamp(min=0)
    return net.out(x)[:, 0]


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("depth", [1, 3])
def test_values_and_gradients_are_those_of_plain_torch(depth, activation):
    torch.manual_seed(3)
    net = QNet(QNetworkSettings(width=24, depth=depth, activation=activation), GAME.spec)
    states, actions = pairs(300)
    target = torch.randn(300)
    found, expected = net(net.tensors(states, actions)), plain(net, states, actions)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
    gradients = []
    for values in (found, expected):
        net.zero_grad()
        (values - target).square().mean().backward()
        gradients.append([parameter.grad.clone() for parameter in net.parameters()])
    largest = max(float(gradient.abs().max()) for gradient in gradients[1])
    for one, two in zip(*gradients, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-5 * largest)


def test_bfloat16_computes_the_same_roughly():
    net = QNet(QNetworkSettings(width=24, depth=2), GAME.spec)
    states, actions = pairs(40)
    with torch.autocast("cpu", torch.bfloat16):
        found = net(net.tensors(states, actions)).float()
    torch.testing.assert_close(found, plain(net, states, actions), rtol=0.1, atol=0.05)


def test_the_first_encoding_is_read_unless_another_is_named():
    assert QNetworkSettings().encoding_of(GAME.spec) == "flat"
    assert QNetworkSettings().inputs(GAME.spec) == (GAME.largest, 4)
    assert QNetworkSettings(encoding="number").inputs(GAME.spec) == (1, 4)
    assert QNet(QNetworkSettings(encoding="number"), GAME.spec).hidden[0].in_features == 5


def test_a_game_without_vectors_of_actions_is_refused():
    with pytest.raises(ValueError, match="geister has no feature vectors of actions"):
        QNetworkSettings().check(Geister().spec)


@pytest.mark.parametrize("encoding", ["planes", "square"])
def test_an_encoding_that_the_game_lacks_is_refused(encoding):
    with pytest.raises(
        ValueError, match=f"heap has no flat encoding {encoding}: set network.encoding to flat or number"
    ):
        QNet(QNetworkSettings(encoding=encoding), GAME.spec)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (QNetworkSettings, {"width": 0}),
        (QNetworkSettings, {"depth": 0}),
        (QNetworkSettings, {"activation": "sigmoid"}),
        (QNetworkSettings, {"norm": "layer"}),
        (DmcTrainingSettings, {"batch": 1}),
        (DmcTrainingSettings, {"minibatches": None}),
        (DmcTrainingSettings, {"optimiser": "sgd"}),
        (DmcTrainingSettings, {"epsilon": 0.0}),
        (DmcTrainingSettings, {"clip": 0.0}),
        (DmcTrainingSettings, {"staleness": 0.0}),
        (DmcTrainingSettings, {"staleness_floor": -1.0}),
        (DmcTrainingSettings, {"learning_rate": float("nan")}),
        (DmcTrainingSettings, {"warm_start": False}),
    ],
)
def test_settings_that_make_no_sense_are_refused(kind, values):
    with pytest.raises(ValueError, match=next(iter(values))):
        kind(**values)


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("tower", [0, 2])
def test_choices_of_a_state_have_the_values_of_their_pairs(depth, tower):
    torch.manual_seed(2)
    net = QNet(QNetworkSettings(width=32, depth=depth, tower=tower, tower_width=32), GAME.spec)
    packed, offsets, rows = GAME.positions()
    owner = np.repeat(np.arange(len(packed)), np.diff(offsets))
    states, actions = GAME.encode(packed, "flat"), GAME.encode_actions(rows)
    pairs = net.tensors(states[owner], actions)
    found = net.of_choices(torch.from_numpy(states), torch.from_numpy(owner), pairs[:, GAME.largest :])
    torch.testing.assert_close(found, net(pairs), rtol=1e-4, atol=1e-6)
    other = QNet(net.settings, GAME.spec)
    other.load_inference_weights(net.inference_weights())
    torch.testing.assert_close(other(pairs), net(pairs))
    with pytest.raises(ValueError, match="another network"):
        other.load_inference_weights({"out.w": np.zeros((1, 1), np.float32)})
