"""Bradley-Terry ratings of agents: their estimate, their uncertainty, and the games that would reduce it most.

An agent of strength a has an expected score of 1 / (1 + exp(b - a)) per game against an agent of strength b (Bradley
and Terry 1952). A game is scored from 0, lost, to 1, won: a draw scores one half, and in a game with stakes
(`envs.game.GameSpec.stakes`) a return r, of at most m, scores (1 + r / m) / 2; where the returns of both players add
up to another constant than 0, r is the return less half of it. Strengths are logarithms of odds.
Ratings are strengths in Elo points, of which 400 are odds of 10 to 1.

A single number per agent cannot express cycles, in which A beats B, B beats C and C beats A, and agents of different
kinds are far from the model. Then an estimate that counts every game depends on which pairs have played most. So every
pair counts the same here, however many games it has played: the expected scores of an agent against all others that it
has met add up to its scores. If all pairs have played the same number of games, this is the maximum-likelihood estimate
of all games. The uncertainty follows from the numbers of games and the variance of the results of each pair, and holds
whether the model is right or not. `fit_quality` states how far the results are from what the ratings expect.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
"""An array `float64[N, N]`; most are by pair of agents."""

ELO = 400 / np.log(10)
"""Elo points per unit of strength."""

PRIOR_SD = 600.0
"""Standard deviation of the normal prior of a rating, in Elo points. It matters only where the games say little: an
agent that has won all its games gets a finite rating."""

Z = 1.959963984540054
"""97.5 % quantile of the normal distribution."""


@dataclass(frozen=True)
class CrossTable:
    """Results of the games between N agents.

    Attributes:
        points: Sum of the scores x of i against j, of which j has 1 - x, `[N, N]`.
        inner: Sum of x (1 - x) over the games of i and j, symmetric `[N, N]`: 0 where all are won or lost.
    """

    points: Matrix
    inner: Matrix

    @property
    def games(self) -> Matrix:
        """Number of games of each pair, `[N, N]`."""
        return self.points + self.points.T

    @property
    def score(self) -> Matrix:
        """Mean score of i against j per game, `[N, N]`; one half for pairs that have not met."""
        games = self.games
        return np.where(games > 0, self.points / np.maximum(games, 1), 0.5)

    @property
    def smoothed(self) -> Matrix:
        """Mean score of i against j with half a game won and half a game lost added, `[N, N]`: neither 0 nor 1."""
        return (self.points + 0.5) / (self.games + 1)

    @property
    def variance(self) -> Matrix:
        """Variance of `smoothed`, `[N, N]`."""
        games = self.games + 1
        return (self.smoothed * (1 - self.smoothed) - self.inner / games) / games


@dataclass(frozen=True)
class Ratings:
    """Estimated strengths of N agents, relative to their mean.

    Attributes:
        strength: Strengths with mean 0, `float64[N]`.
        covariance: Covariance of the errors of `strength`, `float64[N, N]`.
        sensitivity: If the score of agent i against agent j were higher by x, the strengths would be higher by x times
            the difference of columns i and j of this matrix, `float64[N, N]`.
    """

    strength: NDArray[np.float64]
    covariance: Matrix
    sensitivity: Matrix

    @property
    def elo(self) -> NDArray[np.float64]:
        """Ratings in Elo points with mean 0, `float64[N]`."""
        return np.asarray(self.strength * ELO)

    @property
    def ci95(self) -> NDArray[np.float64]:
        """Lower and upper bounds of the 95 % intervals of `elo`, `float64[N, 2]`."""
        half = Z * ELO * np.sqrt(np.diag(self.covariance))
        return np.stack([self.elo - half, self.elo + half], axis=1)

    @property
    def expected(self) -> Matrix:
        """Expected score per game of each agent against each other one, `float64[N, N]`."""
        return _expected(self.strength)


def fit_ratings(table: CrossTable, correlation: Matrix | None = None) -> Ratings:
    """Estimates the strengths of N agents from the results of the pairs that have met.

    The estimate maximises the likelihood of a table in which every pair that has met has the mean number of games, with
    its own score per game, times the density of a weak normal prior (`PRIOR_SD`). With H the Hessian of minus the
    logarithm of this product, the covariance is H^-1 V H^-1, where V is the covariance of the gradient that follows
    from the numbers of games and the variances of the results (a sandwich estimator). The games of a pair are taken as
    independent, so intervals are somewhat too wide where deals are played from both sides. They are wide where an agent
    wins all its games, too: with smoothed scores in the estimate they would be narrower, and would contain only 86 % of
    the ratings of agents 700 points apart after 100 games (98 % as it is).

    Args:
        table: The results.
        correlation: Correlations between the mean scores of the pairs, see `correlation_of`; None: they are
            independent.
    """
    from scipy.optimize import minimize

    games = table.games
    met = (games > 0) & ~np.eye(len(games), dtype=bool)
    mean = float(games[met].mean()) if met.any() else 0.0
    weight = np.where(met, mean, 0.0)
    won = weight * table.score
    precision = (ELO / PRIOR_SD) ** 2

    def loss(strength: NDArray[np.float64]) -> float:
        surprise = (won * np.logaddexp(0, strength - strength[:, None])).sum()
        return float(surprise + precision / 2 * strength @ strength)

    def gradient(strength: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((weight * _expected(strength) - won).sum(axis=1) + precision * strength)

    def hessian(strength: NDArray[np.float64]) -> Matrix:
        expected = _expected(strength)
        return np.asarray(_laplacian(weight * expected * (1 - expected)) + precision * np.eye(len(strength)))

    # With 100,000 games the loss is too large a number for gradients below 1e-6: the result is not marked as a success
    # then, although it is exact to 0.00001 of its standard error.
    strength = minimize(loss, np.zeros(len(won)), jac=gradient, hess=hessian, method="trust-exact", tol=1e-6).x
    inverse: Matrix = np.asarray(np.linalg.inv(hessian(strength)), np.float64)
    inverse -= inverse.mean(axis=0)  # relative to the mean strength
    noise = np.where(met, weight**2 * table.variance, 0.0)
    if correlation is None:
        spread = _laplacian(noise)
    else:
        first, second = np.triu_indices(len(strength), 1)
        unit = np.eye(len(strength))
        scaled = np.sqrt(noise[first, second])[:, None] * (unit[first] - unit[second])
        spread = scaled.T @ correlation @ scaled
    spread += precision * np.eye(len(strength))
    return Ratings(strength - strength.mean(), inverse @ spread @ inverse.T, max(mean, 1.0) * inverse)


def correlation_of(scores: Matrix) -> Matrix:
    """Returns the correlations between the scores of pairs of agents that have played the same deals, `float64[P, P]`.

    An agent that plays the same deals against all others has its luck with the cards in all of these matches.

    Args:
        scores: Mean scores of the first agent of each pair, `float64[P, G]`, each over one game on every side:
            otherwise the advantage of a side would be taken for luck. The pairs are in the order (0,
            1), (0, 2), ..., (1, 2), ...
    """
    apart = scores - scores.mean(axis=1, keepdims=True)
    size = np.sqrt(np.square(apart).sum(axis=1, keepdims=True))
    unit = apart / np.where(size > 0, size, 1.0)
    found: Matrix = np.asarray(unit @ unit.T, np.float64)
    np.fill_diagonal(found, 1.0)  # also of pairs that have always played alike
    return found


def _expected(strength: NDArray[np.float64]) -> Matrix:
    from scipy.special import expit

    return np.asarray(expit(strength[:, None] - strength))


def _laplacian(weight: Matrix) -> Matrix:
    """Returns the sum of weight[i, j] u u' over all pairs, u being the difference of the unit vectors of i and j."""
    return np.diag(weight.sum(axis=1)) - weight


