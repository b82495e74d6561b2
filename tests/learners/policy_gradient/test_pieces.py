"""Tests of advantages, policies and the loss against plain computations."""

import numpy as np
import pytest
import torch

from learners.advantages import estimate_advantages
from learners.policy_gradient.learner import log_policy
from learners.policy_gradient.policy import softmax
from learners.policy_gradient.settings import AdversarySettings, PolicyTrainingSettings
from learners.ppo import ppo_loss
from learners.regret_matching import apply_threshold, draw_actions


def test_advantages_are_those_of_the_sum_over_deltas() -> None:
    rng = np.random.default_rng(1)
    games, players, n = 5, 3, 60
    game = rng.integers(games, size=n).astype(np.int32)
    player = rng.integers(players, size=n).astype(np.int8)
    value = rng.normal(size=n).astype(np.float32)
    returns = rng.normal(size=(games, players)).astype(np.float32)
    gamma, trace = 0.9, 0.7
    found = np.empty(n, np.float32)
    estimate_advantages(game, player, value, returns, gamma, trace, found)
    for g in range(games):
        for p in range(players):
            own = np.flatnonzero((game == g) & (player == p))
            after = [gamma * v for v in value[own][1:]] + [returns[g, p]]
            deltas = np.array(after[len(after) - len(own) :]) - value[own]
            for i, row in enumerate(own):
                # (gamma lambda)^k, except that nothing is discounted from the last decision to the return
                expected = sum((gamma * trace) ** k * delta for k, delta in enumerate(deltas[i:]))
                assert found[row] == pytest.approx(expected, abs=1e-5)


def test_returns_without_bootstrapping_are_the_targets() -> None:
    game, player = np.zeros(4, np.int32), np.array([0, 1, 0, 1], np.int8)
    value = np.array([0.3, -0.2, 0.1, 0.5], np.float32)
    advantage = np.empty(4, np.float32)
    estimate_advantages(game, player, value, np.array([[1, -1]], np.float32), 1.0, 1.0, advantage)
    np.testing.assert_allclose(advantage + value, [1, -1, 1, -1], rtol=1e-6)


def test_softmax_is_that_of_torch_and_draws_follow_it() -> None:
    rng = np.random.default_rng(2)
    logits = (5 * rng.normal(size=(50, 8))).astype(np.float32)
    legal = rng.random((50, 7)) < 0.6
    legal[:, 2] = True
    policy = np.empty((50, 7), np.float32)
    softmax(logits, legal, policy)
    expected = log_policy(torch.from_numpy(logits[:, :7]), torch.from_numpy(legal)).exp().numpy()
    np.testing.assert_allclose(policy, expected, atol=1e-6)
    assert (policy[~legal] == 0).all()

    draws = rng.random(20_000, dtype=np.float32)
    each = [np.repeat(rows[:1], len(draws), axis=0) for rows in (policy, legal)]
    actions, probability = draw_actions(*each, draws)
    counts = np.bincount(actions, minlength=7) / len(draws)
    assert np.abs(counts - policy[0]).max() < 4 * np.sqrt(0.25 / len(draws))
    np.testing.assert_allclose(probability, policy[0][actions], rtol=1e-5)


def test_rounding_never_draws_an_illegal_action() -> None:
    policy = np.array([[0.3, 0.7 - 1e-6, 0.0]], np.float32)
    draws = np.array([np.float32(1) - np.float32(2**-24)])
    actions, _ = draw_actions(policy, policy > 0, draws)
    assert actions[0] == 1


def test_a_threshold_leaves_out_what_is_improbable() -> None:
    policy = np.array([[0.5, 0.26, 0.24], [1, 0, 0]], np.float32)
    np.testing.assert_allclose(apply_threshold(policy, 0.5), [[0.5 / 0.76, 0.26 / 0.76, 0], [1, 0, 0]], rtol=1e-5)
    assert apply_threshold(policy, 0.0) is policy


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "clipped"),
    [(1.1, 2.0, -2.2, False), (1.5, 2.0, -2.4, True), (0.5, -2.0, 1.6, True), (1.5, -2.0, 3.0, False)],
)
def test_ppo_clips_only_in_the_direction_of_the_advantage(
    ratio: float, advantage: float, loss: float, clipped: bool
) -> None:
    found, without = ppo_loss(torch.tensor([np.log(ratio)]), torch.tensor([advantage]), 0.2)
    assert found.item() == pytest.approx(loss)
    assert bool(without) is clipped


def test_schedules_are_geometric_and_stay_at_their_end() -> None:
    settings = PolicyTrainingSettings(entropy=0.1, entropy_end=0.001, schedule=101)
    assert settings.at("entropy", 1) == pytest.approx(0.1)
    assert settings.at("entropy", 51) == pytest.approx(0.01)
    assert settings.at("entropy", 101) == settings.at("entropy", 5000) == pytest.approx(0.001)
    assert settings.at("learning_rate", 7) == settings.learning_rate
    with pytest.raises(ValueError, match="must both be positive"):
        PolicyTrainingSettings(entropy=0.1, entropy_end=0.0)


def test_without_a_length_a_schedule_follows_the_run() -> None:
    settings = PolicyTrainingSettings(entropy=0.1, entropy_end=0.001, schedule=None)
    found = [settings.at("entropy", iteration, done) for iteration, done in ((1, 0.0), (900, 0.5), (3, 1.0))]
    assert found == pytest.approx([0.1, 0.01, 0.001])
    assert PolicyTrainingSettings(entropy=0.1, entropy_end=0.001, schedule=3).at("entropy", 3, 0.1) == found[2]


def test_adversaries_are_fitted_as_the_policy_is_but_at_constant_rates_and_without_magnet() -> None:
    policy = PolicyTrainingSettings(
        batch=64, entropy=0.1, entropy_end=0.01, magnet=0.2, magnet_end=0.1, hide=0.1, hide_end=0.05, critic="all"
    )
    beside = AdversarySettings(learning_rate=0.01, entropy=0.02).training(policy)
    assert PolicyTrainingSettings.model_validate(beside.model_dump()) == beside
    assert (beside.batch, beside.critic, beside.trace) == (64, "all", policy.trace)
    assert (beside.magnet, beside.hide) == (0, 0)
    for iteration in (1, 1000):
        assert beside.at("learning_rate", iteration) == 0.01
        assert beside.at("entropy", iteration) == 0.02
