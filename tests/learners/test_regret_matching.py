"""Outputs to advantages, advantages to policies, policies to actions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from learners.networks.inference import action_values
from learners.regret_matching import (
    apply_threshold,
    match_regrets,
    sample_actions,
    uniform_policy,
)

LAST_DRAW = np.nextafter(np.float32(1), np.float32(0))


def matched(outputs, slots, legal) -> np.ndarray:
    legal = np.array(legal, np.bool_)
    policy = np.full(legal.shape, np.nan, np.float32)
    advantages = np.empty(legal.shape, np.float32)
    slots = np.array(slots, np.int16)[:, :, None]
    action_values(np.array(outputs, np.float32)[None], slots, legal, advantages[None])
    match_regrets(advantages[None], legal, policy[None])
    return policy


def sampled(policy, legal, epsilon, draws) -> tuple[np.ndarray, np.ndarray]:
    actions = np.empty(len(draws), np.int64)
    probability = np.empty(len(draws), np.float32)
    legal = np.broadcast_to(np.array(legal, np.bool_), (len(draws), len(legal))).copy()
    policy = np.broadcast_to(np.array(policy, np.float32), legal.shape).copy()
    epsilons = np.full(len(draws), epsilon, np.float32)
    sample_actions(policy, legal, epsilons, np.asarray(draws, np.float32), actions, probability)
    return actions, probability


def test_policies_are_proportional_to_the_positive_advantages_of_legal_actions():
    every, own = [True] * 4, [0, 1, 2, 3]
    outputs = [[1, 3, -2, 0], [1, 3, 9, -1], [-1, -3, -2, -0.5], [-1, 5, -2, 5], [0, 0, 0, 0]]
    legal = [every, [True, True, False, True], every, [True, False, True, False], [False, True, True, True]]
    expected = [
        [0.25, 0.75, 0, 0],
        [0.25, 0.75, 0, 0],  # the greatest output belongs to an action that is not legal
        [0, 0, 0, 1],  # none is positive: the greatest has probability 1 (Deep CFR)
        [1, 0, 0, 0],
        [0, 1, 0, 0],  # all equal: the first legal one
    ]
    np.testing.assert_array_equal(matched(outputs, [own] * 5, legal), np.array(expected, np.float32))


def test_outputs_are_found_by_slot():
    """Two actions may share a slot; an action without one is never legal and its slot -1 never read."""
    policy = matched([[-9, 2, 6, 7]], [[2, 1, -1, 0, 1]], [[True, True, False, True, True]])
    np.testing.assert_allclose(policy, [[0.6, 0.2, 0, 0, 0.2]], rtol=1e-6)
    assert matched([[1, 2, 3, np.nan]], [[-1, 0]], [[False, True]]).tolist() == [[0, 1]]


def test_an_action_may_stand_for_a_sum_of_outputs():
    """Slots -1 add nothing; illegal slots are 0; every net and infostate has its own outputs."""
    outputs = np.array([[[1, 2, 4, 8], [1, 2, 4, 8]], [[-1, -2, -4, -8], [0, 0, 0, np.nan]]], np.float32)
    slots = np.array([[[0, 3], [1, -1], [2, 2]], [[-1, -1], [-1, 2], [0, 1]]], np.int16)
    legal = np.array([[True, True, False], [True, True, True]])
    values = np.full((2, 2, 3), np.nan, np.float32)
    action_values(outputs, slots, legal, values)
    assert values.tolist() == [[[9, 2, 0], [0, 4, 3]], [[-9, -2, 0], [0, 0, 0]]]


def test_policies_may_replace_the_advantages_they_come_from():
    rng = np.random.default_rng(1)
    advantages = rng.normal(size=(3, 20, 4)).astype(np.float32)
    legal = rng.random((20, 4)) < 0.7
    policies = np.empty_like(advantages)
    match_regrets(advantages, legal, policies)
    match_regrets(advantages, legal, advantages)
    assert np.array_equal(advantages, policies)


@given(
    arrays.arrays(np.float32, (3, 5), elements=st.floats(-(2.0**100), 2.0**100, width=32, allow_subnormal=True)),
    arrays.arrays(np.bool_, (3, 5)),
)
def test_policies_are_distributions_over_legal_actions(outputs, legal):
    legal[~legal.any(axis=1), 2] = True
    policy = matched(outputs, np.tile(np.arange(5, dtype=np.int16), (3, 1)), legal)
    assert (policy >= 0).all()
    assert (policy[~legal] == 0).all()
    np.testing.assert_allclose(policy.sum(axis=1), 1, rtol=1e-5)
    best = np.where(legal, outputs, -np.inf).max(axis=1)
    for row in range(3):
        if best[row] <= 0:
            assert policy[row].max() == 1
        else:
            assert (policy[row][outputs[row] <= 0] == 0).all()


def test_uniform_policies():
    policy = np.empty((2, 4), np.float32)
    uniform_policy(np.array([[True, False, True, True], [False, True, False, False]]), policy)
    np.testing.assert_allclose(policy, [[1 / 3, 0, 1 / 3, 1 / 3], [0, 1, 0, 0]], rtol=1e-6)


@pytest.mark.parametrize("epsilon", [0.0, 0.25, 1.0])
def test_actions_are_sampled_from_xi(epsilon):
    policy, legal = [0.5, 0.0, 0.0, 0.3, 0.2], [True, True, False, True, True]
    xi = np.where(legal, epsilon / 4 + (1 - epsilon) * np.array(policy), 0)
    games = 200_000
    draws = np.random.default_rng(3).random(games, dtype=np.float32)
    actions, probability = sampled(policy, legal, epsilon, draws)
    np.testing.assert_allclose(probability, xi[actions], rtol=1e-6)
    share = np.bincount(actions, minlength=5) / games
    assert (np.abs(share - xi) <= 4.5 * np.sqrt(xi * (1 - xi) / games)).all()


@pytest.mark.parametrize("draw", [np.float32(0), LAST_DRAW])
@pytest.mark.parametrize("epsilon", [0.0, 1e-7, 0.5, 1.0])
def test_the_first_and_the_last_draw_give_possible_actions(draw, epsilon):
    rng = np.random.default_rng(4)
    for _ in range(200):
        legal = rng.random(7) < 0.5
        legal[rng.integers(7)] = True
        policy = rng.exponential(size=7) * legal * (rng.random(7) < 0.6)
        policy[np.flatnonzero(legal)[0]] += 1e-3
        policy = (policy / policy.sum()).astype(np.float32)
        (action,), (probability,) = sampled(policy, legal, epsilon, [draw])
        assert legal[action]
        assert probability > 0
        xi = np.where(legal, epsilon / legal.sum() + (1 - epsilon) * policy, 0)
        likely = np.flatnonzero(xi > 1e-6)  # less than that is lost to rounding at the far end
        assert action == np.flatnonzero(xi)[0] if draw == 0 else action >= likely[-1]


def test_probability_lost_to_rounding_never_reaches_impossible_actions():
    """A policy that sums to a little less than 1, followed by actions of probability 0 and one not legal."""
    actions, probability = sampled([0.3, 0.699, 0, 0], [True, True, True, False], 0.0, [LAST_DRAW])
    assert actions.tolist() == [1]
    assert probability.tolist() == [np.float32(0.699)]


def test_a_threshold_keeps_what_is_exactly_at_it():
    policy = np.array([[0.5, 0.25, 0.125, 0.125], [0.25, 0.25, 0.25, 0.25]], np.float32)
    np.testing.assert_allclose(apply_threshold(policy, 0.5), [[2 / 3, 1 / 3, 0, 0], [0.25] * 4], rtol=1e-6)
    np.testing.assert_array_equal(apply_threshold(policy, 1.0), [[1, 0, 0, 0], [0.25] * 4])


def test_every_game_has_its_own_exploration():
    draws = np.full(2, 0.9, np.float32)
    actions, probability = np.empty(2, np.int64), np.empty(2, np.float32)
    policy = np.tile(np.array([1, 0], np.float32), (2, 1))
    sample_actions(policy, np.ones((2, 2), np.bool_), np.array([0, 0.5], np.float32), draws, actions, probability)
    assert actions.tolist() == [0, 1]
    assert probability.tolist() == [1, 0.25]
