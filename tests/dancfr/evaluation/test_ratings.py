"""Tests of Bradley-Terry ratings: exact values, coverage of the intervals, choice of pairs, and fit."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dancfr.evaluation.ratings import (
    ELO,
    PRIOR_SD,
    CrossTable,
    Ratings,
    choose_pairs,
    correlation_of,
    fit_quality,
    fit_ratings,
    squared_effect,
)

TRUE = np.array([300.0, 100.0, 0.0, -50.0, -350.0])


def expected(elo: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + 10 ** ((elo - elo[:, None]) / 400))


def table(wins: Any, draws: Any = 0.0) -> CrossTable:
    """Returns a table of wins, without its diagonal, and draws."""
    wins, draws = np.array(wins, np.float64), np.asarray(draws, np.float64)
    np.fill_diagonal(wins, 0)
    return CrossTable(wins + draws / 2, np.broadcast_to(draws / 4, wins.shape))


def added(one: CrossTable, other: CrossTable) -> CrossTable:
    return CrossTable(one.points + other.points, one.inner + other.inner)


def drawn(rate: NDArray[np.float64], games: Any, rng: np.random.Generator, draws: float = 0.0) -> CrossTable:
    """Draws results from true scores per game, with a share of draws (0 to 1, less where scores are uneven)."""
    games = np.broadcast_to(games, rate.shape)
    share = 2 * draws * np.minimum(rate, 1 - rate)  # a draw takes as much from the wins as from the losses
    wins, even = np.zeros((2, *rate.shape))
    for i, j in zip(*np.triu_indices(len(rate), 1), strict=True):
        chances = [rate[i, j] - share[i, j] / 2, share[i, j], 1 - rate[i, j] - share[i, j] / 2]
        wins[i, j], even[i, j], wins[j, i] = rng.multinomial(games[i, j], chances)
    return table(wins, even + even.T)


def test_ratings_are_those_of_which_the_scores_come() -> None:
    ratings = fit_ratings(table(100_000 * expected(TRUE)))
    np.testing.assert_allclose(ratings.elo, TRUE, atol=0.1)
    np.testing.assert_allclose(ratings.expected + ratings.expected.T, 1)
    np.testing.assert_allclose(fit_ratings(table([[0, 5, 0], [0, 0, 5], [5, 0, 0]])).elo, 0, atol=1e-6)


def test_ratings_do_not_depend_on_which_pairs_play_most() -> None:
    """A cycle with results of its own: every agent's expected scores add up to its scores."""
    rate = np.array([[0.5, 0.95, 0.3, 0.6], [0.05, 0.5, 0.9, 0.7], [0.7, 0.1, 0.5, 0.8], [0.4, 0.3, 0.2, 0.5]])
    uneven = np.array([[0, 9, 1, 3], [9, 0, 2, 5], [1, 2, 0, 1], [3, 5, 1, 0]])
    even, other = fit_ratings(table(1e6 * rate)), fit_ratings(table(1e6 * rate * uneven))
    np.testing.assert_allclose(other.elo, even.elo, atol=0.01)
    np.testing.assert_allclose(even.expected.sum(axis=1), rate.sum(axis=1), atol=1e-4)


@pytest.mark.parametrize("games", [10, 100, 1000, 1_000_000])
def test_an_agent_that_has_won_all_games_is_far_ahead_but_not_infinitely(games: int) -> None:
    ratings = fit_ratings(table([[0, games], [0, 0]]))
    better, worse = ratings.elo
    assert better == -worse
    assert 150 < better < 2.5 * PRIOR_SD
    (low, high), _ = ratings.ci95
    assert low < better < high
    assert low > 0 or games == 10


def test_before_the_first_game_all_are_equal_within_the_prior() -> None:
    ratings = fit_ratings(table(np.zeros((3, 3))))
    np.testing.assert_allclose(ratings.elo, 0)
    np.testing.assert_allclose(ratings.ci95[:, 1], 1.96 * PRIOR_SD * (2 / 3) ** 0.5, rtol=1e-3)


