"""The compiled functions that train on CPUs are the modules: the same values, gradients and running moments."""

import copy

import numpy as np
import pytest
import torch

from envs.geister import Geister
from learners.networks.inference import encoder
from learners.networks.modules import ValueNet
from learners.networks.settings import NetworkSettings
from tests.envs.geister_positions import random_positions

GAME = Geister(size=4)


def samples(rows: int, views: int) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Packed infostates a view, legal actions, and a target for each action."""
    rng = np.random.default_rng(rows)
    states = random_positions(GAME, rows, 4, seed=5)
    packed = [GAME.observe(states, np.full(rows, who, np.int8)) for who in range(views)]
    legal = rng.random((rows, GAME.spec.num_actions)) < 0.5
    return packed, legal, rng.normal(size=legal.shape).astype(np.float32)


def by_modules(net: ValueNet, packed: list[np.ndarray], slots: np.ndarray, legal: np.ndarray) -> torch.Tensor:
    """Values by torch's own layers: dense inputs, all outputs, a sum over those of each action."""
    views = np.stack([GAME.encode(one, net.settings.encoding) for one in packed])
    outputs = net(torch.from_numpy(views))
    values = torch.zeros(legal.shape)
    for k in range(slots.shape[2]):
        slot = torch.from_numpy(slots[:, :, k].astype(np.int64))
        values = values + outputs.gather(1, slot.clamp(min=0)) * (slot >= 0)
    return values * torch.from_numpy(legal)


@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
@pytest.mark.parametrize("outputs", ["ghost", "square", "move"])
@pytest.mark.parametrize("views", [1, 2])
@pytest.mark.parametrize("trunk", ["flat", "conv"])
def test_values_gradients_and_moments_agree(trunk, views, outputs, norm):
    settings = NetworkSettings(trunk=trunk, width=24, depth=3, norm=norm, outputs=outputs)
    torch.manual_seed(0)
    compiled = ValueNet(settings, GAME.spec, views)
    modules = copy.deepcopy(compiled)
    packed, legal, target = samples(150, views)
    slots = GAME.output_slots(packed[0], outputs, packed[-1] if views == 2 else None)
    encode = encoder(GAME, settings)
    found = compiled.action_values([encode(one) for one in packed], slots, legal)
    expected = by_modules(modules, packed, slots, legal)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    for values in (found, expected):
        ((values - torch.from_numpy(target)) * torch.from_numpy(legal)).square().mean().backward()
    for (name, one), two in zip(compiled.named_parameters(), modules.parameters(), strict=True):
        assert one.grad is not None
        torch.testing.assert_close(one.grad, two.grad, rtol=1e-3, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}")
    for one, two in zip(compiled.buffers(), modules.buffers(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-6)


def test_a_skip_over_the_first_layer_agrees_too():
    settings = NetworkSettings(trunk="flat", width=52, depth=2)  # as wide as Mini Geister's encoding
    net = ValueNet(settings, GAME.spec)
    packed, legal, _ = samples(30, 1)
    slots = GAME.output_slots(packed[0], settings.outputs)
    found = net.action_values([GAME.encode_sparse(packed[0])], slots, legal)
    torch.testing.assert_close(found, by_modules(net, packed, slots, legal), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("trunk", ["flat", "conv"])
def test_in_bfloat16_the_modules_compute(trunk):
    """As on a GPU: dense tensors on the network's device, made from the same views."""
    settings = NetworkSettings(trunk=trunk, width=24, outputs="move")
    net = ValueNet(settings, GAME.spec, views=2)
    packed, legal, _ = samples(40, 2)
    slots = GAME.output_slots(packed[0], "move", packed[1])
    encode = encoder(GAME, settings)
    with torch.autocast("cpu", torch.bfloat16):
        found = net.action_values([encode(one) for one in packed], slots, legal)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, by_modules(net, packed, slots, legal), rtol=0.1, atol=0.05)


def test_values_without_gradients():
    net = ValueNet(NetworkSettings(width=24), GAME.spec)
    packed, legal, _ = samples(20, 1)
    with torch.no_grad():
        values = net.action_values([GAME.encode_sparse(packed[0])], GAME.output_slots(packed[0], "square"), legal)
    assert not values.requires_grad
    assert (values.numpy()[~legal] == 0).all()
