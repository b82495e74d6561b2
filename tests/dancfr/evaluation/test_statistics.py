"""Tests of intervals against closed forms, and of curves aggregated over runs."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from dancfr.evaluation.statistics import (
    Summary,
    bounded_mean,
    one_run,
    over_iterations,
    over_time,
    stratified,
    summarise,
    sweeps,
    wilson,
)

Z = 1.959963984540054  # 97.5 % quantile of the normal distribution


@pytest.mark.parametrize(("k", "n"), [(0, 10), (1, 3), (491, 1000), (970, 1000), (1000, 1000)])
def test_wilson_is_the_closed_form(k: int, n: int) -> None:
    p = k / n
    centre = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    assert wilson(k, n) == pytest.approx((centre - half, centre + half), abs=1e-12)


def test_wilson_before_the_first_game_says_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


def test_wilson_refuses_more_wins_than_games() -> None:
    with pytest.raises(ValueError, match="k"):
        wilson(3, 2)


@pytest.mark.parametrize(("both", "one", "none"), [(40, 50, 10), (3, 5, 2), (1, 90, 9), (300, 1, 50)])
def test_the_interval_of_deals_is_where_the_score_statistic_reaches_its_quantile(
    both: int, one: int, none: int
) -> None:
    deals = both + one + none
    for end in sweeps(both, one, none):
        difference = 2 * end - 1

        def unlikely(q: float, difference: float = difference) -> float:
            return -(both * math.log(q + difference) + none * math.log(q) + one * math.log(1 - 2 * q - difference))

        inside = (max(0.0, -difference) + 1e-12, (1 - difference) / 2 - 1e-12)
        q = minimize_scalar(unlikely, bounds=inside, method="bounded", options={"xatol": 1e-12}).x
        score = (both - none - deals * difference) / math.sqrt(deals * (2 * q + difference * (1 - difference)))
        assert abs(score) == pytest.approx(Z, abs=1e-4)


@pytest.mark.parametrize(("skill", "noise"), [(0.0, 0.3), (0.5, 0.3), (0.5, 1.0), (1.5, 0.5)])
def test_the_interval_of_deals_covers_as_often_as_it_says_and_is_narrower(skill: float, noise: float) -> None:
    """Games decided by luck, which favours opposite sides in the two games of a deal."""
    rng = np.random.default_rng(4)
    deals, matches = 120, 1500
    luck = rng.normal(size=(matches, deals, 1)) * [1, -1]
    won = (skill + luck + noise * rng.normal(size=(matches, deals, 2)) > 0).sum(axis=2)
    counts, times = np.unique([[(row == n).sum() for n in (2, 1, 0)] for row in won], axis=0, return_counts=True)
    true = (1 + math.erf(skill / math.sqrt(2 * (1 + noise**2)))) / 2
    covered = narrower = 0
    for (both, one, none), count in zip(counts.tolist(), times, strict=True):
        low, high = sweeps(both, one, none)
        wide = wilson(2 * both + one, 2 * deals)
        covered += count * (low <= true <= high)
        narrower += count * (high - low < wide[1] - wide[0])
    assert covered / matches == pytest.approx(0.95, abs=0.02)
    assert narrower > 0.99 * matches


def test_the_interval_of_deals_has_a_width_where_all_end_alike() -> None:
    assert sweeps(0, 0, 0) == (0.0, 1.0)
    for low, high in (sweeps(0, 50, 0), sweeps(50, 0, 0), sweeps(0, 0, 50)):
        assert 0.02 < high - low < 0.1
    low, high = sweeps(50, 0, 0)
    assert high == 1.0
    assert sweeps(0, 0, 50) == pytest.approx((0.0, 1 - low))
    with pytest.raises(ValueError, match="negative"):
        sweeps(3, -1, 0)


def test_the_interval_of_a_bounded_mean_is_the_normal_one_with_two_more_returns_at_each_bound() -> None:
    padded = np.array([1.0, 1.0, 0.5, -2.0, 0.0, 3.0, 3.0, -3.0, -3.0])
    found = bounded_mean(padded[:5], 3.0)
    assert (found.mean, found.middle) == pytest.approx((padded[:5].mean(), padded.mean()))
    assert found.error == pytest.approx(padded.std(ddof=1) / 3)
    half = 1.96 * found.error
    assert (found.low, found.high) == pytest.approx((found.middle - half, found.middle + half))


def test_summary_is_the_t_interval() -> None:
    found = summarise([1.0, 2.0, 6.0])
    assert (found.mean, found.n) == (3.0, 3)
    assert found.sd == pytest.approx(math.sqrt(7))
    half = 4.302652729911275 * math.sqrt(7 / 3)  # 97.5 % quantile of t with 2 degrees of freedom
    assert (found.low, found.high) == pytest.approx((3 - half, 3 + half))
    with pytest.raises(ValueError, match="no runs"):
        summarise([])


def test_samples_of_parts_estimate_the_mean_of_all_and_their_interval_covers_it() -> None:
    rng, hits, trials = np.random.default_rng(1), 0, 2000
    parts = ((700, 3.0, 1.0, 20), (200, -1.0, 4.0, 6), (100, 0.0, 0.2, 3))  # size, mean, deviation, values
    true = sum(size * mean for size, mean, _, _ in parts) / 1000
    found = []
    for _ in range(trials):
        drawn = [(size, rng.normal(mean, sd, n).tolist()) for size, mean, sd, n in parts]
        summary = stratified(drawn)
        assert summary is not None
        assert summary.n == 29
        hits += summary.low <= true <= summary.high
        found.append(summary.mean)
    assert np.mean(found) == pytest.approx(true, abs=4 * np.std(found) / trials**0.5)
    assert 0.92 < hits / trials < 0.97


def test_one_part_is_the_t_interval_and_single_values_borrow_their_variance() -> None:
    values = [0.3, -0.2, 0.9, 0.4]
    whole, plain = stratified([(7, values), (3, [])]), summarise(values)
    assert whole is not None
    assert (whole.mean, whole.low, whole.high) == pytest.approx((plain.mean, plain.low, plain.high))
    mixed = stratified([(3, values), (1, [5.0])])
    assert mixed is not None
    assert mixed.mean == pytest.approx(0.75 * plain.mean + 1.25)
    assert mixed.high - mixed.mean > (plain.high - plain.mean) / 2
    singles = stratified([(1, [1.0]), (3, [2.0])])
    assert singles is not None
    assert singles.mean == 1.75
    assert singles.low < 1
    assert stratified([(1, [2.0])]) is None
    assert stratified([(1, [2.0, 2.0]), (2, [2.0])]) == Summary(2.0, None, 2.0, 2.0, 3)


@pytest.mark.parametrize(("sizes", "counts"), [((500, 500), (2, 1)), ((990, 10), (1, 30)), ((900, 100), (20, 1))])
def test_parts_with_one_value_keep_the_interval_valid(sizes: tuple[int, ...], counts: tuple[int, ...]) -> None:
    rng, trials, hits = np.random.default_rng(0), 1000, 0
    for _ in range(trials):
        parts = [
            (size, rng.normal(2 * i, size=n).tolist()) for i, (size, n) in enumerate(zip(sizes, counts, strict=True))
        ]
        summary = stratified(parts)
        assert summary is not None
        hits += summary.low <= 2 * sizes[1] / sum(sizes) <= summary.high
    assert 0.92 < hits / trials < 0.98


def test_parts_of_equal_values_that_differ_between_them_have_an_interval() -> None:
    summary = stratified([(10, [1.0, 1.0]), (90, [2.0])])
    assert summary is not None
    assert summary.low < 1.5 < 1.9 < 2 < summary.high


def test_one_run_has_no_band_and_two_are_bounded_by_themselves() -> None:
    first = (np.array([1.0, 2.0]), np.array([0.2, 0.6]))
    second = (np.array([1.0, 2.0]), np.array([0.4, 0.4]))
    one = over_iterations([first])
    assert (one.low == one.mean).all()
    assert (one.high == one.mean).all()
    two = over_iterations([first, second])
    np.testing.assert_allclose(two.mean, [0.3, 0.5])
    np.testing.assert_allclose([two.low, two.high], [[0.2, 0.4], [0.4, 0.6]])
    assert two.means == "range of 2 runs"


def test_the_band_of_one_run_is_what_its_games_tell() -> None:
    curve = (np.array([1.0, 2.0]), np.array([0.2, 0.6]))
    assert not over_iterations([curve]).known
    band = one_run(curve, np.array([0.1, np.nan]), np.array([0.3, np.nan]))
    assert band.known
    assert "Wilson" in band.means
    np.testing.assert_array_equal(band.mean, curve[1])
    np.testing.assert_array_equal(band.low, [0.1, np.nan])
    nothing = np.full(2, np.nan)
    assert one_run(curve, nothing, nothing).means == "one run"


def test_iterations_are_those_that_all_runs_have() -> None:
    curves = [
        (np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])),
        (np.array([2.0, 3.0, 4.0]), np.zeros(3)),
    ]
    band = over_iterations(curves)
    np.testing.assert_array_equal(band.x, [2, 3])
    np.testing.assert_array_equal(band.mean, [1, 1.5])
    with pytest.raises(ValueError, match="in common"):
        over_iterations([(np.array([1.0]), np.ones(1)), (np.array([2.0]), np.ones(1))])


def test_wall_time_is_interpolated_where_all_runs_overlap() -> None:
    curves = [(np.array([0.0, 10.0]), np.array([0.0, 1.0])), (np.array([5.0, 20.0]), np.array([1.0, 1.0]))]
    band = over_time(curves, points=3)
    np.testing.assert_allclose(band.x, [5, 7.5, 10])
    np.testing.assert_allclose(band.mean, [0.75, 0.875, 1.0])
    with pytest.raises(ValueError, match="share no span of time"):
        over_time([(np.array([0.0, 1.0]), np.ones(2)), (np.array([2.0, 3.0]), np.ones(2))])
