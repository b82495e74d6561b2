"""The standings of a league: ratings, win rates of all pairs, and how well the ratings describe them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dancfr.agents.league.config import LeagueConfig, Result
from dancfr.agents.league.rounds import counted, cross_table, next_batches
from dancfr.evaluation.ratings import CrossTable, FitQuality, Matrix, Ratings, fit_quality, fit_ratings
from dancfr.evaluation.statistics import bounded_mean_of, sweeps, wilson


@dataclass
class Tally:
    """Sum of the results of a pair, from the view of one of the two agents.

    Attributes:
        games, wins, draws, losses: Number of games.
        both, one, none: Number of deals of which the agent has won both games, one and no game; 0 without deals.
        gained, squares: Sums of its gains (`Result.gain`), and of their squares.
        half: Half of what both returns of a game add up to.
    """

    games: int = 0
    wins: int = 0
    draws: int = 0
    losses: int = 0
    both: int = 0
    one: int = 0
    none: int = 0
    gained: float = 0.0
    squares: float = 0.0
    half: float = 0.0

    def add(self, result: Result, swapped: bool) -> None:
        """Adds a result, seen from its second agent if `swapped`."""
        wins, losses = (result.losses, result.wins) if swapped else (result.wins, result.losses)
        self.games, self.draws = self.games + result.games, self.draws + result.draws
        self.wins, self.losses = self.wins + wins, self.losses + losses
        self.gained += result.games * (-result.gain if swapped else result.gain)
        self.squares += result.squares
        self.half = result.returns_sum / 2
        if result.deals is not None:  # games of teams have no draws, so the loss of one is the win of the other
            both, none = (result.deals[key] for key in (("none", "both") if swapped else ("both", "none")))
            self.both, self.one, self.none = self.both + both, self.one + result.deals["one"], self.none + none

    def as_dict(self, stakes: float | None) -> dict[str, Any]:
        """Returns the counts, the win rate with its 95 % interval, over deals if they are played twice, and the same of
        the mean return where returns are scored (`LeagueConfig.stakes`)."""
        mean = {}
        if stakes is not None:
            squares = self.squares + 2 * self.half * self.gained + self.games * self.half**2  # of the returns
            found = bounded_mean_of(self.games, self.gained / self.games + self.half, squares, stakes)
            mean = {"mean_return": found.mean, "mean_return_ci95": [found.low, found.high]}
        deals = (self.both, self.one, self.none)
        interval = sweeps(*deals) if any(deals) else wilson(self.wins, self.games)
        return {
            "games": self.games,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "win_rate": self.wins / self.games,
            "ci95": list(interval),
            **mean,
        }


def standings(config: LeagueConfig, results: Sequence[Result], correlation: Matrix | None = None) -> dict[str, Any]:
    """Computes the contents of `ratings.json`.

    Args:
        config: The league.
        results: All results in the order of play.
        correlation: See `fit_ratings`; the batches of a league have deals of their own.

    Returns:
        ``game``, ``game_options``, ``seed``, ``batch``, ``stakes``; ``games`` that count, and ``games_not_counted`` of
        former members and former versions of members; ``ratings``, best first; ``table``, the win rate of the row's
        agent against the column's, and its mean return in a game with stakes; ``pairs``, with expected score and
        residual; ``fit``, see `FitQuality`; ``next``, the pairs of the next batches.
    """
    crossed = cross_table(config, results)
    ratings = fit_ratings(crossed, correlation)
    quality = fit_quality(crossed, ratings)
    order = np.argsort(-ratings.strength, kind="stable").tolist()
    games = int(np.triu(crossed.games).sum())
    cells = {pair: tally.as_dict(config.stakes) for pair, tally in _tallies(config, results).items()}
    names = config.names
    return {
        "game": config.game,
        "game_options": config.game_options,
        "seed": config.seed,
        "batch": config.batch,
        "stakes": config.stakes,
        "games": games,
        "games_not_counted": sum(result.games for result in results) - games,
        "ratings": [_rating(names[i], i, ratings, crossed) for i in order],
        "table": {names[i]: {names[j]: cells[i, j] for j in order if (i, j) in cells} for i in order},
        "pairs": [
            {
                "agent": names[i],
                "against": names[j],
                **cell,
                "score": crossed.score[i, j],
                "expected": ratings.expected[i, j],
                "residual": quality.residuals[i, j],
            }
            for (i, j), cell in sorted(cells.items())
            if i < j
        ],
        "fit": _fit(quality, names),
        "next": [list(pair) for pair in dict.fromkeys(batch.agents for batch in next_batches(config, results))],
    }


def _tallies(config: LeagueConfig, results: Sequence[Result]) -> dict[tuple[int, int], Tally]:
    """Returns the tally of every pair that has met, from both views, by the places of the two members."""
    place = {member.fingerprint: index for index, member in enumerate(config.members)}
    found: dict[tuple[int, int], Tally] = {}
    for result in counted(config, results):
        i, j = (place[each] for each in result.fingerprints)
        found.setdefault((i, j), Tally()).add(result, False)
        found.setdefault((j, i), Tally()).add(result, True)
    return found


def _rating(name: str, index: int, ratings: Ratings, crossed: CrossTable) -> dict[str, Any]:
    """Returns the line of a member; its score is the mean over the opponents that it has met."""
    games = crossed.games[index]
    return {
        "agent": name,
        "rating": ratings.elo[index],
        "ci95": ratings.ci95[index].tolist(),
        "games": int(games.sum()),
        "score": crossed.score[index][games > 0].mean() if games.any() else None,
    }


def _fit(quality: FitQuality, names: Sequence[str]) -> dict[str, Any]:
    """Returns the quality of the fit, and the pair with the largest residual, from the view that scores too much."""
    found: dict[str, Any] = {"deviation": quality.deviation, "noise": quality.noise, "worst": None}
    if not np.isnan(quality.residuals).all():
        i, j = divmod(int(np.nanargmax(quality.residuals)), len(names))
        found["worst"] = {"agent": names[i], "against": names[j], "residual": quality.residuals[i, j]}
    return found
