"""Bradley-Terry ratings of agents: their estimate, their uncertainty, and the games that would reduce it most.

An agent of strength a has an expected score of 1 / (1 + exp(b - a)) per game against an agent of strength b (Bradley
and Terry 1952); a draw scores one half. Strengths are logarithms of odds. Ratings are strengths in Elo points, of which
400 are odds of 10 to 1. A single number per agent cannot express cycles, in which A beats B, B beats C and C beats A:
`fit_quality` states how far the results are from what the ratings expect.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

ELO = 400 / np.log(10)
"""Elo points per unit of strength."""

PRIOR_SD = 600.0
"""Standard deviation of the prior of a rating, in Elo points. It matters only where the games say little: an agent that
has won all its games gets a finite rating."""

Z = 1.959963984540054
"""97.5 % quantile of the normal distribution."""


@dataclass(frozen=True)
class Ratings:
    """Estimated strengths of N agents, relative to their mean.

    Attributes:
        strength: Strengths with mean 0, `float64[N]`.
        covariance: Covariance of the errors of `strength`, `float64[N, N]`.
    """

    strength: NDArray[np.float64]
    covariance: NDArray[np.float64]

    @property
    def elo(self) -> NDArray[np.float64]:
        """Ratings in Elo points with mean 0, `float64[N]`."""
        return self.strength * ELO

    @property
    def ci95(self) -> NDArray[np.float64]:
        """Lower and upper bounds of the 95 % intervals of `elo`, `float64[N, 2]`."""
        half = Z * ELO * np.sqrt(np.diag(self.covariance))
        return np.stack([self.elo - half, self.elo + half], axis=1)

    @property
    def expected(self) -> NDArray[np.float64]:
        """Expected score per game of each agent against each other one, `float64[N, N]`."""
        return np.asarray(1 / (1 + np.exp(self.strength - self.strength[:, None])))


def fit_ratings(scores: ArrayLike) -> Ratings:
    """Estimates the strengths of N agents by maximum likelihood with a weak normal prior, see `PRIOR_SD`.

    The covariance is the inverse of the Fisher information and of the prior's precision together. It takes the games as
    independent and without draws, so intervals are somewhat too wide where games are often drawn or deals are played
    from both sides.

    Args:
        scores: Number of games that i won against j, `[N, N]`; a draw counts one half for each of them. Pairs need not
            have met. The diagonal is ignored.
    """
    from scipy.optimize import minimize

    won = np.array(scores, np.float64)
    np.fill_diagonal(won, 0)
    games = won + won.T
    precision = (ELO / PRIOR_SD) ** 2

    def loss(strength: NDArray[np.float64]) -> float:
        """The negative logarithm of the posterior density, up to a constant."""
        surprise = (won * np.logaddexp(0, strength - strength[:, None])).sum()
        return float(surprise + precision / 2 * strength @ strength)

    def gradient(strength: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((games * _score(strength) - won).sum(axis=1) + precision * strength)

    def hessian(strength: NDArray[np.float64]) -> NDArray[np.float64]:
        score = _score(strength)
        information = games * score * (1 - score)
        return np.diag(information.sum(axis=1) + precision) - information

    # With 100,000 games the loss is too large a number for gradients below 1e-6: the result is not marked as a success
    # then, although it is exact to 0.00001 of its standard error.
    strength = minimize(loss, np.zeros(len(won)), jac=gradient, hess=hessian, method="trust-exact", tol=1e-6).x
    centre = np.eye(len(won)) - 1 / len(won)
    return Ratings(strength - strength.mean(), centre @ np.linalg.inv(hessian(strength)) @ centre)


def _score(strength: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the expected scores of all pairs, `[N, N]`."""
    from scipy.special import expit

    return np.asarray(expit(strength[:, None] - strength))


