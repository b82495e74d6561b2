"""Assigns the learner and its opponents to seats in the games of an iteration."""

from collections.abc import Sequence

import numpy as np

from actors.trajectories import LEARNER

Table = tuple[tuple[int, tuple[int, ...]], ...]
"""Numbers of games and the parties in their seats, see `actors.trajectories.TrajectoryTask`."""


def tables_of(games: int, chunk: int, shares: Sequence[float], players: int, rng: np.random.Generator) -> list[Table]:
    """Divides the games of an iteration into chunks, and seats the opponents.

    An opponent takes one seat, each seat equally often; fractions of games are rounded at random, without bias.

    Args:
        games: Number of games.
        chunk: Games of a chunk, at most.
        shares: Share of the games in which each opponent, numbered from `LEARNER` + 1, takes a seat.
        players: Number of seats.
        rng: Source of the draws.
    """
    return [_table(min(chunk, games - first), shares, players, rng) for first in range(0, games, chunk)]


def _table(games: int, shares: Sequence[float], players: int, rng: np.random.Generator) -> Table:
    rows: list[tuple[int, tuple[int, ...]]] = []
    left = games
    for number, share in enumerate(shares, LEARNER + 1):
        wanted = np.full(players, share * games / players)
        counts = np.floor(wanted + rng.random(players)).astype(int)
        for seat in rng.permutation(players).tolist():
            count = min(int(counts[seat]), left)
            left -= count
            if count:
                rows.append((count, tuple(number if p == seat else LEARNER for p in range(players))))
    if left:
        rows.append((left, (LEARNER,) * players))
    return tuple(rows)
