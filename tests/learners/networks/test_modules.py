"""A `ValueNet` and its gradients are those of the same network in plain torch, for every encoding and output layout."""

import copy

import numpy as np
import pytest
import torch
from torch.nn import functional

from envs.geister import Geister
from envs.sparse import Sparse
from learners.networks.inference import encoder
from learners.networks.modules import TRUNK_ROWS, ValueNet, sum_outputs, tanh
from learners.networks.operations import SPARSE_SHARE, ChosenOutputs, SparseInputs
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


def values(net: ValueNet, packed: list[np.ndarray], slots: np.ndarray, legal: np.ndarray) -> torch.Tensor:
    encode = encoder(GAME, net.settings)
    views = net.tensors([encode(one) for one in packed])
    return net(views, torch.from_numpy(slots.copy()), torch.from_numpy(legal))


def plain(net: ValueNet, packed: list[np.ndarray], slots: np.ndarray, legal: np.ndarray) -> torch.Tensor:
    """In double precision: dense inputs, torch's convolution and tanh, all outputs, and their sum for each action."""
    views = [torch.from_numpy(GAME.encode(one, net.settings.encoding)).double() for one in packed]
    if net.trunk is None:
        x = torch.cat([view.flatten(1) for view in views], dim=1)
    else:
        maps = []
        for view, layer in zip(views, net.trunk.first, strict=True):
            kernel = layer.weight.reshape(-1, 2, 2, view.shape[1]).permute(0, 3, 1, 2)
            maps.append(functional.conv2d(view, kernel, layer.bias))
        second = net.trunk.second
        hidden = functional.conv2d(torch.tanh(torch.cat(maps, dim=1)), second.weight[:, :, None, None], second.bias)
        x = torch.tanh(hidden).permute(0, 2, 3, 1).flatten(1)
    for layer in net.hidden:
        y = layer(x)
        x = (y + x if y.shape == x.shape else y).clamp(min=0)
    if net.settings.norm == "batch":
        x = (x - x.mean(0)) / (x.var(0, unbiased=False) + 1e-5).sqrt() * net.norm.weight + net.norm.bias
    elif net.settings.norm == "layer":
        x = (x - x.mean(1, keepdim=True)) / (x.var(1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    outputs = net.out(x)
    total = torch.zeros(slots.shape[:2], dtype=torch.float64)
    for k in range(slots.shape[2]):
        slot = torch.from_numpy(slots[:, :, k].astype(np.int64))
        total = total + outputs.gather(1, slot.clamp(min=0)) * (slot >= 0)
    return total * torch.from_numpy(legal)


def gradients(net: ValueNet, found: torch.Tensor, target: np.ndarray, legal: np.ndarray) -> list[torch.Tensor]:
    ((found - torch.from_numpy(target)) * torch.from_numpy(legal)).square().mean().backward()
    return [parameter.grad for parameter in net.parameters()]


def assert_same(found: torch.Tensor, exact: torch.Tensor, scale: float) -> None:
    """Up to rounding, which is relative to the terms of a sum and not to the sum: a bias before a normalisation has a
    gradient of 0, from terms as large as those of others."""
    torch.testing.assert_close(found.double(), exact, rtol=1e-3, atol=1e-4 * scale)


@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
@pytest.mark.parametrize("outputs", ["ghost", "colour", "square", "move"])
@pytest.mark.parametrize("views", [1, 2])
@pytest.mark.parametrize(("trunk", "width"), [("flat", 24), ("flat", 52), ("conv", 24)])
def test_values_and_gradients_are_those_of_plain_torch(trunk, width, views, outputs, norm):
    """Mini Geister's encoding has 52 features, so that the first layer of one view has a skip, too."""
    torch.manual_seed(0)
    net = ValueNet(NetworkSettings(trunk=trunk, width=width, depth=3, norm=norm, outputs=outputs), GAME.spec, views)
    exact = copy.deepcopy(net).double()
    packed, legal, target = samples(TRUNK_ROWS + 44, views)
    slots = GAME.output_slots(packed[0], outputs, packed[-1] if views == 2 else None)
    ours, theirs = values(net, packed, slots, legal), plain(exact, packed, slots, legal)
    torch.testing.assert_close(ours.double(), theirs, rtol=1e-4, atol=1e-5 * float(theirs.detach().abs().max()))
    assert (ours.detach().numpy()[~legal] == 0).all()
    mine, wanted = gradients(net, ours, target, legal), gradients(exact, theirs, target, legal)
    largest = max(float(gradient.abs().max()) for gradient in wanted)
    for one, two in zip(mine, wanted, strict=True):
        assert_same(one, two, largest)


@pytest.mark.parametrize("outputs", ["ghost", "move"])
def test_both_ways_to_outputs_are_the_same(outputs):
    """Only those that are needed, which a CPU computes in float32, and all of them, as on a GPU."""
    torch.manual_seed(1)
    net = ValueNet(NetworkSettings(width=24, outputs=outputs), GAME.spec)
    packed, legal, target = samples(60, 1)
    slots = GAME.output_slots(packed[0], outputs)
    tensors = torch.from_numpy(slots.copy()), torch.from_numpy(legal)
    x = torch.randn(60, 24, requires_grad=True)
    weight, bias = net.out.weight, net.out.bias
    found = []
    for result in (ChosenOutputs.apply(x, weight, bias, *tensors), sum_outputs(net.out(x), *tensors)):
        inputs = torch.autograd.grad((result - torch.from_numpy(target)).square().sum(), (x, weight, bias))
        found.append([result, *inputs])
    for one, two in zip(*found, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5 * float(two.detach().abs().max()))


@pytest.mark.parametrize("views", [1, 2])
@pytest.mark.parametrize("length", [2, 60])
def test_sparse_inputs_give_the_values_and_gradients_of_all_inputs(length, views):
    torch.manual_seed(2)
    game, rows = Geister(), 90
    net = ValueNet(NetworkSettings(width=40, depth=2, outputs="move"), game.spec, views)
    states = random_positions(game, rows, length, seed=6)
    packed = [game.observe(states, np.full(rows, who, np.int8)) for who in range(views)]
    sparse = net.tensors([encoder(game, net.settings)(one) for one in packed])
    assert all(isinstance(one, SparseInputs) for one in sparse)
    found = []
    for inputs in (sparse, [torch.from_numpy(game.encode(one, "flat")) for one in packed]):
        values = net(inputs)
        found.append([values, *torch.autograd.grad(values.square().sum(), list(net.parameters()))])
    for one, two in zip(*found, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5 * float(two.detach().abs().max()))


def test_views_of_which_one_is_not_sparse_are_all_dense():
    """The sparse form of a history is as wide as its longest row."""
    game, rows = Geister(), 30
    net = ValueNet(NetworkSettings(width=40, depth=2, outputs="move"), game.spec, views=2)
    states = random_positions(game, rows, 20, seed=7)
    packed = [game.observe(states, np.full(rows, who, np.int8)) for who in (0, 1)]
    narrow, other = (encoder(game, net.settings)(one) for one in packed)
    more = int(SPARSE_SHARE * net.inputs)
    wide = Sparse(*(np.pad(array, ((0, 0), (0, more))) for array in other))
    found = net.tensors([narrow, wide])
    assert all(isinstance(one, torch.Tensor) for one in found)
    torch.testing.assert_close(net(found), net(net.tensors([narrow, other])), rtol=1e-4, atol=1e-5)


def test_batch_normalisation_keeps_torchs_running_moments():
    net = ValueNet(NetworkSettings(trunk="flat", width=24, norm="batch"), GAME.spec)
    reference = torch.nn.BatchNorm1d(24)
    hidden = torch.randn(50, 24, generator=torch.Generator().manual_seed(1))
    for _ in range(3):
        torch.testing.assert_close(net.norm(hidden), reference(hidden))
    for one, two in zip(net.norm.buffers(), reference.buffers(), strict=True):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize("trunk", ["flat", "conv"])
def test_bfloat16_computes_the_same_roughly(trunk):
    net = ValueNet(NetworkSettings(trunk=trunk, width=24, outputs="move"), GAME.spec, views=2)
    packed, legal, _ = samples(40, 2)
    slots = GAME.output_slots(packed[0], "move", packed[1])
    with torch.autocast("cpu", torch.bfloat16):
        ours = values(net, packed, slots, legal)
    assert ours.dtype == torch.float32
    theirs = plain(copy.deepcopy(net).double(), packed, slots, legal)
    torch.testing.assert_close(ours.double(), theirs, rtol=0.1, atol=0.05)


def test_tanh_is_exact_to_rounding_everywhere():
    x = torch.linspace(-12, 12, 100_001)
    assert float((tanh(x.clone()).double() - torch.tanh(x.double())).abs().max()) < 4e-7
    assert tanh(torch.tensor([-1e30, 1e30])).tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("trunk", ["conv", "flat"])
@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
def test_idle_units_are_counted_in_every_layer(trunk: str, norm: str) -> None:
    net = ValueNet(NetworkSettings(trunk=trunk, width=16, depth=3, norm=norm), GAME.spec, 2)
    packed, _, _ = samples(50, 2)
    views = net.tensors([encoder(GAME, net.settings)(one) for one in packed])
    before = copy.deepcopy(net.state_dict())
    active = net.active_units(views)
    with torch.no_grad():
        for unit in (0, 7, 11):  # of the first layer: without an input, they are 0 whatever the row
            net.hidden[0].weight[unit], net.hidden[0].bias[unit] = 0, -1
        net.hidden[1].weight[:], net.hidden[1].bias[:] = 0, -1e6  # skip connections cannot revive these
    assert active.shape == (48,)
    assert active.sum() > 48 - 19
    assert 0 < net.active_units(views).sum() <= 48 - 19
    net.load_state_dict(before)
    assert net.training
    assert torch.equal(net.active_units(views), active)  # counting leaves the moments of normalisation alone
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
