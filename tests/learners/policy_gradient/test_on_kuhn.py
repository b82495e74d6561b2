"""The gradient of sampled games against that of the enumerated game, and where it leads, on Kuhn poker."""

import numpy as np
import pytest
import torch

from actors.trajectories import TrajectoryPlayer
from actors.trajectory_tasks import LEARNER, TrajectoryTask, TrajectoryWeights
from dancfr.games.registry import make_game
from envs.tree import compile_tree
from learners.networks.settings import NetworkSettings
from learners.policy_gradient.agent import PolicyAgent
from learners.policy_gradient.learner import PolicyLearner, log_policy
from learners.policy_gradient.outputs import slots_and_needed
from learners.policy_gradient.policy import PolicyInference
from learners.policy_gradient.settings import PolicyTrainingSettings
from tests.learners.policy_gradient.exact import action_values, expected_returns, logit_equilibrium

NETWORK = NetworkSettings(width=16, depth=1, norm="none", outputs="action")


def settings(**changes) -> PolicyTrainingSettings:
    return PolicyTrainingSettings(**({"discount": 1.0, "trace": 1.0, "entropy": 0.0, "value_weight": 1e-9} | changes))


def sample(game, learner: PolicyLearner, games: int, seed: int, version: int = 0) -> np.ndarray:
    training = learner.training
    player = TrajectoryPlayer(game, training.discount, training.trace)
    task = TrajectoryTask((seed, version, 0), ((games, (LEARNER, LEARNER)),))
    _, blocks = player.play(task, TrajectoryWeights(version, learner.network, (learner.weights(),)))
    return blocks["net0"]


def tree_policy(game, tree, net) -> torch.Tensor:
    """The net's policy at every slot of the tree, differentiable."""
    from learners.networks.inference import encoder

    legal = tree.legal()
    slots, needed = slots_and_needed(game, NETWORK, tree.observed, legal)
    views = net.tensors([encoder(game, NETWORK)(tree.observed)])
    outputs = net(views, torch.from_numpy(slots), torch.from_numpy(needed))
    table = log_policy(outputs[:, :-1], torch.from_numpy(legal)).exp().double()
    return table[torch.from_numpy(tree.slot_infoset).long(), torch.from_numpy(tree.slot_action).long()]


def test_the_gradient_of_sampled_games_is_that_of_the_enumerated_game() -> None:
    game = make_game("kuhn")
    tree = compile_tree(game)
    learner = PolicyLearner(game, NETWORK, settings(), seed=3)
    with torch.no_grad():  # away from the uniform policy
        learner.trainer.net.out.weight.normal_(std=0.7, generator=torch.Generator().manual_seed(1))
    net = learner.trainer.net
    exact = torch.zeros(sum(p.numel() for p in net.parameters()), dtype=torch.float64)
    for player in range(2):
        own = torch.from_numpy(tree.player[tree.slot_infoset] == player)
        policy = tree_policy(game, tree, net)
        value = expected_returns(tree, torch.where(own, policy, policy.detach()), player)
        gradients = torch.autograd.grad(value, list(net.parameters()))
        exact += torch.cat([each.flatten() for each in gradients]).double()

    parts, games = 60, 4000
    found = []
    for part in range(parts):
        rows = sample(game, learner, games, 100 + part)
        net.zero_grad()
        learner._loss(rows, 1, torch.zeros(8, dtype=torch.float64), np.random.default_rng(0)).backward()
        gradient = torch.cat([p.grad.flatten() for p in net.parameters()]).double()
        found.append(-gradient * len(rows) / games * game.spec.max_return)  # samples are in units of that
    means, errors = torch.stack(found).mean(0), torch.stack(found).std(0) / np.sqrt(parts)
    deviations = ((means - exact).abs() / errors.clamp(min=1e-7)).numpy()
    assert exact.norm() > 0.05
    assert (deviations < 5).all(), f"{parts * games} games, largest deviation {deviations.max():.1f} standard errors"
    assert ((means - exact).norm() / exact.norm()) < 0.05


def test_the_values_of_actions_are_consistent() -> None:
    tree = compile_tree(make_game("kuhn"))
    policy = tree.uniform()
    values = action_values(tree, policy)
    root = expected_returns(tree, torch.from_numpy(policy), 0).item()
    first = np.flatnonzero((tree.player == 0) & (tree.parent_slot < 0))
    mean = np.mean([(policy * values)[tree.slots[i] : tree.slots[i + 1]].sum() for i in first])
    assert mean == pytest.approx(root)


