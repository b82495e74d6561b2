"""Graphs of networks: ONNX Runtime computes the outputs of torch and of our own inference."""

import numpy as np
import onnxruntime
import pytest
import torch
from onnx import ModelProto, checker

from dancfr.agents.export import random_infostates
from dancfr.games.registry import make_game
from envs.geister import Geister
from learners.networks.modules import ValueNet
from learners.networks.onnx_graph import policy_graph, value_graph
from learners.networks.settings import NetworkSettings
from learners.policy_gradient.policy import PolicyInference

GEISTER = Geister()


def session(model: ModelProto) -> onnxruntime.InferenceSession:
    checker.check_model(model, full_check=True)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
@pytest.mark.parametrize(("trunk", "depth"), [("flat", 1), ("flat", 3), ("conv", 2)])
def test_outputs_are_those_of_torch(trunk: str, depth: int, norm: str) -> None:
    settings = NetworkSettings.model_validate({"trunk": trunk, "width": 32, "depth": depth, "norm": norm})
    torch.manual_seed(0)
    net = ValueNet(settings, GEISTER.spec)
    packed, _, _ = random_infostates(GEISTER, 2)
    features = GEISTER.encode(packed, settings.encoding)
    net(torch.from_numpy(features)[None])  # moves the moments of a batch normalisation
    net.eval()
    with torch.inference_mode():
        expected = net(torch.from_numpy(features)[None]).numpy()
    model = value_graph(settings, net.inference_weights(), features.shape[1:])
    (found,) = session(model).run(None, {"x": features})
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("outputs", ["action", "move", "square"])
def test_policies_are_those_of_our_inference(outputs: str) -> None:
    """Of layouts with one and with several outputs per action, -1 among their slots."""
    game = make_game("kuhn") if outputs == "action" else GEISTER
    settings = NetworkSettings(width=32, depth=2, outputs=outputs)
    torch.manual_seed(1)
    weights = ValueNet(settings, game.spec, more=1).eval().inference_weights()
    packed, legal, _ = random_infostates(game, 4)
    policy, values = PolicyInference(game, settings, weights)(packed, legal)
    slots = game.output_slots(packed, outputs).astype(np.int64)
    features = game.encode(packed, "flat")
    model = policy_graph(settings, weights, features.shape[1:], *slots.shape[1:], game.spec.max_return)
    found = session(model).run(None, {"x": features, "slots": slots, "legal": legal})
    np.testing.assert_allclose(found[0], policy, atol=1e-5)
    np.testing.assert_allclose(found[1], values, atol=1e-5)
    assert not found[0][~legal].any()
    assert found[0].std(axis=1).max() > 0.01
