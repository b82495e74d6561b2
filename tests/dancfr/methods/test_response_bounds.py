"""Tests of the bounds that the returns of a response and of known agents give, and of their confidence."""

from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

from dancfr.evaluation.statistics import bounded_mean, quantile_of_best
from dancfr.methods.best_response.result import KnownAgent, bounds


def test_bounds_are_never_below_zero_and_add_up() -> None:
    rng = np.random.default_rng(0)
    found = bounds([rng.choice([-1, 1], 1000, p=[0.4, 0.6]), rng.choice([-1, 1], 1000, p=[0.8, 0.2])], 1.0)
    first, second = found["seats"]["first"]["value"], found["seats"]["second"]["value"]
    assert found["value"] == pytest.approx((first + second) / 2)
    assert found["exploitability_lower_bound"] == found["nash_conv_lower_bound"] == 0
    assert found["value_ci95"][0] < found["value"] < found["value_ci95"][1] < 0


def test_a_response_that_always_wins_has_an_interval() -> None:
    low, high = bounds([np.ones(500, np.float32)] * 2, 1.0)["value_ci95"]
    assert 0.97 < low < 0.995
    assert high == 1


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99, 1.0])
def test_the_interval_of_a_mean_covers_it_as_often_as_it_says(share: float) -> None:
    rng = np.random.default_rng(7)
    games, times = 300, 1000
    returns = np.where(rng.random((times, games)) < share, 1.0, -1.0)
    found = [bounded_mean(row, 1.0) for row in returns]
    covered = np.mean([each.low <= 2 * share - 1 <= each.high for each in found])
    assert covered >= 0.93
    assert all(each.low <= each.mean <= each.high for each in found)
    assert min(each.high - each.low for each in found) > 0.01


def test_returns_beyond_the_bounds_have_no_mean() -> None:
    with pytest.raises(ValueError, match="from -1 to 1"):
        bounded_mean([0.0, 2.0], 1.0)


def test_the_best_of_one_is_bounded_by_the_interval_of_all_results() -> None:
    assert quantile_of_best(1) == 1.96
    for results in (2, 5, 9):
        assert NormalDist().cdf(-quantile_of_best(results)) == pytest.approx(0.025 / results)


def test_the_bound_of_the_best_allows_for_the_choice() -> None:
    response, best, weak = (wins(np.random.default_rng(seed), rate, 4000) for seed, rate in enumerate((0.6, 0.7, 0.5)))
    alone = bounds(best, 1.0)
    assert alone["exploitability_at_least"] == alone["value_ci95"][0]
    found = bounds(response, 1.0, [KnownAgent("best", best), KnownAgent("weak", weak)])
    assert found["bound_by"] == "best"
    assert found["known"]["best"] == {key: alone[key] for key in ("value", "value_ci95", "seats")}
    assert {key: found[key] for key in ("value", "value_ci95")} == {
        key: bounds(response, 1.0)[key] for key in ("value", "value_ci95")
    }
    low, high = alone["value_ci95"]
    middle, error = (low + high) / 2, (high - low) / 2 / 1.96
    expected = middle + NormalDist().inv_cdf(0.025 / 3) * error
    assert found["exploitability_at_least"] == pytest.approx(expected)


@pytest.mark.parametrize("known", [0, 1, 4, 8])
def test_the_bound_holds_as_often_as_it_says_whoever_is_the_best(known: int) -> None:
    """All agents win as much, so the best of them is a matter of chance; 2000 times."""
    rng, times, rate = np.random.default_rng(11), 2000, 0.7
    above = 0
    for _ in range(times):
        others = [KnownAgent(str(number), wins(rng, rate, 600)) for number in range(known)]
        above += bounds(wins(rng, rate, 600), 1.0, others)["exploitability_at_least"] > 2 * rate - 1
    assert above / times < 0.025 + 2 * (0.025 * 0.975 / times) ** 0.5


def wins(rng: np.random.Generator, rate: float, games: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Returns of games in both seats, a share of which is won."""
    first, second = np.where(rng.random((2, games // 2)) < rate, 1.0, -1.0).astype(np.float32)
    return first, second
