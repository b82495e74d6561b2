"""Intervals of win rates, ratings, and learning curves put together over several runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Positions on the horizontal axis, rising, and the value at each."""


def wilson(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson score interval of a proportion; (0, 1) before the first trial.

    Raises:
        ValueError: more successes than trials, or a negative count.
    """
    if trials == 0 and successes == 0:
        return 0.0, 1.0
    from scipy.stats import binomtest  # takes half a second to import

    interval = binomtest(successes, trials).proportion_ci(confidence, method="wilson")
    return float(interval.low), float(interval.high)


def sweeps(both: int, one: int, none: int, confidence: float = 0.95) -> tuple[float, float]:
    """Interval of a win rate over deals that were each played twice, by both sides.

    With K deals of which the share p is won in both games and q in none, the win rate is 1/2 + (p - q) / 2. Tango's
    score interval (1998) of p - q, a difference of proportions of one multinomial, takes the pairing into account and
    does not shrink to a point, as one from the deals' standard deviation does when all of them end alike.

    Args:
        both, one, none: In how many deals both games were won, one of them, none. Not all 0 for a result other than
            (0, 1).

    Raises:
        ValueError: a negative count.
    """
    if min(both, one, none) < 0:
        raise ValueError(f"counts of deals cannot be negative: {both}, {one}, {none}")
    deals = both + one + none
    if not deals:
        return 0.0, 1.0
    from scipy.optimize import brentq

    z = NormalDist().inv_cdf(0.5 + confidence / 2)

    def excess(difference: float) -> float:
        """Squared score less its quantile: negative inside of the interval."""
        half = (both + none - (2 * deals - both + none) * difference) / (4 * deals)
        root = half**2 + none * difference * (1 - difference) / (2 * deals)
        lost = half + max(root, 0.0) ** 0.5  # the share q that is likeliest if p - q is `difference`
        variance = deals * (2 * lost + difference * (1 - difference))
        return (both - none - deals * difference) ** 2 - z**2 * max(variance, 0.0)

    found, near = (both - none) / deals, 1e-9
    low = brentq(excess, -1.0, found - near) if found > -1 else -1.0
    high = brentq(excess, found + near, 1.0) if found < 1 else 1.0
    return (1 + low) / 2, (1 + high) / 2


@dataclass(frozen=True)
class BoundedMean:
    """Mean of returns that lie within bounds, with an interval that stays honest where hardly any return differs.

    Attributes:
        mean: Of the returns.
        middle: Of the interval.
        error: Standard error of `middle`.
        low, high: 95 % interval.
    """

    mean: float
    middle: float
    error: float
    low: float
    high: float


def bounded_mean(returns: ArrayLike, most: float) -> BoundedMean:
    """Mean of independent returns from -`most` to `most`.

    The normal interval of the mean after two more returns at either bound have been added: for wins and losses that is
    the interval of Agresti and Coull (1998). Of a sample without any spread, such as one win after the other, the plain
    one would be a point, and too good to be true.

    Raises:
        ValueError: no return, or one beyond the bounds.
    """
    values = np.asarray(returns, np.float64)
    if not len(values) or np.abs(values).max() > most * (1 + 1e-6):
        raise ValueError(f"the mean of {len(values)} returns from {-most:g} to {most:g} is asked for")
    padded = np.concatenate([values, [most, most, -most, -most]])
    middle, error = float(padded.mean()), float(padded.std(ddof=1) / len(padded) ** 0.5)
    low, high = max(middle - 1.96 * error, -most), min(middle + 1.96 * error, most)
    return BoundedMean(float(values.mean()), middle, error, low, high)


def elo_ratings(scores: ArrayLike) -> NDArray[np.float64]:
    """Ratings of N agents that have all met: the likeliest ones in the model of Bradley and Terry (1952).

    An agent of rating r scores 1 / (1 + 10^((s - r) / 400)) a game against one of rating s, on average. A rating is one
    number: that A beats B, B beats C and C beats A cannot be seen in it.

    Args:
        scores: `[N, N]`: games that i won against j, a draw counting one half. Half a game is added to each side of
            each pair, which keeps the ratings finite where somebody has won all.

    Returns:
        `float64[N]`, in Elo's unit, with mean 0.
    """
    from scipy.optimize import minimize

    won = np.asarray(scores, np.float64) + 0.5
    np.fill_diagonal(won, 0)
    games = won + won.T

    def loss(strength: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        ahead = strength[:, None] - strength
        surprise = (won * np.logaddexp(0, -ahead)).sum()
        expected = games / (1 + np.exp(-ahead))
        return surprise / games.sum(), (expected - won).sum(axis=1) / games.sum()

    strength = minimize(loss, np.zeros(len(won)), jac=True, options={"gtol": 1e-10}).x
    return (strength - strength.mean()) * 400 / np.log(10)


@dataclass(frozen=True)
class Summary:
    """Mean of one number over independent runs.

    Attributes:
        mean: Arithmetic mean.
        sd: Standard deviation of the sample (n - 1); None for one run.
        low, high: Student's t interval of the mean; of no width for one run, for which nothing is known.
        n: Number of runs.
    """

    mean: float
    sd: float | None
    low: float
    high: float
    n: int


def summarise(values: Sequence[float], confidence: float = 0.95) -> Summary:
    """Mean over runs with its t interval.

    Raises:
        ValueError: no value at all.
    """
    if not len(values):
        raise ValueError("the mean of no runs is asked for")
    band = _band(np.zeros(1), np.asarray(values, np.float64)[:, None], confidence)
    mean, sd, low, high = (float(part[0]) for part in (band.mean, band.sd, band.low, band.high))
    return Summary(mean, sd if len(values) > 1 else None, low, high, len(values))


@dataclass(frozen=True)
class Band:
    """A learning curve over R runs on N common positions. All arrays are `float64[N]`.

    Attributes:
        x: Positions: iterations, or seconds.
        mean: Mean over runs.
        sd: Standard deviation over runs; 0 for one run.
        low, high: Student's t interval of the mean from 3 runs on. With 2 runs that interval reaches 13
            standard errors to each side and says nothing, so the two runs themselves bound the band. For one
            run what `one_run` was given, else its own values.
        runs: R.
        known: There is a band to draw.
    """

    x: NDArray[np.float64]
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    runs: int
    known: bool = True

    @property
    def means(self) -> str:
        """What the band shows, for a caption."""
        if self.runs == 1:
            return "95 % Wilson interval over the games of each evaluation of one run" if self.known else "one run"
        return "range of 2 runs" if self.runs == 2 else f"95 % t interval of {self.runs} runs"


def one_run(curve: Curve, low: NDArray[np.float64], high: NDArray[np.float64]) -> Band:
    """The win rates of a single run with their Wilson intervals; NaN where a row does not allow one."""
    x, y = (np.asarray(part, np.float64) for part in curve)
    if not np.isfinite(low).any():
        return _band(x, y[None], 0.95)
    return Band(x, y, np.zeros_like(y), low, high, 1)


def over_iterations(curves: Sequence[Curve], confidence: float = 0.95) -> Band:
    """Puts runs together on the positions that all of them have.

    Raises:
        ValueError: no curve, or no common position.
    """
    if not curves:
        raise ValueError("no curve to put together")
    common = np.asarray(curves[0][0], np.float64)
    for x, _ in curves[1:]:
        common = np.intersect1d(common, x)
    if not common.size:
        raise ValueError("the runs have no iteration in common")
    rows = np.stack([np.asarray(y, np.float64)[np.searchsorted(x, common)] for x, y in curves])
    return _drawn(common, rows, confidence)


def over_time(curves: Sequence[Curve], points: int = 200, confidence: float = 0.95) -> Band:
    """Puts runs together on `points` positions of the time that all of them cover, interpolated linearly.

    Raises:
        ValueError: no curve, or runs whose times do not overlap.
    """
    if not curves:
        raise ValueError("no curve to put together")
    start, end = max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves)
    if len(curves) == 1:
        x, y = curves[0]
        return _drawn(np.asarray(x, np.float64), np.asarray(y, np.float64)[None], confidence)
    if start > end:
        raise ValueError("the runs have no time in common")
    grid = np.linspace(start, end, points if start < end else 1)
    return _drawn(grid, np.stack([np.interp(grid, x, y) for x, y in curves]), confidence)


def _drawn(x: NDArray[np.float64], rows: NDArray[np.float64], confidence: float) -> Band:
    """The t interval of `rows` `[R, N]`, or the range where there are only two of them."""
    band = _band(x, rows, confidence)
    if len(rows) == 2:
        return Band(x, band.mean, band.sd, rows.min(0), rows.max(0), 2)
    return band


def _band(x: NDArray[np.float64], rows: ArrayLike, confidence: float) -> Band:
    values = np.asarray(rows, np.float64)
    runs = len(values)
    mean = values.mean(0)
    if runs == 1:
        return Band(x, mean, np.zeros_like(mean), mean, mean, 1, known=False)
    from scipy.stats import t

    sd = values.std(0, ddof=1)
    half = t.ppf(0.5 + confidence / 2, runs - 1) * sd / np.sqrt(runs)
    return Band(x, mean, sd, mean - half, mean + half, runs)


def describe_share(value: float, low: float, high: float) -> str:
    """A share and its interval in percent, for a table: ``66.5 [62.1, 70.6]``."""
    return f"{100 * value:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