def test_the_interval_of_two_agents_is_that_of_their_odds() -> None:
    wins, losses = 6000, 3000
    ratings = fit_ratings(table([[0, wins], [losses, 0]]))
    error = (1 / wins + 1 / losses) ** 0.5  # of the logarithm of the odds
    difference = ELO * np.log(wins / losses)
    np.testing.assert_allclose(ratings.elo, [difference / 2, -difference / 2], rtol=1e-3)
    np.testing.assert_allclose(ratings.ci95[0] - ratings.elo[0], ELO * error / 2 * np.array([-1.96, 1.96]), rtol=1e-3)


def test_pairs_that_depend_on_each_other_widen_or_narrow_the_intervals() -> None:
    results = table([[0, 50, 50], [50, 0, 50], [50, 50, 0]])
    luck = np.random.default_rng(1).integers(0, 2, 1000)
    same = correlation_of(np.stack([luck, luck, 1 - luck]))  # the first agent is lucky in both matches
    alone, apart = fit_ratings(results), fit_ratings(results, np.eye(3))
    np.testing.assert_allclose(apart.covariance, alone.covariance)
    np.testing.assert_allclose(fit_ratings(results, same).covariance[0, 0], 2 * alone.covariance[0, 0], rtol=0.01)
    np.testing.assert_array_equal(correlation_of(np.ones((2, 5))), np.eye(2))


def coverage(rate: NDArray[np.float64], games: Any, draws: float, repetitions: int = 400) -> float:
    """Returns how often an interval contains the rating of the true scores."""
    rng, met = np.random.default_rng(1), np.broadcast_to(games, rate.shape)
    true = fit_ratings(table(1e7 * rate * ((met + met.T) > 0))).elo
    bounds = (fit_ratings(drawn(rate, games, rng, draws)).ci95.T for _ in range(repetitions))
    return float(np.mean([(low <= true) & (true <= high) for low, high in bounds]))


UNEVEN = np.array([[0, 30, 0, 0, 50], [0, 0, 300, 0, 0], [0, 0, 0, 40, 0], [0, 0, 0, 0, 100], [0, 0, 0, 0, 0]])
CYCLE = np.array([[0.5, 0.9, 0.3, 0.6], [0.1, 0.5, 0.9, 0.7], [0.7, 0.1, 0.5, 0.8], [0.4, 0.3, 0.2, 0.5]])


@pytest.mark.parametrize("rate", [expected(TRUE), CYCLE], ids=["ratings", "a cycle"])
@pytest.mark.parametrize("draws", [0.0, 0.5])
def test_intervals_cover_the_true_rating_in_95_of_100_cases(rate: NDArray[np.float64], draws: float) -> None:
    assert coverage(rate, 100, draws) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("spread", [400.0, 700.0])
def test_intervals_of_agents_that_win_nearly_all_games_are_not_too_narrow(spread: float) -> None:
    assert coverage(expected(np.array([spread, 0.0, -spread])), 100, 0.0) > 0.94


def test_intervals_cover_the_true_rating_where_some_pairs_play_more() -> None:
    assert coverage(expected(TRUE), UNEVEN, 0.0) == pytest.approx(0.95, abs=0.02)
    assert coverage(CYCLE, UNEVEN[:4, :4] + 50, 0.0) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("rate", [expected(TRUE[1:]), CYCLE], ids=["ratings", "a cycle"])
def test_intervals_cover_also_where_the_pairs_are_chosen_by_the_results(rate: NDArray[np.float64]) -> None:
    true, covered = fit_ratings(table(1e7 * rate)).elo, []
    for seed in range(100):
        rng, found = np.random.default_rng((2, seed)), table(np.zeros((4, 4)))
        for _ in range(5):
            games = np.zeros((4, 4), int)
            for i, j in choose_pairs(found, 4, 50):
                games[i, j] += 50
            found = added(found, drawn(rate, games, rng))
        low, high = fit_ratings(found).ci95.T
        covered.append((low <= true) & (true <= high))
    assert np.mean(covered) == pytest.approx(0.95, abs=0.03)


def test_the_sensitivity_is_the_change_of_the_ratings_by_a_score() -> None:
    base = table(10_000 * CYCLE)
    ratings = fit_ratings(base)
    for i, j in zip(*np.triu_indices(4, 1), strict=True):
        wins = base.points.copy()
        wins[i, j] += 1
        wins[j, i] -= 1
        change = (fit_ratings(table(wins)).strength - ratings.strength) * 10_000
        np.testing.assert_allclose(change, ratings.sensitivity[:, i] - ratings.sensitivity[:, j], atol=0.01)
        assert squared_effect(ratings)[i, j] == pytest.approx(change @ change, rel=0.01)


