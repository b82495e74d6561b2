"""The torch module that learns and the NumPy pass that plays are one function, and the function of the paper."""

import numpy as np
import pytest
import torch
from torch import nn

from envs.game import GameSpec
from envs.geister.game import Geister
from learners.networks.inference import Inference
from learners.networks.modules import PatchTrunk, ValueNet
from learners.networks.settings import NetworkSettings

MINI = Geister(size=4).spec
FULL = Geister(size=6).spec


def make_nets(settings: NetworkSettings, spec: GameSpec, views: int, count: int, seed: int) -> list[ValueNet]:
    """Nets in evaluation mode with every parameter and running moment away from its initial value."""
    generator = torch.Generator().manual_seed(seed)
    nets = []
    for _ in range(count):
        net = ValueNet(settings, spec, views).eval()
        for name, tensor in net.state_dict().items():
            if name.endswith("running_var"):
                tensor.copy_(torch.rand(tensor.shape, generator=generator) + 0.1)
            elif tensor.is_floating_point():
                tensor.add_(0.1 * torch.randn(tensor.shape, generator=generator))
        nets.append(net)
    return nets


def features(spec: GameSpec, settings: NetworkSettings, shape: tuple[int, ...], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(*shape, *spec.shapes[settings.encoding])).astype(np.float32)


def by_torch(nets: list[ValueNet], views: np.ndarray) -> np.ndarray:
    """`views [V, T or 1, m, ...]` to `[T, m, S]`."""
    with torch.no_grad():
        return np.stack(
            [net(torch.from_numpy(views[:, t if views.shape[1] > 1 else 0])).numpy() for t, net in enumerate(nets)]
        )


@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
@pytest.mark.parametrize("views", [1, 2])
@pytest.mark.parametrize(("trunk", "width", "spec"), [("flat", 24, MINI), ("conv", 24, MINI), ("flat", 112, FULL)])
def test_both_passes_agree(trunk, width, spec, views, norm):
    """Full Geister's flat encoding has 112 features, so that the first layer of one view has a skip, too."""
    settings = NetworkSettings(trunk=trunk, width=width, depth=3, norm=norm, outputs="square")
    nets = make_nets(settings, spec, views, count=4, seed=1)
    inference = Inference(settings, [net.inference_weights() for net in nets])
    for given in (4, 1):
        x = features(spec, settings, (views, given, 7), seed=given)
        np.testing.assert_allclose(inference(list(x)), by_torch(nets, x), rtol=2e-4, atol=2e-5)
    alone = Inference(settings, [nets[2].inference_weights()])
    np.testing.assert_allclose(alone(list(x)), by_torch(nets[2:3], x), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("trunk", ["flat", "conv"])
def test_a_subset_is_those_nets_in_that_order(trunk):
    settings = NetworkSettings(trunk=trunk, width=16, depth=2)
    nets = make_nets(settings, MINI, 1, count=5, seed=4)
    inference = Inference(settings, [net.inference_weights() for net in nets])
    for which in ([3, 0], [4, 3, 2, 1, 0], [0, 1, 2, 3, 4], [2]):
        x = features(MINI, settings, (1, len(which), 6), seed=5)
        outputs = inference.subset(np.array(which))(list(x))
        np.testing.assert_allclose(outputs, by_torch([nets[i] for i in which], x), rtol=2e-4, atol=2e-5)


def test_scratch_memory_serves_batches_of_any_size_in_any_order():
    settings = NetworkSettings(trunk="conv", width=16, depth=2)
    nets = make_nets(settings, MINI, 2, count=2, seed=6)
    inference = Inference(settings, [net.inference_weights() for net in nets])
    for rows in (3, 50, 1, 20):
        x = features(MINI, settings, (2, 1, rows), seed=rows)
        np.testing.assert_allclose(inference(list(x)), by_torch(nets, x), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("views", [1, 2])
def test_the_trunk_is_the_papers_two_convolutions(views):
    """Paper 000, 5.2: 2x2 with 16 channels, of which each player's planes get 8 in a baseline net; then 1x1."""
    torch.manual_seed(7)
    trunk = PatchTrunk(6, views)
    first = [nn.Conv2d(6, 16 // views, 2) for _ in range(views)]
    second = nn.Conv2d(16, 16, 1)
    with torch.no_grad():
        for convolution, linear in zip(first, trunk.first, strict=True):
            linear.weight.copy_(convolution.weight.permute(0, 2, 3, 1).flatten(1))
            linear.bias.copy_(convolution.bias)
        trunk.second.weight.copy_(second.weight.flatten(1))
        trunk.second.bias.copy_(second.bias)
        planes = torch.randn(views, 9, 6, 6, 6)
        maps = torch.cat([conv(view) for conv, view in zip(first, planes, strict=True)], dim=1)
        expected = torch.tanh(second(torch.tanh(maps))).permute(0, 2, 3, 1).flatten(1)
        torch.testing.assert_close(trunk(planes), expected, rtol=1e-5, atol=1e-6)


def test_the_papers_net_layer_by_layer():
    """Three layers x' = ReLU(Ax [+ x]), batch normalisation, linear output of 32 (paper 000, 5.2 and Fig. 2)."""
    settings = NetworkSettings(trunk="conv", width=128, depth=3, norm="batch", outputs="ghost")
    (net,) = make_nets(settings, FULL, 1, count=1, seed=8)
    assert [tuple(layer.weight.shape) for layer in net.hidden] == [(128, 400), (128, 128), (128, 128)]
    assert isinstance(net.norm, nn.BatchNorm1d)
    assert net.out.out_features == 32
    planes = torch.randn(1, 11, 6, 6, 6)
    with torch.no_grad():
        x = torch.relu(net.hidden[0](net.trunk(planes)))
        for layer in net.hidden[1:]:
            x = torch.relu(layer(x) + x)
        torch.testing.assert_close(net(planes), net.out(net.norm(x)))


def test_a_missing_encoding_or_layout_is_named():
    with pytest.raises(ValueError, match=r"no planes encoding: use network\.trunk=flat"):
        NetworkSettings(trunk="conv").check(
            GameSpec("g", 2, 2, 1, {"flat": (3,)}, {"square": 2}, ("running",), max_plies=2)
        )
    with pytest.raises(ValueError, match=r"has outputs ghost, .*, not action"):
        NetworkSettings(outputs="action").check(FULL)
