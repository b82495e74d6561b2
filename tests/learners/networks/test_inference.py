"""The short cuts of playing change nothing: sparse inputs, outputs of legal actions alone, parts of large batches."""

import numpy as np
import pytest
import torch

from envs.geister import Geister
from envs.sparse import Sparse, dense
from learners.networks import kernels
from learners.networks.inference import FEW_ROWS, ROWS, Inference, aligned, encoder
from learners.networks.modules import ValueNet
from learners.networks.settings import NetworkSettings
from tests.envs.geister_positions import random_positions

GAME = Geister(size=6)
MANY = ROWS["conv"] + 37


def weights(settings: NetworkSettings, views: int, count: int) -> list[dict]:
    torch.manual_seed(1)
    return [ValueNet(settings, GAME.spec, views).eval().inference_weights() for _ in range(count)]


def seen(rows: int, views: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Packed infostates of the player to move, and of the other one if two are asked for; and the legal actions."""
    states = random_positions(GAME, 2 * rows + 20, 40, seed=3)
    states = states[~GAME.finished(states)][:rows]
    mover = GAME.to_move(states)
    return [GAME.observe(states, who) for who in (mover, 1 - mover)[:views]], GAME.legal(states)


@pytest.mark.parametrize("rows", [1, FEW_ROWS, FEW_ROWS + 1, MANY, ROWS["flat"] + 5])
@pytest.mark.parametrize("views", [1, 2])
@pytest.mark.parametrize(("nets", "width"), [(1, 32), (3, 32), (2, 112)])
def test_sparse_views_give_what_dense_ones_do(rows, views, nets, width):
    """A first layer of one view as wide as its 112 features has a skip over it."""
    settings = NetworkSettings(trunk="flat", width=width)
    inference = Inference(settings, weights(settings, views, nets))
    packed, _ = seen(rows, views)
    encode = encoder(GAME, settings)
    sparse = [encode(one) for one in packed]
    assert all(isinstance(one, Sparse) for one in sparse)
    expected = inference([GAME.encode(one, "flat")[None] for one in packed]).copy()
    np.testing.assert_allclose(inference(sparse), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("size", [4, 6])
def test_infostates_with_history_need_no_other_network(size):
    game = Geister(size, history=True)
    settings = NetworkSettings(trunk="flat", width=32, outputs="move")
    torch.manual_seed(1)
    inference = Inference(settings, [ValueNet(settings, game.spec, 1).eval().inference_weights()])
    states = random_positions(game, 2 * MANY, 40 if size == 6 else 4, seed=3)
    states = states[~game.finished(states)]
    packed = game.observe(states, game.to_move(states))
    sparse = encoder(game, settings)(packed)
    assert isinstance(sparse, Sparse)
    expected = inference([game.encode(packed, "flat")[None]]).copy()
    np.testing.assert_allclose(inference([sparse]), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("rows", [2, MANY])
@pytest.mark.parametrize("views", [1, 2])
@pytest.mark.parametrize("outputs", ["ghost", "square", "move"])
@pytest.mark.parametrize("trunk", ["flat", "conv"])
def test_values_of_legal_actions_are_sums_of_outputs(trunk, outputs, views, rows):
    settings = NetworkSettings(trunk=trunk, width=24, depth=2, norm="layer", outputs=outputs)
    inference = Inference(settings, weights(settings, views, 2))
    packed, legal = seen(rows, views)
    encode = encoder(GAME, settings)
    encoded = [encode(one) for one in packed]
    slots = GAME.output_slots(packed[0], outputs, packed[-1] if views == 2 else None)
    values = inference.action_values(encoded, slots, legal)
    all_outputs = inference(encoded)
    for net in range(2):
        for b in range(rows):
            for a in range(GAME.spec.num_actions):
                used = slots[b, a][slots[b, a] >= 0]
                expected = all_outputs[net, b, used].sum() if legal[b, a] else 0.0
                assert values[net, b, a] == pytest.approx(expected, rel=1e-4, abs=1e-5)


def test_sparse_encodings_are_the_flat_ones():
    for game in (GAME, Geister(size=4), Geister(size=6, random_setup=False), Geister(size=6, clip_ply=False)):
        states = random_positions(game, 200, 60, seed=4)
        for player in (0, 1):
            packed = game.observe(states, np.full(len(states), player, np.int8))
            place, value = game.encode_sparse(packed)
            assert place.shape[1] % 4 == 0
            assert ((place >= 0) & (place < game.spec.shapes["flat"][0])).all()
            flat = game.encode(packed, "flat")
            area = game.size**2
            planes = game.encode(packed, "planes")
            np.testing.assert_array_equal(flat[:, : 3 * area], planes[:, :3].reshape(len(states), -1))
            np.testing.assert_array_equal(flat[:, 3 * area : 3 * area + 3], planes[:, 3:, 0, 0])
            out = np.full_like(flat, 7)
            dense(place, value, out)
            np.testing.assert_array_equal(out, flat)


def test_tanh_is_accurate_to_float32():
    x = np.concatenate([np.linspace(-12, 12, 100_001), np.geomspace(1e-30, 1e30, 1000), [0.0]]).astype(np.float32)
    found = x.copy()[None, None]
    kernels.bias_tanh(found, np.zeros((1, len(x)), np.float32))
    np.testing.assert_allclose(found[0, 0], np.tanh(x.astype(np.float64)), rtol=5e-7, atol=1e-37)


def test_scratch_memory_begins_with_a_cache_line():
    for shape in ((3,), (5, 7), (1, 129, 3)):
        memory = aligned(*shape)
        assert memory.shape == shape
        assert memory.ctypes.data % 64 == 0
        assert memory.flags.c_contiguous
