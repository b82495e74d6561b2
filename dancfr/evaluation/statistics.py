"""Statistics: intervals of win rates and means, and learning curves aggregated over runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Increasing positions on the horizontal axis, and the value at each position."""


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Returns the Wilson score interval of a proportion; (0, 1) without trials.

    Raises:
        ValueError: a count is negative, or there are more successes than trials.
    """
    if trials == 0 and successes == 0:
        return 0.0, 1.0
    from scipy.stats import binomtest  # takes half a second to import

    interval = binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    return float(interval.low), float(interval.high)


def sweeps(both: int, one: int, none: int) -> tuple[float, float]:
    """Returns the interval of a win rate over deals that were each played twice, with the sides swapped.

    If both games are won in a fraction p of the deals and no game in a fraction q, the win rate is 1/2 + (p - q) / 2.
    The score interval of Tango (1998) for p - q, a difference of proportions of one multinomial distribution, accounts
    for the pairing. Unlike an interval from the standard deviation over deals, it does not shrink to a point when all
    deals end alike.

    Args:
        both, one, none: Number of deals in which both games, one game and no game were won. Without deals the result is
            (0, 1).

    Raises:
        ValueError: a count is negative.
    """
    if min(both, one, none) < 0:
        raise ValueError(f"numbers of deals must not be negative, got {both}, {one}, {none}")
    deals = both + one + none
    if not deals:
        return 0.0, 1.0
    from scipy.optimize import brentq

    z = NormalDist().inv_cdf(0.975)

    def excess(difference: float) -> float:
        """Returns the squared score minus its quantile, which is negative inside the interval."""
        half = (both + none - (2 * deals - both + none) * difference) / (4 * deals)
        root = half**2 + none * difference * (1 - difference) / (2 * deals)
        lost = half + max(root, 0.0) ** 0.5  # maximum-likelihood estimate of q given p - q = difference
        variance = deals * (2 * lost + difference * (1 - difference))
        return float((both - none - deals * difference) ** 2 - z**2 * max(variance, 0.0))

    found, near = (both - none) / deals, 1e-9
    low = brentq(excess, -1.0, found - near) if found > -1 else -1.0
    high = brentq(excess, found + near, 1.0) if found < 1 else 1.0
    return (1 + low) / 2, (1 + high) / 2


@dataclass(frozen=True)
class BoundedMean:
    """Mean of bounded returns, with an interval that remains valid when almost all returns are equal.

    Attributes:
        mean: Mean of the returns.
        middle: Centre of the interval.
        error: Standard error of `middle`.
        low, high: Bounds of the 95 % interval.
    """

    mean: float
    middle: float
    error: float
    low: float
    high: float


def bounded_mean(returns: ArrayLike, most: float) -> BoundedMean:
    """Returns the mean of independent returns in [-`most`, `most`], with its 95 % interval.

    The interval is the normal interval after adding two returns at each bound. For wins and losses this is the interval
    of Agresti and Coull (1998), but with the sample variance. Without the added returns, the interval of a sample of
    equal returns would be a point.

    Raises:
        ValueError: there are no returns, or a return is out of bounds.
    """
    values = np.asarray(returns, np.float64)
    if not len(values) or np.abs(values).max() > most * (1 + 1e-6):
        raise ValueError(f"expected at least one return, all from {-most:g} to {most:g}, got {len(values)} returns")
    return bounded_mean_of(len(values), float(values.mean()), float(np.square(values).sum()), most)


def bounded_mean_of(count: int, mean: float, squares: float, most: float) -> BoundedMean:
    """Returns the mean and interval of `bounded_mean` from the number of returns, their mean and sum of squares."""
    padded = count + 4
    middle = count * mean / padded
    variance = max((squares + 4 * most**2 - padded * middle**2) / (padded - 1), 0.0)
    error = math.sqrt(variance / padded)
    low, high = max(middle - 1.96 * error, -most), min(middle + 1.96 * error, most)
    return BoundedMean(mean, middle, error, low, high)


def quantile_of_best(results: int) -> float:
    """Returns the quantile of the normal distribution for a lower bound by the best of several results.

    The results share a tail of 2.5 % (Bonferroni), so that the bound holds with 97.5 % confidence whichever is the
    best: 1.96 for one result, the quantile of all 95 % intervals, and 2.24 for two.
    """
    return max(1.96, NormalDist().inv_cdf(1 - 0.025 / results))


@dataclass(frozen=True)
class Summary:
    """Mean of a quantity over independent runs.

    Attributes:
        mean: Arithmetic mean.
        sd: Sample standard deviation (n - 1 degrees of freedom); None for a single run, and where parts were sampled.
        low, high: Student's t interval of the mean; both equal to the mean for a single run.
        n: Number of runs.
    """

    mean: float
    sd: float | None
    low: float
    high: float
    n: int


def summarise(values: Sequence[float]) -> Summary:
    """Returns the mean over runs with its t interval.

    Raises:
        ValueError: there are no values.
    """
    if not len(values):
        raise ValueError("cannot average over no runs: give at least one value")
    band = _band(np.zeros(1), np.asarray(values, np.float64)[:, None])
    mean, sd, low, high = (float(part[0]) for part in (band.mean, band.sd, band.low, band.high))
    return Summary(mean, sd if len(values) > 1 else None, low, high, len(values))


def stratified(parts: Sequence[tuple[float, Sequence[float]]]) -> Summary | None:
    """Returns the mean over a population from samples of its parts, with Welch's t interval.

    Args:
        parts: Size of each part, and the values of those that were drawn from it at random. Parts without values are
            left out.

    Returns:
        The summary, without a standard deviation; None without two values. A part with one value is taken to vary as
        the others do on average, and all parts as all values do where no part has values that differ.
    """
    drawn = [(size, np.asarray(values, np.float64)) for size, values in parts if len(values)]
    n = np.array([len(values) for _, values in drawn])
    if n.sum() < 2:
        return None
    share = np.array([size for size, _ in drawn]) / sum(size for size, _ in drawn)
    mean = float(share @ [values.mean() for _, values in drawn])
    squares = np.array([((values - values.mean()) ** 2).sum() for _, values in drawn])
    weight, freedoms = share**2 / n, np.maximum(n - 1, 1)
    if squares.any():
        # Parts with one value add to the weight of the others: they have no variance themselves.
        weight = np.where(n > 1, weight, 0.0) + weight[n == 1].sum() * (n - 1) / (n - 1).sum()
        errors = weight * squares / freedoms
    else:
        everything = np.concatenate([values for _, values in drawn])
        errors, freedoms = weight.sum(keepdims=True) * everything.var(ddof=1), n.sum(keepdims=True) - 1
    if errors.sum() == 0:
        return Summary(mean, None, mean, mean, int(n.sum()))
    from scipy.stats import t

    freedom = errors.sum() ** 2 / (errors**2 / freedoms).sum()
    half = float(t.ppf(0.975, freedom) * errors.sum() ** 0.5)
    return Summary(mean, None, mean - half, mean + half, int(n.sum()))


@dataclass(frozen=True)
class Band:
    """A learning curve over R runs at N common positions. All arrays are `float64[N]`.

    Attributes:
        x: Positions, in iterations or seconds.
        mean: Mean over runs.
        sd: Standard deviation over runs; 0 for a single run.
        low, high: Student's t interval of the mean for 3 or more runs. With 2 runs this interval would extend 13
            standard errors to each side, so the band is the range of the runs instead. For a single run, the interval
            passed to `one_run`, or else the values of the run.
        runs: Number of runs, R.
        known: Whether there is a band to draw.
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
        """Description of the band, for a caption."""
        if self.runs == 1:
            return "95 % Wilson interval over the games of each evaluation of one run" if self.known else "one run"
        return "range of 2 runs" if self.runs == 2 else f"95 % t interval of {self.runs} runs"


