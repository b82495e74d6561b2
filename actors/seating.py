"""Assigns seats in self-play: to the learner, and to frozen agents in place of the other team or the partner."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LEARNER = 0
"""The party that learns; frozen agents are 1, 2, ..."""


def draw_seats(
    games: int, teams: Sequence[int], rivals: Sequence[float], partners: Sequence[float], rng: np.random.Generator
) -> NDArray[np.int8]:
    """Draws the party in each seat of new games.

    Args:
        games: Number of games, `B`.
        teams: Team of each seat.
        rivals: Share of the games in which each of the first agents takes all seats of one team, drawn at random.
        partners: Share of the games in which each of the other agents takes a single seat, drawn at random.
        rng: Source of the draws.

    Returns:
        `int8[B, seats]`
    """
    found = np.full((games, len(teams)), LEARNER, np.int8)
    kinds, chosen = rng.random(games), rng.random(games)
    start, seat_of_team = 0.0, np.array(teams)
    for party, share in enumerate((*rivals, *partners), LEARNER + 1):
        for game in np.flatnonzero((start <= kinds) & (kinds < start + share)):
            if party <= len(rivals):
                options = np.unique(seat_of_team)
                found[game, seat_of_team == options[int(chosen[game] * len(options))]] = party
            else:
                found[game, int(chosen[game] * len(teams))] = party
        start += share
    return found
