"""Assigns the learner and its opponents to seats in the games of an iteration."""

from collections.abc import Sequence

import numpy as np

from actors.trajectory_tasks import LEARNER

Table = tuple[tuple[int, tuple[int, ...]], ...]
"""Numbers of games and the parties in their seats, see `actors.trajectories.TrajectoryTask`."""


def tables_of(games: int, chunk: int, shares: Sequence[float], players: int, rng: np.random.Generator) -> list[Table]:
    """Divides the games of an iteration into chunks, and seats the opponents.

    An opponent takes one seat, each seat equally often; fractions of games are rounded at random, without bias, and all
    together, so that games are never too few for the last opponent (systematic sampling).

    Args:
        games: Number of games.
        chunk: Games of a chunk, at most.
        shares: Share of the games in which each opponent, numbered from `LEARNER` + 1, takes a seat.
        players: Number of seats.
        rng: Source of the draws.
    """
    return [_table(min(chunk, games - first), shares, players, rng) for first in range(0, games, chunk)]


def _table(games: int, shares: Sequence[float], players: int, rng: np.random.Generator) -> Table:
    seats = [(number, seat) for number in range(LEARNER + 1, LEARNER + 1 + len(shares)) for seat in range(players)]
    order = rng.permutation(len(seats))
    wanted = np.repeat(np.asarray(shares, np.float64), players)[order] * games / players
    ends = np.minimum(np.floor(np.cumsum(wanted) + rng.random()), games).astype(int)
    counts = np.diff(ends, prepend=0).tolist()
    rows = [
        (count, tuple(number if p == seat else LEARNER for p in range(players)))
        for count, (number, seat) in zip(counts, (seats[i] for i in order), strict=True)
        if count
    ]
    left = games - sum(counts)
    if left:
        rows.append((left, (LEARNER,) * players))
    return tuple(rows)
