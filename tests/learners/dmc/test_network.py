"""The Q-network: what it is, how it is described, and that the compiled functions that train it are the modules."""

import copy

import numpy as np
import pytest
import torch

from envs.geister import Geister
from envs.sparse import Sparse, dense
from learners.dmc.network import QNet
from learners.dmc.settings import DmcTrainingSettings, QNetworkSettings
from tests.ragged_game import HeapGame

GAME = HeapGame()


def pairs(rows: int) -> tuple[np.ndarray, Sparse]:
    rng = np.random.default_rng(rows)
    states = rng.normal(size=(rows, GAME.largest)).astype(np.float32)
    return states, Sparse(rng.integers(0, 4, (rows, 4)).astype(np.int16), rng.normal(size=(rows, 4)).astype(np.float32))


def by_modules(net: QNet, states: np.ndarray, actions: Sparse) -> torch.Tensor:
    vectors = np.empty((len(states), 4), np.float32)
    dense(actions.place, actions.value, vectors)
    return net(torch.from_numpy(states), torch.from_numpy(vectors))


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("depth", [1, 3])
def test_compiled_values_and_gradients_are_those_of_the_modules(depth, activation):
    torch.manual_seed(3)
    compiled = QNet(QNetworkSettings(width=24, depth=depth, activation=activation), GAME.spec)
    modules = copy.deepcopy(compiled)
    states, actions = pairs(300)
    target = torch.randn(300)
    found, expected = compiled.values(states, actions), by_modules(modules, states, actions)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
    for values in (found, expected):
        (values - target).square().mean().backward()
    for (name, one), two in zip(compiled.named_parameters(), modules.parameters(), strict=True):
        torch.testing.assert_close(one.grad, two.grad, rtol=1e-3, atol=1e-6, msg=lambda m, n=name: f"{n}: {m}")


def test_in_bfloat16_the_modules_compute():
    net = QNet(QNetworkSettings(width=24, depth=2), GAME.spec)
    states, actions = pairs(40)
    with torch.autocast("cpu", torch.bfloat16):
        found = net.values(states, actions)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, by_modules(net, states, actions), rtol=0.1, atol=0.05)


def test_the_first_encoding_is_read_unless_another_is_named():
    assert QNetworkSettings().encoding_of(GAME.spec) == "flat"
    assert QNetworkSettings().inputs(GAME.spec) == (GAME.largest, 4)
    assert QNetworkSettings(encoding="number").inputs(GAME.spec) == (1, 4)
    assert QNet(QNetworkSettings(encoding="number"), GAME.spec).hidden[0].in_features == 5


def test_a_game_without_vectors_of_actions_is_refused():
    with pytest.raises(ValueError, match="geister has no vectors of actions"):
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