def test_pairs_that_have_not_met_come_first_and_then_the_least_certain() -> None:
    nothing = table(np.zeros((4, 4)))
    assert sorted(choose_pairs(nothing, 6, 100)) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    wins = np.full((4, 4), 50.0)
    assert choose_pairs(table(wins), 1, 100) == [(0, 1)]  # all are equal: the order of the agents decides
    wins[2, 3] = wins[3, 2] = 0
    assert choose_pairs(table(wins), 2, 100)[0] == (2, 3)
    wins = np.full((4, 4), 5000.0)
    wins[3] = wins[:, 3] = 50
    assert all(3 in pair for pair in choose_pairs(table(wins), 3, 100)), "the new agent is the least certain one"
    assert len(set(choose_pairs(table(wins), 3, 100))) == 3, "what has been chosen counts as known"
    uneven = table([[0, 2, 6], [2, 0, 6], [6, 6, 0]])
    chosen = choose_pairs(uneven, 3, 1000)
    assert chosen == [(0, 1), (0, 2), (1, 2)], "of a pair's variance 1000 games leave less than the others have"


def test_a_pair_that_contradicts_the_ratings_plays_on() -> None:
    """The fourth agent loses nearly all games but those against the first, which is the best one."""
    rate = np.array(
        [[0.5, 0.95, 0.98, 0.65], [0.05, 0.5, 0.98, 0.99], [0.02, 0.02, 0.5, 0.95], [0.35, 0.01, 0.05, 0.5]]
    )
    found = table(100 * rate)
    chosen = choose_pairs(found, 20, 100)
    assert chosen.count((0, 3)) > 6


def test_chosen_pairs_bring_more_than_equal_numbers_of_games() -> None:
    """Two agents far from the others: games against them tell little, except between the two."""
    rate = expected(np.array([800.0, 700.0, 100.0, 50.0, 0.0, -50.0]))

    def total(ratings: Ratings) -> float:
        return float(np.trace(ratings.covariance))

    equal, chosen = table(300 * rate), table(100 * rate)
    for _ in range(5):
        for i, j in choose_pairs(chosen, 6, 100):
            more = np.zeros(rate.shape)
            more[i, j], more[j, i] = 100 * rate[i, j], 100 * rate[j, i]
            chosen = added(chosen, table(more))
    assert chosen.games.sum() == pytest.approx(equal.games.sum())
    assert total(fit_ratings(chosen)) < 0.95 * total(fit_ratings(equal))


def test_a_cycle_does_not_fit_and_results_of_true_ratings_do() -> None:
    cycle = table([[0, 70, 30], [30, 0, 70], [70, 30, 0]])
    found = fit_quality(cycle, fit_ratings(cycle))
    assert found.residuals[0, 1] == pytest.approx(0.2 / (0.21 / 100 / 3) ** 0.5, rel=0.02)  # all three pairs say it
    assert found.residuals[1, 0] == -found.residuals[0, 1]
    assert np.isnan(np.diag(found.residuals)).all()
    assert found.deviation == pytest.approx(0.2)
    assert found.noise == pytest.approx((0.21 / 100 / 3) ** 0.5, rel=0.02)
    rng, fits = np.random.default_rng(4), []
    games = rng.integers(50, 400, (5, 5))
    for _ in range(200):
        results = drawn(expected(TRUE), games, rng)
        fits.append(fit_quality(results, fit_ratings(results)))
    squares = [
        np.mean([each**2 for each in part]) for part in zip(*((f.deviation, f.noise) for f in fits), strict=True)
    ]
    assert squares[0] == pytest.approx(squares[1], rel=0.1)
    upper = np.array([found.residuals[np.triu_indices(5, 1)] for found in fits])
    np.testing.assert_allclose(upper.std(axis=0), 1, atol=0.2)


def test_pairs_that_determine_the_ratings_alone_say_nothing_of_the_fit() -> None:
    alone = table([[0, 60], [40, 0]])
    found = fit_quality(alone, fit_ratings(alone))
    assert np.isnan(found.residuals).all()
    assert found.noise < 0.001
    assert fit_quality(table(np.zeros((3, 3))), fit_ratings(table(np.zeros((3, 3))))).deviation == 0