def test_with_constant_entropy_it_converges_to_the_quantal_response_equilibrium() -> None:
    game = make_game("kuhn")
    tree = compile_tree(game)
    training = settings(
        entropy=0.1, value_weight=0.5, batch=2048, learning_rate=0.01, learning_rate_end=3e-4, schedule=150
    )
    learner = PolicyLearner(game, NETWORK.model_copy(update={"width": 64}), training, seed=1)
    for t in range(1, 201):
        learner.fit([sample(game, learner, 4000, 7, t)], t)
    agent = PolicyAgent(game, learner.network, [learner.weights()], "net")
    found, wanted = agent.tree_policy(tree), logit_equilibrium(tree, 0.2)  # 0.1 of the largest return
    assert np.abs(tree.uniform() - wanted).max() > 0.2
    assert np.abs(found - wanted).max() < 0.06


def test_loss_and_metrics_are_their_formulas() -> None:
    game = make_game("kuhn")
    training = settings(
        entropy=0.1, value_weight=0.5, magnet=0.2, magnet_rate=0.25, normalise=True, batch=10_000, learning_rate=0.05
    )
    learner = PolicyLearner(game, NETWORK, training, seed=3)
    start = learner.weights()
    learner.fit([sample(game, learner, 500, 7)], 1)
    weights = learner.weights()
    pulled = {name: 0.75 * start[name] + 0.25 * array for name, array in weights.items()}
    rows = sample(game, learner, 1000, 8, 2)
    legal = np.ones((len(rows), game.spec.num_actions), np.bool_)
    policy, values = PolicyInference(game, NETWORK, weights)(rows["infostate"], legal)
    magnet, _ = PolicyInference(game, NETWORK, pulled)(rows["infostate"], legal)
    target, advantage = rows["target"].astype(np.float64), rows["advantage"].astype(np.float64)
    expected = {
        "policy_loss": -(advantage / np.sqrt((advantage**2).mean())).mean(),
        "value_loss": ((values / game.spec.max_return - target) ** 2).mean(),
        "entropy": -(policy * np.log(policy)).sum(axis=1).mean(),
        "magnet": (policy * np.log(policy / magnet)).sum(axis=1).mean(),
    }
    assert expected["magnet"] > 0.001
    loss = learner._loss(rows, 5, torch.zeros(8, dtype=torch.float64), np.random.default_rng(0)).item()
    parts = np.array([expected[name] for name in ("policy_loss", "value_loss", "entropy", "magnet")])
    assert loss == pytest.approx(parts @ [1, 0.5, -0.1, 0.2], abs=1e-5)
    learner.training = training.model_copy(update={"learning_rate": 1e-12})
    found = learner.fit([rows], 5)
    expected |= {"explained": 1 - expected["value_loss"] / target.var(), "age": 3.0, "clipped": 0.0, "divergence": 0.0}
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-5)


def test_temperatures_are_in_units_of_what_the_first_games_returned() -> None:
    game = make_game("leduc")
    training = settings(entropy=0.2, value_weight=0.5, batch=256, unit="spread")
    spread, largest = (PolicyLearner(game, NETWORK, training, seed=1) for _ in range(2))
    for learner in (spread, largest):
        rows = sample(game, learner, 600, 7)
        learner.fit([rows], 1)
    stake = float(np.sqrt(np.square(rows["target"], dtype=np.float64).mean()))
    assert 0.1 < stake < 0.6, "of 13 chips"
    largest.training = training.model_copy(update={"unit": "largest", "entropy": 0.2 * stake})
    resumed = PolicyLearner(game, NETWORK, training, seed=9)
    resumed.load_state_arrays(*spread.state_arrays())
    for t in (2, 3):
        rows = sample(game, spread, 600, 7, t)
        for learner in (spread, largest, resumed):
            learner.fit([rows], t)
    for name, array in spread.weights().items():
        np.testing.assert_allclose(largest.weights()[name], array, atol=1e-6)
        np.testing.assert_array_equal(resumed.weights()[name], array)


def test_temperatures_are_not_in_units_of_a_fit_without_samples() -> None:
    game = make_game("leduc")
    training = settings(entropy=0.2, value_weight=0.5, batch=256, unit="spread")
    late, first = (PolicyLearner(game, NETWORK, training, seed=1) for _ in range(2))
    rows = sample(game, late, 600, 7)
    late.fit([rows[:0]], 1)
    for learner in (late, first):
        learner.fit([rows], 2)
        learner.fit([rows], 3)
    for name, array in first.weights().items():
        np.testing.assert_array_equal(late.weights()[name], array)
