"""`dancfr.tournament` and `dancfr tournament`: a league of a single round without a folder, on the same deals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from dancfr.agents.by_name import game_of, identity, make_agent
from dancfr.agents.hub.fetch import record_of_commits
from dancfr.agents.league.config import LeagueConfig, Member, Result
from dancfr.agents.league.standings import standings
from dancfr.agents.match_rules import match_rules
from dancfr.arguments import checked
from dancfr.errors import UsageError, warn
from dancfr.evaluation.arena import MatchResult, play
from dancfr.evaluation.sides import sides_of
from dancfr.evaluation.statistics import describe_share
from dancfr.methods.agent_name import AgentName
from dancfr.notebooks import frame
from envs.agent import Agent
from envs.game import GameBase
from learners.html import html_table

if TYPE_CHECKING:
    from pandas import DataFrame

Pairs = Mapping[tuple[str, str], MatchResult]
"""Match of each pair, from the view of the first agent."""


@dataclass(frozen=True, repr=False)
class Tournament:
    """A tournament that has been played.

    Attributes:
        found: Its results, as `dancfr tournament --json` prints them.
    """

    found: dict[str, Any]

    @property
    def ratings(self) -> dict[str, float]:
        """Ratings in Elo points relative to their mean by agent, best first."""
        return dict(self.found["ratings"])

    def as_dict(self) -> dict[str, Any]:
        """Returns the object that `dancfr tournament --json` prints."""
        return dict(self.found)

    def frame(self) -> "DataFrame":
        """Returns a frame of pandas with a row for each agent, best first.

        The columns are ``rating``, in Elo points, the bounds ``low`` and ``high`` of its 95 % interval, and the agent's
        win rate against every agent by name.
        """
        table, bounds = self.found["table"], self.found["ratings_ci95"]
        rows = [
            {"agent": agent, "rating": rating, "low": bounds[agent][0], "high": bounds[agent][1]}
            | {f"against {other}": table[agent].get(other, {}).get("win_rate") for other in self.ratings}
            for agent, rating in self.ratings.items()
        ]
        return frame(rows).set_index("agent")

    def __repr__(self) -> str:
        found = self.found
        ratings = ", ".join(f"{agent} {rating:+.0f}" for agent, rating in self.ratings.items())
        return f"Tournament({found['game']}, {found['games']:,} games a pair, Elo: {ratings})"

    def _repr_html_(self) -> str:
        table = self.found["table"]
        rows = []
        for agent, rating in self.ratings.items():
            low, high = self.found["ratings_ci95"][agent]
            won = [table[agent][other] if other != agent else None for other in self.ratings]
            shares = [describe_share(each["win_rate"], *each["ci95"]) if each else "" for each in won]
            rows.append((agent, f"{rating:+.0f} [{low:+.0f}, {high:+.0f}]", *shares))
        caption = (
            f"{self.found['game']}, {self.found['games']:,} games a pair: Elo relative to the mean, and games won in % "
            "against each agent, with 95 % intervals"
        )
        return html_table(("agent", "Elo", *(f"against {other}" for other in self.ratings)), rows, caption)


@checked
def tournament(
    agents: Sequence[str],
    game: str | None = None,
    games: int = 1000,
    seed: int = 0,
    *,
    options: Mapping[str, Any] | Sequence[str] = (),
    report: Callable[[str], None] = warn,
) -> Tournament:
    """Plays all pairs of agents on the same deals, and rates the agents.

    Args:
        agents: Names, see `dancfr.agents.by_name`; at least 2 different agents.
        game: Name of the game; None: that of the agents, or `DEFAULT`. For its rules see `dancfr.agents.match_rules`.
        games: Games per pair, half of them in each seat; in games of teams each deal is played twice. All pairs get the
            same deals.
        seed: Seed of every match; each pair plays as in `dancfr evaluate` with this seed.
        options: Options of the game, by name or as ``key=value``.
        report: Function that takes a line for each pair.

    Returns:
        ``game``, ``game_options``, ``agents``, ``games``, ``seed``, ``table`` (win rate of the row's agent against the
        column's), ``pairs`` (a `MatchResult` each), ``ratings`` (Elo, best first), ``ratings_ci95`` and ``seconds``;
        ``commits`` of those agents that come from the Hugging Face hub.

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
    game = game_of(agents, game)
    rules, chosen = match_rules(game, agents, options)
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
    found = play_pairs(rules, players, games, seed, report)
    told = standings_of(found)
    return Tournament(
        {
            "game": game,
            "game_options": chosen,
            "agents": list(agents),
            "games": games,
            "seed": seed,
            "table": {
                row: {column: told["table"][row][column] for column in agents if column != row} for row in agents
            },
            "pairs": [{"agent": one, "against": other, **match.as_dict()} for (one, other), match in found.items()],
            "ratings": {each["agent"]: each["rating"] for each in told["ratings"]},
            "ratings_ci95": {each["agent"]: each["ci95"] for each in told["ratings"]},
            "seconds": perf_counter() - started,
            **record_of_commits(agents),
        }
    )


def play_pairs(
    rules: GameBase, players: Mapping[str, Agent], games: int, seed: int, report: Callable[[str], None] = warn
) -> Pairs:
    """Plays a match of every pair, all with the same seed and therefore the same deals."""
    pairs = list(combinations(players, 2))
    found = {}
    for i, (one, other) in enumerate(pairs):
        match = play(rules, (players[one], players[other]), games, np.random.default_rng(seed))
        found[one, other] = match
        low, high = match.deals.ci95 if match.deals else match.ci95
        line = f"{one} wins {describe_share(match.win_rate, low, high)} % against {other}"
        report(f"{line} (pair {i + 1} of {len(pairs)}, {match.seconds:.0f} s)")
    return found


def standings_of(pairs: Pairs) -> dict[str, Any]:
    """Returns the standings of a league in which the pairs have played these matches and no others."""
    names = dict.fromkeys(name for pair in pairs for name in pair)
    league = LeagueConfig(game="", members=tuple(Member(name=name, fingerprint=name) for name in names))
    results = [
        Result.of(match, round=0, batch=place, agents=pair, fingerprints=pair)
        for place, (pair, match) in enumerate(pairs.items())
    ]
    return standings(league, results)
