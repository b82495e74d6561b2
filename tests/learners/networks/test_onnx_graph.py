"""Graphs of networks: ONNX Runtime computes the outputs of torch and of our own inference."""

import numpy as np
import onnxruntime
import pytest
import torch
from onnx import ModelProto, checker

from dancfr.agents.export_numbered import random_infostates
from dancfr.games.registry import make_game
from envs.geister import Geister
from envs.guandan import GuanDan
from learners.listed.network import QNet
from learners.listed.settings import QNetworkSettings
from learners.networks.inference import Inference
from learners.networks.modules import ValueNet
from learners.networks.onnx_graph import policy_graph, value_graph
from learners.networks.onnx_q_graph import q_graph
from learners.networks.settings import NetworkSettings
from learners.policy_gradient.policy import PolicyInference
from learners.regret_matching import match_regrets

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


def test_regret_matching_is_that_of_our_agents() -> None:
    """Of infostates with positive advantages and without; illegal actions have none."""
    settings = NetworkSettings(width=32, depth=2, outputs="square")
    torch.manual_seed(1)
    weights = ValueNet(settings, GEISTER.spec).eval().inference_weights()
    packed, legal, _ = random_infostates(GEISTER, 4)
    slots = GEISTER.output_slots(packed, "square")
    features = GEISTER.encode(packed, "flat")
    greatest = Inference(settings, [weights]).action_values([features[None]], slots, legal)[0].max(axis=1)
    weights["out.b"] = weights["out.b"] - np.median(greatest)
    model = policy_graph(settings, weights, features.shape[1:], *slots.shape[1:], None, "regrets")
    given = {"x": features, "slots": slots.astype(np.int64), "legal": legal}
    policy, advantage = session(model).run(None, given)
    expected = Inference(settings, [weights]).action_values([features[None]], slots, legal)
    np.testing.assert_allclose(advantage, expected[0], atol=1e-5)
    none = (advantage <= 0).all(axis=1)
    assert 0 < none.sum() < len(none)
    match_regrets(advantage[None].copy(), legal, expected)
    np.testing.assert_allclose(policy, expected[0], atol=1e-6)
    assert not policy[~legal].any()


@pytest.mark.parametrize(("tower", "activation", "depth"), [(0, "tanh", 1), (2, "relu", 3)])
def test_values_of_choices_are_those_of_torch(tower: int, activation: str, depth: int) -> None:
    settings = QNetworkSettings.model_validate(
        {"width": 16, "depth": depth, "tower": tower, "tower_width": 24, "activation": activation}
    )
    torch.manual_seed(0)
    net, rng = QNet(settings, GuanDan().spec), np.random.default_rng(1)
    states, choices = settings.inputs(GuanDan().spec)
    decision = np.array([1, 0, 1, 2, 2, 2])
    x, of = (rng.standard_normal(shape, np.float32) for shape in ((3, states), (6, choices)))
    with torch.inference_mode():
        expected = net.of_choices(*(torch.from_numpy(array) for array in (x, decision, of))).numpy()
    model = q_graph(settings, net.inference_weights())
    (found,) = session(model).run(None, {"x": x, "choices": of, "decision": decision})
    np.testing.assert_allclose(found, expected, atol=1e-5)
