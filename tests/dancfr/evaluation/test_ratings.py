"""Tests of Bradley-Terry ratings: exact values, coverage of the intervals, choice of pairs, and fit."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dancfr.evaluation.ratings import (
    ELO,
    PRIOR_SD,
    Ratings,
    choose_pairs,
    fit_quality,
    fit_ratings,
    variance_reduction,
)

TRUE = np.array([300.0, 100.0, 0.0, -50.0, -350.0])


def expected(elo: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + 10 ** ((elo - elo[:, None]) / 400))


def drawn(elo: NDArray[np.float64], games: Any, rng: np.random.Generator, draws: float = 0.0) -> NDArray[np.float64]:
    """Returns scores of games drawn from true ratings, of which a share ends in a draw, `[N, N]`."""
    rate, games = expected(elo), np.broadcast_to(games, (len(elo), len(elo)))
    share = 2 * draws * np.minimum(rate, 1 - rate)  # a draw takes as much from the wins as from the losses
    scores = np.zeros(rate.shape)
    for i, j in zip(*np.triu_indices(len(elo), 1), strict=True):
        chances = [rate[i, j] - share[i, j] / 2, share[i, j], 1 - rate[i, j] - share[i, j] / 2]
        won, even, lost = rng.multinomial(games[i, j], chances)
        scores[i, j], scores[j, i] = won + even / 2, lost + even / 2
    return scores


def test_ratings_are_those_of_which_the_scores_come() -> None:
    ratings = fit_ratings(100_000 * expected(TRUE))
    np.testing.assert_allclose(ratings.elo, TRUE, atol=0.1)
    np.testing.assert_allclose(ratings.expected + ratings.expected.T, 1)
    np.testing.assert_allclose(fit_ratings([[0, 5, 0], [0, 0, 5], [5, 0, 0]]).elo, 0, atol=1e-6)


@pytest.mark.parametrize("games", [10, 100, 1000, 1_000_000])
def test_an_agent_that_has_won_all_games_is_far_ahead_but_not_infinitely(games: int) -> None:
    ratings = fit_ratings([[0, games], [0, 0]])
    better, worse = ratings.elo
    assert better == -worse
    assert 150 < better < 2.5 * PRIOR_SD
    (low, high), _ = ratings.ci95
    assert low < better < high
    assert low > 0 or games == 10


def test_before_the_first_game_all_are_equal_within_the_prior() -> None:
    ratings = fit_ratings(np.zeros((3, 3)))
    np.testing.assert_allclose(ratings.elo, 0)
    np.testing.assert_allclose(ratings.ci95[:, 1], 1.96 * PRIOR_SD * (2 / 3) ** 0.5, rtol=1e-3)


def test_the_interval_of_two_agents_is_that_of_their_odds() -> None:
    wins, losses = 6000, 3000
    ratings = fit_ratings([[0, wins], [losses, 0]])
    error = (1 / wins + 1 / losses) ** 0.5  # of the logarithm of the odds
    difference = ELO * np.log(wins / losses)
    np.testing.assert_allclose(ratings.elo, [difference / 2, -difference / 2], rtol=1e-3)
    np.testing.assert_allclose(ratings.ci95[0] - ratings.elo[0], ELO * error / 2 * np.array([-1.96, 1.96]), rtol=1e-3)


def coverage(games: Any, draws: float, elo: NDArray[np.float64] = TRUE, repetitions: int = 400) -> float:
    rng, covered = np.random.default_rng(1), []
    for _ in range(repetitions):
        low, high = fit_ratings(drawn(elo, games, rng, draws)).ci95.T
        covered.append((low <= elo - elo.mean()) & (elo - elo.mean() <= high))
    return float(np.mean(covered))


UNEVEN = np.array([[0, 20, 0, 0, 50], [0, 0, 300, 0, 0], [0, 0, 0, 40, 0], [0, 0, 0, 0, 100], [0, 0, 0, 0, 0]])


@pytest.mark.parametrize("games", [100, UNEVEN], ids=["every pair 100 games", "some pairs"])
def test_intervals_cover_the_true_rating_in_95_of_100_cases(games: Any) -> None:
    assert coverage(games, 0.0) == pytest.approx(0.95, abs=0.02)


def test_with_draws_the_intervals_are_too_wide_rather_than_too_narrow() -> None:
    assert coverage(100, 0.5) > 0.96


def test_intervals_cover_also_where_the_pairs_are_chosen_by_the_results() -> None:
    elo, covered = TRUE[1:], []
    for seed in range(60):
        rng, scores = np.random.default_rng((2, seed)), np.zeros((4, 4))
        for _ in range(5):
            games = np.zeros((4, 4), int)
            for i, j in choose_pairs(scores, 4, 50):
                games[i, j] += 50
            scores += drawn(elo, games, rng)
        low, high = fit_ratings(scores).ci95.T
        covered.append((low <= elo - elo.mean()) & (elo - elo.mean() <= high))
    assert np.mean(covered) == pytest.approx(0.95, abs=0.04)


def test_the_expected_reduction_is_that_of_games_with_the_expected_results() -> None:
    scores = drawn(TRUE, UNEVEN, np.random.default_rng(3))
    ratings = fit_ratings(scores)
    reduction = variance_reduction(ratings, 60)
    np.testing.assert_allclose(reduction, reduction.T)
    np.testing.assert_allclose(np.diag(reduction), 0)
    for i, j in zip(*np.triu_indices(5, 1), strict=True):
        more = scores.copy()
        more[i, j] += 60 * ratings.expected[i, j]
        more[j, i] += 60 * ratings.expected[j, i]
        after = fit_ratings(more)
        np.testing.assert_allclose(after.strength, ratings.strength, atol=1e-7)
        fall = np.trace(ratings.covariance) - np.trace(after.covariance)
        assert reduction[i, j] == pytest.approx(fall, rel=1e-6)


def test_pairs_that_have_not_met_come_first_and_then_the_least_certain() -> None:
    assert sorted(choose_pairs(np.zeros((4, 4)), 6, 100)) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    scores = np.full((4, 4), 50.0)
    assert choose_pairs(scores, 1, 100) == [(0, 1)]  # all are equal: the order of the agents decides
    scores[2, 3] = scores[3, 2] = 0
    assert choose_pairs(scores, 2, 100)[0] == (2, 3)
    scores = np.full((4, 4), 5000.0)
    scores[3] = scores[:, 3] = 50
    assert all(3 in pair for pair in choose_pairs(scores, 3, 100)), "the new agent is the least certain one"
    assert len(set(choose_pairs(scores, 3, 100))) == 3, "what has been chosen counts as known"


def test_chosen_pairs_bring_more_than_equal_numbers_of_games() -> None:
    """Two agents far from the others: games against them tell little, except between the two."""
    elo = np.array([1000.0, 900.0, 100.0, 50.0, 0.0, -50.0])

    def total(ratings: Ratings) -> float:
        return float(np.trace(ratings.covariance))

    rate = expected(elo)
    equal, chosen = 300 * rate, 100 * rate
    for _ in range(5):
        for i, j in choose_pairs(chosen, 6, 100):
            chosen[i, j] += 100 * rate[i, j]
            chosen[j, i] += 100 * rate[j, i]
    np.fill_diagonal(equal, 0)
    np.fill_diagonal(chosen, 0)
    assert chosen.sum() == pytest.approx(equal.sum())
    assert total(fit_ratings(chosen)) < 0.7 * total(fit_ratings(equal))


def test_a_cycle_does_not_fit_and_results_of_true_ratings_do() -> None:
    cycle = np.array([[0, 70, 30], [30, 0, 70], [70, 30, 0]])
    ratings = fit_ratings(cycle)
    found = fit_quality(cycle, ratings)
    assert found.residuals[0, 1] == pytest.approx(20 / 5)  # 70 of 100 where 50 are expected
    assert found.residuals[1, 0] == -found.residuals[0, 1]
    assert np.isnan(np.diag(found.residuals)).all()
    assert (found.chi_square, found.freedom) == (pytest.approx(48), 1)
    assert found.p_value is not None
    assert found.p_value < 1e-9
    rng, fits = np.random.default_rng(4), []
    for _ in range(200):
        scores = drawn(TRUE, 200, rng)
        fits.append(fit_quality(scores, fit_ratings(scores)))
    assert {found.freedom for found in fits} == {10 - 4}
    assert np.mean([found.chi_square for found in fits]) == pytest.approx(6, abs=0.6)
    assert np.mean([found.p_value < 0.05 for found in fits]) == pytest.approx(0.05, abs=0.04)


def test_pairs_that_determine_the_ratings_alone_say_nothing_of_the_fit() -> None:
    found = fit_quality([[0, 60], [40, 0]], fit_ratings([[0, 60], [40, 0]]))
    assert (found.freedom, found.p_value) == (0, None)
    apart = np.zeros((4, 4))
    apart[0, 1] = apart[1, 0] = apart[2, 3] = apart[3, 2] = 10
    assert fit_quality(apart, fit_ratings(apart)).freedom == 0
