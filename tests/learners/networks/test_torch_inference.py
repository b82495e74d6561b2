"""The forward pass by torch, on the CPU and on a GPU, agrees with the compiled one."""

import numpy as np
import pytest

from learners.networks import torch_inference
from learners.networks.inference import Inference, encoder, make_forward
from learners.networks.settings import NetworkSettings
from learners.networks.torch_inference import TorchInference
from tests.learners.networks.test_inference import GAME, seen, weights

FLAT = NetworkSettings(trunk="flat", width=32, outputs="square")


@pytest.mark.parametrize("rows", [1, 700])
@pytest.mark.parametrize("views", [1, 2])
@pytest.mark.parametrize(
    "settings",
    [
        FLAT,
        NetworkSettings(trunk="flat", width=112, depth=2, norm="none", outputs="move"),  # a skip over the first layer
        NetworkSettings(trunk="conv", width=24, norm="batch", outputs="ghost"),
    ],
    ids=["layer", "skip", "conv"],
)
def test_it_gives_what_the_compiled_one_gives(settings, views, rows, gpu):
    nets = weights(settings, views, 2)
    ours, torchs = Inference(settings, nets), make_forward(settings, nets, gpu)
    assert isinstance(torchs, TorchInference)
    assert torchs.nets == 2
    packed, legal = seen(rows, views)
    encode = encoder(GAME, settings)
    encoded = [encode(one) for one in packed]
    np.testing.assert_allclose(torchs(encoded), ours(encoded), rtol=1e-3, atol=1e-4)

    slots = GAME.output_slots(packed[0], settings.outputs, packed[-1] if views == 2 else None)
    expected = ours.action_values(encoded, slots, legal)
    held = np.full_like(expected, np.nan)
    assert torchs.action_values(encoded, slots, legal, held) is held
    np.testing.assert_allclose(held, expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(torchs.action_values(encoded, slots, legal), held)
    second = torchs.subset(np.array([1])).action_values(encoded, slots, legal)
    np.testing.assert_allclose(second, held[1:], rtol=1e-3, atol=1e-4)


def test_dense_views_of_each_net(gpu):
    nets = weights(FLAT, 1, 3)
    rng = np.random.default_rng(1)
    views = [rng.random((3, 9, *GAME.spec.shapes["flat"]), dtype=np.float32)]
    expected = Inference(FLAT, nets)(views)
    np.testing.assert_allclose(make_forward(FLAT, nets, gpu)(views), expected, rtol=1e-3, atol=1e-4)


def test_many_rows_come_in_parts(gpu, monkeypatch):
    forward = make_forward(FLAT, weights(FLAT, 1, 2), gpu)
    packed, legal = seen(50, 1)
    encoded, slots = [encoder(GAME, FLAT)(packed[0])], GAME.output_slots(packed[0], "square")
    whole = forward(encoded), forward.action_values(encoded, slots, legal)
    monkeypatch.setattr(torch_inference, "DEVICE_ROWS", 16)
    np.testing.assert_allclose(forward(encoded), whole[0], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(forward.action_values(encoded, slots, legal), whole[1], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("trunk", ["flat", "conv"])
def test_no_rows_give_no_values(trunk, gpu):
    settings = NetworkSettings(trunk=trunk, width=16, outputs="square")
    forward = make_forward(settings, weights(settings, 1, 2), gpu)
    packed = seen(3, 1)[0][0][:0]
    encoded = [encoder(GAME, settings)(packed)]
    assert forward(encoded).shape == (2, 0, GAME.spec.slots["square"])
    nothing = np.zeros((0, GAME.spec.num_actions), bool)
    assert forward.action_values(encoded, GAME.output_slots(packed, "square"), nothing).shape == (2, *nothing.shape)


def test_the_cpu_runs_compiled_kernels():
    assert isinstance(make_forward(FLAT, weights(FLAT, 1, 1)), Inference)
