"""Inference of a Q-network agrees with the torch module, however long the lists are."""

import numpy as np
import pytest
import torch

from envs.game import GameSpec
from envs.sparse import Sparse
from learners.listed.network import QNet
from learners.listed.settings import QNetworkSettings
from learners.networks.q_inference import FEW_ROWS, ROWS, QInference
from learners.networks.torch_q_inference import TorchQInference

FEATURES, ENTRIES = 37, 14


def net_of(settings: QNetworkSettings, features: int = FEATURES, entries: int = ENTRIES) -> QNet:
    spec = GameSpec("lists", 2, 1, 1, {"flat": (features,)}, {}, ("running",), 1, action_features=entries)
    torch.manual_seed(len(spec.name) + settings.depth)
    return QNet(settings, spec)


def lists_of(counts: list[int], seed: int = 0) -> tuple[np.ndarray, np.ndarray, Sparse]:
    """Random states and actions; some places of a vector come twice, some are not used."""
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(len(counts), FEATURES)).astype(np.float32)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    place = rng.integers(0, ENTRIES, (offsets[-1], 8)).astype(np.int16)
    value = rng.integers(-1, 3, place.shape).astype(np.float32)
    value[:, 5:] = 0
    value[rng.random(len(value)) < 0.3, :4] = 0
    return states, offsets, Sparse(place, value)


def by_module(net: QNet, states: np.ndarray, offsets: np.ndarray, actions: Sparse) -> np.ndarray:
    vectors = np.zeros((len(actions.place), ENTRIES), np.float32)
    np.add.at(vectors, (np.arange(len(vectors))[:, None], actions.place), actions.value)
    repeated = np.repeat(states, np.diff(offsets), axis=0)
    with torch.no_grad():
        return net(torch.from_numpy(np.concatenate([repeated, vectors], axis=1))).numpy()


LISTS = {
    "one decision": [13],
    "one action": [1],
    "few": [0, FEW_ROWS - 1, 0],
    "empty lists": [0, 3, 0, 0, 5, 1, 0],
    "lists only of nothing": [0, 0],
    "no decision": [],
    "one long list": [1, 2 * ROWS + 17, 2],
    "many lists": [int(n) for n in np.random.default_rng(5).integers(0, 40, 90)],
}


@pytest.mark.parametrize("counts", LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize(("depth", "tower"), [(1, 0), (4, 0), (1, 1), (2, 3)])
def test_values_are_those_of_the_module(depth, tower, activation, counts):
    settings = QNetworkSettings(width=48, depth=depth, tower=tower, tower_width=40, activation=activation)
    net = net_of(settings)
    given = lists_of(counts)
    expected = by_module(net, *given)
    for forward in (QInference(settings, net.inference_weights()), TorchQInference(settings, net.inference_weights())):
        for _ in range(2):  # scratch memory of a first call must not show in a second one
            found = forward(*given)
            assert found.dtype == np.float32
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_results_outlive_the_next_call():
    settings = QNetworkSettings(width=16, depth=2)
    forward = QInference(settings, net_of(settings).inference_weights())
    first = forward(*lists_of([4, 2]))
    kept = first.copy()
    forward(*lists_of([700], seed=1))
    np.testing.assert_array_equal(first, kept)


def test_bfloat16_is_close():
    settings = QNetworkSettings(width=64, depth=3)
    net = net_of(settings)
    given = lists_of([9, 0, 30])
    found = TorchQInference(settings, net.inference_weights(), bf16=True)(*given)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, by_module(net, *given), atol=0.03)


@pytest.mark.cuda
@pytest.mark.parametrize(("bf16", "atol"), [(False, 1e-4), (True, 0.03)])
def test_a_gpu_gives_the_same(bf16, atol):
    settings = QNetworkSettings(width=64, depth=3)
    net = net_of(settings)
    given = lists_of([9, 0, 30, 1000])
    found = TorchQInference(settings, net.inference_weights(), "cuda", bf16)(*given)
    np.testing.assert_allclose(found, by_module(net, *given), atol=atol)


def test_the_papers_network_has_its_size():
    net = net_of(QNetworkSettings(), features=513, entries=54)
    assert sum(parameter.numel() for parameter in net.parameters()) == 1_341_953
    weights = net.inference_weights()
    assert weights["state.w"].shape == (513, 512)
    assert weights["action.w"].shape == (54, 512)
    assert sum(array.size for array in weights.values()) == 1_341_953


@pytest.mark.parametrize("kind", [QInference, TorchQInference])
@pytest.mark.parametrize(
    "offsets", [[0, 2, 4], [0, 2, 6], [1, 2, 5], [0, 5], [0, 1, 2, 5]], ids=["short", "long", "late", "few", "many"]
)
def test_lists_that_do_not_fit_are_refused(kind, offsets):
    settings = QNetworkSettings(width=16, depth=2)
    states, _, actions = lists_of([2, 3])
    with pytest.raises(ValueError, match="do not fit lists"):
        kind(settings, net_of(settings).inference_weights())(states, np.array(offsets, np.int64), actions)


def test_entries_that_the_kernel_would_read_beyond_are_refused():
    settings = QNetworkSettings(width=16, depth=2)
    states, offsets, (place, value) = lists_of([2, 3])
    with pytest.raises(ValueError, match="multiple of 4 entries, padded with zeros, got 6"):
        QInference(settings, net_of(settings).inference_weights())(states, offsets, Sparse(place[:, :6], value[:, :6]))
