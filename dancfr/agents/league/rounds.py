"""The order of play: which pairs of a league play the next batches of games.

Batches are chosen a round at a time, from the results of all rounds before. So workers can play the batches of a round
in any order, and the results depend neither on their number nor on whether the league was stopped in between.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dancfr.agents.league.config import LeagueConfig, Result
from dancfr.evaluation.ratings import CrossTable, choose_pairs

LEAST_BATCHES = 8
"""Batches of a round, at least; in a league of many members half as many as there are pairs."""


@dataclass(frozen=True)
class Batch:
    """Games of a pair that are played at a time.

    Attributes:
        number: Number of the batch, from 0.
        round: Number of the round, from 0.
        agents: Names of the two agents.
        fingerprints: Their fingerprints.
        games: Number of games.
        seed: Entropy of all random draws.
    """

    number: int
    round: int
    agents: tuple[str, str]
    fingerprints: tuple[str, str]
    games: int
    seed: tuple[int, ...]

    @property
    def about(self) -> dict[str, Any]:
        """The keys of a `Result` that do not come from the games."""
        return {"batch": self.number, "round": self.round, "agents": self.agents, "fingerprints": self.fingerprints}


def counted(config: LeagueConfig, results: Iterable[Result]) -> list[Result]:
    """Returns the results of games between two members as they are now."""
    known = {member.fingerprint for member in config.members}
    return [result for result in results if known.issuperset(result.fingerprints)]


def cross_table(config: LeagueConfig, results: Iterable[Result]) -> CrossTable:
    """Returns the sums of the scores of all pairs of members."""
    place = {member.fingerprint: index for index, member in enumerate(config.members)}
    points, inner = np.zeros((2, len(place), len(place)))
    for result in counted(config, results):
        i, j = (place[each] for each in result.fingerprints)
        if config.stakes is None:
            won, within = result.wins + result.draws / 2, result.draws / 4
        else:
            won = result.games * (1 + result.gain / config.stakes) / 2
            within = (result.games - result.squares / config.stakes**2) / 4
        points[i, j] += won
        points[j, i] += result.games - won
        inner[i, j] += within
        inner[j, i] += within
    return CrossTable(points, inner)


def next_batches(config: LeagueConfig, results: Sequence[Result]) -> list[Batch]:
    """Returns the batches that remain of the round under way, or else those of the next round.

    A round that has been begun with other members is not continued.

    Args:
        config: The league, with two members or more.
        results: All results in the order of play.
    """
    if not results:
        return _round(config, results, 0)
    current = max(result.round for result in results)
    begun = [result for result in results if result.round == current]
    planned = _round(config, [result for result in results if result.round < current], current)
    played, remaining = planned[: len(begun)], planned[len(begun) :]
    as_planned = [(batch.number, batch.fingerprints) for batch in played] == [
        (result.batch, result.fingerprints) for result in begun
    ]
    return remaining if as_planned and remaining else _round(config, results, current + 1)


def _round(config: LeagueConfig, results: Sequence[Result], number: int) -> list[Batch]:
    """Chooses the batches of a round from the results of all rounds before."""
    members, first = config.members, max((result.batch + 1 for result in results), default=0)
    count = max(LEAST_BATCHES, len(members) * (len(members) - 1) // 4)
    batches = []
    for place, pair in enumerate(choose_pairs(cross_table(config, results), count, config.batch), first):
        one, other = (members[index] for index in pair)
        batches.append(
            Batch(
                number=place,
                round=number,
                agents=(one.name, other.name),
                fingerprints=(one.fingerprint, other.fingerprint),
                games=config.batch,
                seed=(config.seed, place),
            )
        )
    return batches