def choose_pairs(scores: ArrayLike, count: int, games: int) -> list[tuple[int, int]]:
    """Chooses the pairs that play next, each for `games` games; a pair may be chosen several times.

    Pairs that have never met come first. Otherwise, and among those, the pair is chosen whose games are expected to
    reduce the sum of the variances of all ratings most. Games of pairs chosen before reduce the variances, whatever
    their results.

    Args:
        scores: As in `fit_ratings`.
        count: Number of pairs.
        games: Number of games of a chosen pair.

    Returns:
        Indices of agents, the smaller one first.
    """
    won = np.asarray(scores, np.float64)
    ratings = fit_ratings(won)
    pairs = np.triu(np.ones(won.shape, bool), 1)
    new = pairs & (won + won.T == 0)
    chosen = []
    for _ in range(count):
        gain = np.where(new if new.any() else pairs, variance_reduction(ratings, games), -np.inf)
        # Rounded, so that pairs that are equal but for errors of floating point are taken in the order of the agents.
        best = np.round(gain / gain.max(), 9).argmax()
        i, j = (int(index) for index in np.unravel_index(best, gain.shape))
        chosen.append((i, j))
        new[i, j] = False
        ratings = _after(ratings, i, j, games)
    return chosen


def variance_reduction(ratings: Ratings, games: int) -> NDArray[np.float64]:
    """Returns by how much `games` games of each pair would reduce the sum of the variances of all strengths.

    With S the covariance, u the difference of the unit vectors of a pair and w the information of its games, the
    covariance becomes S - (S u)(S u)' / (1 / w + u' S u), so its trace falls by |S u|^2 / (1 / w + u' S u).

    Returns:
        Reductions by pair, `float64[N, N]`; 0 on the diagonal.
    """
    covariance, square = ratings.covariance, ratings.covariance @ ratings.covariance
    information = games * ratings.expected * (1 - ratings.expected)
    return information * _of_difference(square) / (1 + information * _of_difference(covariance))


def _of_difference(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns u' M u for all pairs, where u is the difference of the pair's unit vectors, `[N, N]`."""
    own = np.diag(matrix)
    return np.asarray(own[:, None] + own - 2 * matrix)


def _after(ratings: Ratings, i: int, j: int, games: int) -> Ratings:
    """Returns the ratings with the covariance that they have once i and j have played `games` more games."""
    covariance, expected = ratings.covariance, ratings.expected[i, j]
    information = games * expected * (1 - expected)
    moved = covariance[:, i] - covariance[:, j]
    fall = information / (1 + information * (moved[i] - moved[j]))
    return replace(ratings, covariance=covariance - fall * np.outer(moved, moved))


@dataclass(frozen=True)
class FitQuality:
    """How well ratings describe the results of all pairs.

    Attributes:
        residuals: Score of i against j minus its expectation, in standard deviations of the score, `float64[N, N]`; NaN
            for pairs that have not met.
        chi_square: Sum of the squared residuals of all pairs that have met.
        freedom: Its degrees of freedom: the number of such pairs, minus the number of differences of ratings that they
            determine.
        p_value: Probability of a sum at least as large if the ratings were right; None without degrees of freedom. It
            is rough where a pair expects few wins or losses.
    """

    residuals: NDArray[np.float64]
    chi_square: float
    freedom: int
    p_value: float | None


def fit_quality(scores: ArrayLike, ratings: Ratings) -> FitQuality:
    """Compares the scores of all pairs with those that the ratings expect.

    Args:
        scores: As in `fit_ratings`.
        ratings: What `fit_ratings` returned for them.
    """
    from scipy.stats import chi2

    won = np.array(scores, np.float64)
    np.fill_diagonal(won, 0)
    games, expected = won + won.T, ratings.expected
    met = games > 0
    variance = np.where(met, games * expected * (1 - expected), np.nan)
    residuals = (won - games * expected) / np.sqrt(variance)
    total = float(np.nansum(np.triu(residuals, 1) ** 2))
    laplacian = np.diag(met.sum(axis=1)) - met.astype(np.float64)
    freedom = int(np.triu(met, 1).sum()) - int(np.linalg.matrix_rank(laplacian))
    return FitQuality(residuals, total, freedom, float(chi2.sf(total, freedom)) if freedom else None)
