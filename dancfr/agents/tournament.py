"""Tournaments: matches of all pairs of agents, with a cross-table of win rates and Elo ratings."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from time import perf_counter
from typing import Any

import numpy as np

from dancfr.agents.by_name import AgentName, identity, make_agent
from dancfr.agents.match_rules import match_rules
from dancfr.errors import UsageError
from dancfr.evaluation.arena import MatchResult, play
from dancfr.evaluation.ratings import CrossTable, fit_ratings
from dancfr.evaluation.sides import sides_of
from dancfr.evaluation.statistics import describe_share, wilson
from envs.agent import Agent
from envs.game import Game, RaggedGame


@dataclass(frozen=True)
class Cell:
    """Win rate of one agent against another, and its 95 % interval (over deals, if they were played twice)."""

    win_rate: float
    low: float
    high: float

    @property
    def percent(self) -> str:
        """The win rate for a table: ``66.5 [62.1, 70.6]``."""
        return describe_share(self.win_rate, self.low, self.high)

    def as_dict(self) -> dict[str, object]:
        return {"win_rate": self.win_rate, "ci95": [self.low, self.high]}


Pairs = Mapping[tuple[str, str], MatchResult]
"""Match of each pair, from the view of the first agent."""


def tournament(
    agents: Sequence[str], game: str, games: int = 1000, seed: int = 0, settings: Sequence[str] = ()
) -> dict[str, Any]:
    """Plays all pairs of agents.

    Args:
        agents: Names, see `dancfr.agents.by_name`; at least 2 different agents.
        game: Name of the game; for its rules see `dancfr.agents.match_rules`.
        games: Games per pair, half of them in each seat; in games of teams each deal is played twice. All pairs get the
            same deals.
        seed: Seed of every match; each pair plays as in `dancfr evaluate` with this seed.
        settings: ``key=value`` options of the game.

    Returns:
        ``game``, ``game_options``, ``agents``, ``games``, ``seed``, ``table`` (win rate of the row's agent against the
        column's), ``pairs`` (a `MatchResult` each), ``ratings`` (Elo, best first) and ``seconds``.

    Raises:
        UsageError: there are fewer than two agents, an agent is given twice, a name or option is unknown, a run belongs
            to another game, the number of games is out of range, or the game has more than two sides.
        RunError: an agent returned an illegal action.
    """
    if len(agents) < 2:
        raise UsageError("a tournament needs at least 2 agents, e.g. random greedy planner")
    if twice := [name for name in dict.fromkeys(agents) if agents.count(name) > 1]:
        raise UsageError(f"{twice[0]} is named twice: in a tournament each agent plays once")
    if seed < 0:
        raise UsageError(f"--seed must be at least 0, got {seed}")
    started = perf_counter()
    rules, options = match_rules(game, agents, settings)
    known: dict[AgentName, str] = {}
    for name in agents:
        if (first := known.setdefault(identity(name, rules), name)) != name:
            raise UsageError(f"{first} and {name} are the same agent: in a tournament each agent plays once")
    if len(sides_of(rules).names) > 2:  # the losses of A are not the wins of one seat of B, so ratings are undefined
        raise UsageError(
            f"a tournament needs a game of two sides, and {game} has {rules.spec.num_players} players here: use "
            f"dancfr evaluate {agents[0]} --against {agents[1]}, which plays one agent against copies of the other"
        )
    players = {name: make_agent(name, rules) for name in agents}
    found = play_pairs(rules, players, games, seed)
    return {
        "game": game,
        "game_options": options,
        "agents": list(agents),
        "games": games,
        "seed": seed,
        "table": {
            row: {column: cell(found, row, column).as_dict() for column in agents if column != row} for row in agents
        },
        "pairs": [{"agent": one, "against": other, **match.as_dict()} for (one, other), match in found.items()],
        "ratings": ratings(found),
        "seconds": perf_counter() - started,
    }


def play_pairs(rules: Game | RaggedGame, players: Mapping[str, Agent], games: int, seed: int) -> Pairs:
    """Plays a match of every pair, all with the same seed and therefore the same deals."""
    pairs = list(combinations(players, 2))
    found = {}
    for i, (one, other) in enumerate(pairs):
        match = play(rules, (players[one], players[other]), games, np.random.default_rng(seed))
        found[one, other] = match
        line = f"{one} wins {cell(found, one, other).percent} % against {other}"
        print(f"{line} (pair {i + 1} of {len(pairs)}, {match.seconds:.0f} s)", file=sys.stderr, flush=True)
    return found


def cell(pairs: Pairs, row: str, column: str) -> Cell:
    """Returns the win rate of `row` against `column`, in either order of the pair.

    Raises:
        KeyError: the two agents have not met.
    """
    if (row, column) in pairs:
        match = pairs[row, column]
        return Cell(match.win_rate, *(match.deals.ci95 if match.deals else match.ci95))
    match = pairs[column, row]
    if match.deals and not match.draws:
        low, high = match.deals.ci95
        return Cell(match.losses / match.games, 1 - high, 1 - low)
    return Cell(match.losses / match.games, *wilson(match.losses, match.games))


def ratings(pairs: Pairs) -> dict[str, float]:
    """Returns Elo ratings of agents, best first; see `dancfr.evaluation.ratings`."""
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    wins, draws = np.zeros((2, len(names), len(names)))
    for (one, other), match in pairs.items():
        i, j = names.index(one), names.index(other)
        wins[i, j], wins[j, i] = match.wins, match.losses
        draws[i, j] = draws[j, i] = match.draws
    found = dict(zip(names, fit_ratings(CrossTable(wins, draws)).elo.tolist(), strict=True))
    return dict(sorted(found.items(), key=lambda entry: -entry[1]))