def choose_pairs(table: CrossTable, count: int, games: int) -> list[tuple[int, int]]:
    """Chooses the pairs that play next, each for `games` games; a pair may be chosen several times.

    Pairs that have never met come first. Otherwise, and among those, the pair is chosen whose games are expected to
    reduce the sum of the variances of all ratings most: the product of the variance of the pair's mean score, of which
    more games take a part away, and the squared change of the ratings per change of this score.

    Args:
        table: Results so far.
        count: Number of pairs.
        games: Number of games of a chosen pair.

    Returns:
        Indices of agents, the smaller one first.
    """
    played, variance = table.games, table.variance
    effect = squared_effect(fit_ratings(table))
    pairs = np.triu(np.ones(played.shape, bool), 1)
    new = pairs & (played == 0)
    chosen = []
    for _ in range(count):
        gain = effect * variance * (1 - (played + 1) / (played + 1 + games))
        gain = np.where(new if new.any() else pairs, gain, -np.inf)
        # Rounded, so that pairs that are equal but for errors of floating point are taken in the order of the agents.
        best = np.round(gain / gain.max(), 9).argmax()
        i, j = divmod(int(best), len(played))
        chosen.append((i, j))
        new[i, j] = False
        variance[i, j] *= (played[i, j] + 1) / (played[i, j] + 1 + games)
        played[i, j] += games
    return chosen


def squared_effect(ratings: Ratings) -> Matrix:
    """Returns the sum of the squared changes of all strengths per change of the score of each pair, `float64[N, N]`."""
    square = ratings.sensitivity.T @ ratings.sensitivity
    own = np.diag(square)
    return np.asarray(own[:, None] + own - 2 * square)


@dataclass(frozen=True)
class FitQuality:
    """How well ratings describe the results of all pairs.

    Attributes:
        residuals: Mean score of i against j minus its expectation, in standard deviations, `float64[N, N]`; NaN for
            pairs that have not met, and for pairs whose score the ratings follow anyway, since no other games connect
            the two agents.
        deviation: Root mean square of the differences between mean scores and their expectations, over the pairs that
            have met; 0 if there is none.
        noise: What `deviation` would be if the ratings were right, because of the limited numbers of games.
    """

    residuals: Matrix
    deviation: float
    noise: float


def fit_quality(table: CrossTable, ratings: Ratings) -> FitQuality:
    """Compares the scores of all pairs with those that the ratings expect.

    Args:
        table: Results.
        ratings: What `fit_ratings` returned for them.
    """
    games, expected = table.games, ratings.expected
    residuals = np.full(games.shape, np.nan)
    i, j = np.nonzero(np.triu(games > 0, 1))
    if not len(i):
        return FitQuality(residuals, 0.0, 0.0)
    unit = np.eye(len(games))
    difference = unit[i] - unit[j]
    slope = (expected * (1 - expected))[i, j]  # of the expected score, per strength
    # A higher score of a pair is partly followed by the expectations of all pairs.
    left = np.eye(len(i)) - slope[:, None] * (difference @ ratings.sensitivity @ difference.T)
    own = table.variance[i, j]
    variance = (left**2) @ own
    off = (table.score - expected)[i, j]
    free = variance > 0.01 * own
    residuals[i[free], j[free]] = off[free] / np.sqrt(variance[free])
    residuals[j[free], i[free]] = -residuals[i[free], j[free]]
    return FitQuality(residuals, float(np.sqrt((off**2).mean())), float(np.sqrt(variance.mean())))
