"""`dancfr.tournament` and `dancfr tournament`: a league of a single round without a folder, on the same deals.

In games of more than two sides an agent has each seat in turn and copies of another have all others. The losses of the
one are not the wins of one seat of the other then, so that there are mean returns and no ratings.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from dancfr.agents.by_name import agent_for, identity
from dancfr.agents.given import AsAgent, as_agents
from dancfr.agents.hub.fetch import record_of_commits
from dancfr.agents.league.config import LeagueConfig, Member, Result
from dancfr.agents.league.standings import standings
from dancfr.agents.match import rules_of_match
from dancfr.arguments import checked
from dancfr.errors import UsageError, silent, warn
from dancfr.evaluation.arena import MatchResult, name_of, play
from dancfr.evaluation.ratings import correlation_of
from dancfr.evaluation.sides import sides_of
from dancfr.evaluation.statistics import describe_mean, describe_share
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
        """Ratings in Elo points relative to their mean by agent, best first; empty in games of more than two sides."""
        return dict(self.found["ratings"])

    @property
    def agents(self) -> list[str]:
        """Names of the agents, best first if they have ratings, else in the order in which they were given."""
        return list(self.found["ratings"] or self.found["agents"])

    def as_dict(self) -> dict[str, Any]:
        """Returns the object that `dancfr tournament --json` prints."""
        return dict(self.found)

    def frame(self) -> "DataFrame":
        """Returns a frame of pandas with a row for each agent, in the order of `agents`.

        The columns are ``rating``, in Elo points, the bounds ``low`` and ``high`` of its 95 % interval, and the agent's
        win rate against every agent by name, or its mean return in a game with stakes; without ratings, its mean return
        against copies of every agent.
        """
        table, bounds = self.found["table"], self.found["ratings_ci95"]
        key = "mean_return" if by_returns(self.found) else "win_rate"
        rows = [
            {"agent": agent}
            | (
                {"rating": self.ratings[agent], **dict(zip(("low", "high"), bounds[agent], strict=True))}
                if bounds
                else {}
            )
            | {f"against {other}": table[agent].get(other, {}).get(key) for other in self.agents}
            for agent in self.agents
        ]
        return frame(rows).set_index("agent")

    def __repr__(self) -> str:
        found = self.found
        told = f"Elo: {', '.join(f'{agent} {rating:+.0f}' for agent, rating in self.ratings.items())}"
        return (
            f"Tournament({found['game']}, {found['games']:,} games a pair, {told if self.ratings else self._means()})"
        )

    def _means(self) -> str:
        """The mean return of each agent against copies of each other one."""
        cells = ((one, other, cell) for one, row in self.found["table"].items() for other, cell in row.items())
        return ", ".join(f"{one} against {other}: {cell['mean_return']:+.3g}" for one, other, cell in cells)

    def _repr_html_(self) -> str:
        table, bounds = self.found["table"], self.found["ratings_ci95"]
        rows = []
        for agent in self.agents:
            cells = [table[agent][other] if other != agent else None for other in self.agents]
            rating = (
                [f"{self.ratings[agent]:+.0f} [{bounds[agent][0]:+.0f}, {bounds[agent][1]:+.0f}]"] if bounds else []
            )
            rows.append((agent, *rating, *(describe_cell(each) if each else "" for each in cells)))
        entries = "mean return" if by_returns(self.found) else "games won in %"
        told = f"Elo relative to the mean, and {entries} against each agent" if bounds else SEVERAL
        caption = f"{self.found['game']}, {self.found['games']:,} games a pair: {told}, with 95 % intervals"
        columns = ("agent", *(["Elo"] if bounds else []), *(f"against {other}" for other in self.agents))
        return html_table(columns, rows, caption)


def by_returns(found: Mapping[str, Any]) -> bool:
    """Whether the table of a tournament has mean returns, as in games with stakes or of more than two sides."""
    return all("mean_return" in cell for row in found["table"].values() for cell in row.values())


SEVERAL = "mean return of each agent, with all other seats held by copies of another"
"""The contents of the table of a tournament in games of more than two sides."""


def describe_cell(cell: Mapping[str, Any]) -> str:
    """Formats an entry of the table of a tournament: the share of games won, or the mean return, with its interval."""
    if "mean_return" in cell:
        return describe_mean(cell["mean_return"], *cell["mean_return_ci95"])
    return describe_share(cell["win_rate"], *cell["ci95"])


@checked
def tournament(
    agents: Sequence[str | Agent | AsAgent],
    game: str | GameBase | None = None,
    games: int = 1000,
    seed: int = 0,
    *,
    options: Mapping[str, Any] | Sequence[str] = (),
    report: Callable[[str], None] = warn,
    progress: bool = True,
) -> Tournament:
    """Plays all pairs of agents on the same deals, and rates the agents, in games with stakes
    (`envs.game.GameSpec.stakes`) by their returns, in others by games won.

    In games of more than two players without teams there are no ratings: of each pair, each agent has every seat in
    turn, and copies of the other have all other seats.

    Args:
        agents: Names, see `dancfr.agents.by_name`; objects with the methods of `envs.agent.Agent`, such as those of
            `policy_agent`; or solutions and runs; at least 2 different agents. Objects have their attribute ``name`` in
            the results, or the name of their class, followed by a number if another agent has it.
        game: Name of a game, or a game; None: that of the agents, of which one must have its own. For the rules under a
            name see `dancfr.agents.match_rules`.
        games: Games per pair, half of them in each seat; in games of teams each deal is played twice. All pairs get the
            same deals.
        seed: Seed of every match; each pair plays as in `dancfr evaluate` with this seed.
        options: Options of the game, by name or as ``key=value``.
        report: Function that takes a line for each pair.
        progress: Report these lines.

    Returns:
        ``game``, ``game_options``, ``agents``, ``games``, ``seed``, ``table`` (win rate of the row's agent against the
        column's, and its mean return in a game with stakes or against copies of it), ``pairs`` (a `MatchResult` each),
        ``ratings`` (Elo, best first), ``ratings_ci95`` and ``seconds``; ``commits`` of those agents that come from the
        Hugging Face hub.

    Raises:
        UsageError: there are fewer than two agents, an agent is given twice, a name or option is unknown, a run belongs
            to another game, or the number of games is out of range.
        RunError: an agent returned an illegal action.
    """
    if len(agents) < 2:
        raise UsageError("a tournament needs at least 2 agents, e.g. random greedy planner")
    if seed < 0:
        raise UsageError(f"--seed must be at least 0, got {seed}")
    started = perf_counter()
    given = as_agents(agents)
    named = _named(given)
    name, rules, chosen = rules_of_match(game, given, options)
    known: dict[AgentName, str] = {}
    for each in (each for each in given if isinstance(each, str)):
        if (first := known.setdefault(identity(each, rules), each)) != each:
            raise UsageError(f"{first} and {each} are the same agent: in a tournament each agent plays once")
    players = {key: agent_for(each, rules) for key, each in named.items()}
    found = play_pairs(rules, players, games, seed, report if progress else silent)
    return Tournament(
        {
            "game": name,
            "game_options": chosen,
            "agents": list(named),
            "games": games,
            "seed": seed,
            **(
                _rated(found, list(named), rules.spec.stakes)
                if len(sides_of(rules).names) == 2
                else _unrated(found, list(named))
            ),
            "pairs": [{"agent": one, "against": other, **match.as_dict()} for (one, other), match in found.items()],
            "seconds": perf_counter() - started,
            **record_of_commits(given),
        }
    )


def _named(agents: Sequence[str | Agent]) -> dict[str, str | Agent]:
    """Returns agents by the names that they have in results.

    Raises:
        UsageError: an agent is given twice.
    """
    found: dict[str, str | Agent] = {}
    for agent in agents:
        name = base = agent if isinstance(agent, str) else name_of(agent)
        if any(agent is other for other in found.values()) or (isinstance(agent, str) and name in agents[: len(found)]):
            raise UsageError(f"{name} is named twice: in a tournament each agent plays once")
        number = 1
        while name in found or (not isinstance(agent, str) and name in agents):
            name = f"{base} ({(number := number + 1)})"
        found[name] = agent
    return found


def _rated(found: Pairs, names: Sequence[str], stakes: float | None) -> dict[str, Any]:
    """The table and the ratings of a game of two sides."""
    told = standings_of(found, stakes)
    return {
        "table": {row: {column: told["table"][row][column] for column in names if column != row} for row in names},
        "ratings": {each["agent"]: each["rating"] for each in told["ratings"]},
        "ratings_ci95": {each["agent"]: each["ci95"] for each in told["ratings"]},
    }


def _unrated(found: Pairs, names: Sequence[str]) -> dict[str, Any]:
    """The table of a game of more than two sides."""
    keys = ("games", "wins", "draws", "losses", "win_rate", "ci95", "mean_return", "mean_return_ci95")
    matches = {pair: match.as_dict() for pair, match in found.items()}
    table = {
        row: {column: {key: matches[row, column][key] for key in keys} for column in names if column != row}
        for row in names
    }
    return {"table": table, "ratings": {}, "ratings_ci95": {}}


def play_pairs(
    rules: GameBase, players: Mapping[str, Agent], games: int, seed: int, report: Callable[[str], None] = warn
) -> Pairs:
    """Plays a match of every pair, all with the same seed and therefore the same deals.

    In games of more than two sides there are two matches of each pair: either agent plays against copies of the other.
    """
    several = len(sides_of(rules).names) > 2
    pairs = list(permutations(players, 2) if several else combinations(players, 2))
    found = {}
    for i, (one, other) in enumerate(pairs):
        match = play(rules, (players[one], players[other]), games, np.random.default_rng(seed))
        found[one, other] = match
        low, high = match.paired_ci95
        line = f"{one} wins {describe_share(match.win_rate, low, high)} % against {other}"
        if several or rules.spec.stakes is not None:
            mean = describe_mean(match.mean_return, *match.mean_return_ci95)
            line = f"{one} returns {mean} a game against {'copies of ' if several else ''}{other}"
        report(f"{line} (pair {i + 1} of {len(pairs)}, {match.seconds:.0f} s)")
    return found


def standings_of(pairs: Pairs, stakes: float | None = None) -> dict[str, Any]:
    """Returns the standings of a league of these matches and no others, which were all played on the same deals; for
    `stakes` see `envs.game.GameSpec`."""
    names = dict.fromkeys(name for pair in pairs for name in pair)
    members = tuple(Member(name=name, fingerprint=name) for name in names)
    league = LeagueConfig(game="", stakes=stakes, members=members)
    results = [
        Result.of(match, round=0, batch=place, agents=pair, fingerprints=pair)
        for place, (pair, match) in enumerate(pairs.items())
    ]
    scores = np.stack([match.scores for match in pairs.values()]).astype(np.float64)
    return standings(league, results, correlation_of(scores) if scores.size else None)