def one_run(curve: Curve, low: NDArray[np.float64], high: NDArray[np.float64]) -> Band:
    """Returns the curve of a single run with the given intervals, which may contain NaN."""
    x, y = (np.asarray(part, np.float64) for part in curve)
    if not np.isfinite(low).any():
        return _band(x, y[None])
    return Band(x, y, np.zeros_like(y), low, high, 1)


def over_iterations(curves: Sequence[Curve]) -> Band:
    """Aggregates the curves of several runs at the positions that all of them have.

    Raises:
        ValueError: there are no curves, or they have no position in common.
    """
    if not curves:
        raise ValueError("cannot aggregate no curves: give at least one")
    common = np.asarray(curves[0][0], np.float64)
    for x, _ in curves[1:]:
        common = np.intersect1d(common, x)
    if not common.size:
        raise ValueError("the runs have no iteration in common")
    rows = np.stack([np.asarray(y, np.float64)[np.searchsorted(x, common)] for x, y in curves])
    return _drawn(common, rows)


def over_time(curves: Sequence[Curve], points: int = 200) -> Band:
    """Aggregates the curves of several runs at `points` times within their common range, by linear interpolation.

    Raises:
        ValueError: there are no curves, or their times do not overlap.
    """
    if not curves:
        raise ValueError("cannot aggregate no curves: give at least one")
    start, end = max(x[0] for x, _ in curves), min(x[-1] for x, _ in curves)
    if len(curves) == 1:
        x, y = curves[0]
        return _drawn(np.asarray(x, np.float64), np.asarray(y, np.float64)[None])
    if start > end:
        raise ValueError("the evaluations of the runs share no span of time")
    grid = np.linspace(start, end, points if start < end else 1)
    return _drawn(grid, np.stack([np.interp(grid, x, y) for x, y in curves]))


def _drawn(x: NDArray[np.float64], rows: NDArray[np.float64]) -> Band:
    """Returns the band of `rows`, `[R, N]`: their t interval, or their range if R = 2."""
    band = _band(x, rows)
    if len(rows) == 2:
        return Band(x, band.mean, band.sd, rows.min(0), rows.max(0), 2)
    return band


def _band(x: NDArray[np.float64], rows: ArrayLike) -> Band:
    values = np.asarray(rows, np.float64)
    runs = len(values)
    mean = values.mean(0)
    if runs == 1:
        return Band(x, mean, np.zeros_like(mean), mean, mean, 1, known=False)
    from scipy.stats import t

    sd = values.std(0, ddof=1)
    half = t.ppf(0.975, runs - 1) * sd / np.sqrt(runs)
    return Band(x, mean, sd, mean - half, mean + half, runs)


def describe_share(value: float, low: float, high: float) -> str:
    """Formats a fraction and its interval in percent: ``66.5 [62.1, 70.6]``."""
    return f"{100 * value:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def describe_mean(value: float, low: float, high: float) -> str:
    """Formats a mean and its interval: ``+0.23 [+0.19, +0.27]``."""
    return f"{value:+.3g} [{low:+.3g}, {high:+.3g}]"
