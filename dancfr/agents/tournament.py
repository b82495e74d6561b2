"""Tournaments: a league of a single round without a folder, in which all pairs play the same deals."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from time import perf_counter
from typing import Any

import numpy as np

from dancfr.agents.by_name import identity, make_agent
from dancfr.agents.hub.fetch import record_of_commits
from dancfr.agents.league.config import LeagueConfig, Member, Result
from dancfr.agents.league.standings import standings
from dancfr.agents.match_rules import match_rules
from dancfr.errors import UsageError, warn
from dancfr.evaluation.arena import MatchResult, play
from dancfr.evaluation.sides import sides_of
from dancfr.evaluation.statistics import describe_share
from dancfr.methods.agent_name import AgentName
from envs.agent import Agent
from envs.game import GameBase

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
        column's), ``pairs`` (a `MatchResult` each), ``ratings`` (Elo, best first) and ``seconds``; ``commits`` of
        those agents that come from the Hugging Face hub.

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
    told = standings_of(found)
    return {
        "game": game,
        "game_options": options,
        "agents": list(agents),
        "games": games,
        "seed": seed,
        "table": {row: {column: told["table"][row][column] for column in agents if column != row} for row in agents},
        "pairs": [{"agent": one, "against": other, **match.as_dict()} for (one, other), match in found.items()],
        "ratings": {each["agent"]: each["rating"] for each in told["ratings"]},
        "seconds": perf_counter() - started,
        **record_of_commits(agents),
    }


def play_pairs(rules: GameBase, players: Mapping[str, Agent], games: int, seed: int) -> Pairs:
    """Plays a match of every pair, all with the same seed and therefore the same deals."""
    pairs = list(combinations(players, 2))
    found = {}
    for i, (one, other) in enumerate(pairs):
        match = play(rules, (players[one], players[other]), games, np.random.default_rng(seed))
        found[one, other] = match
        low, high = match.deals.ci95 if match.deals else match.ci95
        line = f"{one} wins {describe_share(match.win_rate, low, high)} % against {other}"
        warn(f"{line} (pair {i + 1} of {len(pairs)}, {match.seconds:.0f} s)")
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
