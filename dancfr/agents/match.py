"""`dancfr.play` and `dancfr evaluate`: a match between two agents, given by name or as objects."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dancfr.agents.by_name import agent_for, make_agent, named_game
from dancfr.agents.given import AsAgent, as_agents, game_noted
from dancfr.agents.hub.fetch import commits
from dancfr.agents.match_rules import match_rules
from dancfr.arguments import checked
from dancfr.errors import UsageError
from dancfr.evaluation.arena import MatchResult, name_of
from dancfr.evaluation.arena import play as play_games
from dancfr.evaluation.exploitability import evaluate_exactly
from dancfr.evaluation.reading import Reading, read_play, require_readable
from dancfr.evaluation.statistics import describe_mean
from dancfr.games.registry import describe_rules, is_registered, make_game, record_of, rules_made_with
from dancfr.notebooks import percent
from envs.agent import Agent
from envs.game import GameBase
from learners.cfr.exact_evaluation import Evaluation
from learners.cfr.players_form import PlayersEvaluation
from learners.html import html_table


@dataclass(frozen=True, repr=False)
class Match:
    """A match that has been played, from the view of the first agent.

    Attributes:
        agent, against: Names of the agents.
        game: Name of the game.
        options: Options of its rules.
        ply_limit: Number of plies after which a game was a draw.
        seed: Seed of the match.
        result: Counts, rates and intervals.
        exact: Exact evaluation of the first agent, if it was asked for.
        reading: How much of what the first agent hides can be read from its play, if it was asked for.
        commits: Commits of those agents that come from the Hugging Face hub, by name.
    """

    agent: str
    against: str
    game: str
    options: dict[str, Any]
    ply_limit: int
    seed: int
    result: MatchResult
    exact: Evaluation | PlayersEvaluation | None = None
    reading: Reading | None = None
    commits: dict[str, str] = field(default_factory=dict)

    @property
    def win_rate(self) -> float:
        """Fraction of games won; draws count as not won."""
        return self.result.win_rate

    @property
    def ci95(self) -> tuple[float, float]:
        """95 % interval of the win rate, see `MatchResult.ci95`."""
        return self.result.ci95

    @property
    def mean_return(self) -> float:
        """Mean return in the game's unit."""
        return self.result.mean_return

    def as_dict(self) -> dict[str, Any]:
        """Returns the match as `dancfr evaluate --json` prints it."""
        return {
            "agent": self.agent,
            "against": self.against,
            "game": self.game,
            "seed": self.seed,
            "ply_limit": self.ply_limit,
            "game_options": self.options,
            **self.result.as_dict(),
            **({} if self.exact is None else self.exact.as_dict()),
            **({} if self.reading is None else {"reading": self.reading.as_dict()}),
            **({"commits": self.commits} if self.commits else {}),
        }

    def __repr__(self) -> str:
        low, high = self.ci95
        exact = "" if self.exact is None else f", exploitability {self.exact.exploitability:.6g}"
        return (
            f"Match({self.agent} against {self.against} in {describe_rules(self.game, self.options)}: "
            f"{100 * self.win_rate:.1f} % of {self.result.games:,} games won, "
            f"95 % interval {100 * low:.1f} to {100 * high:.1f} %, "
            f"mean return {describe_mean(self.mean_return, *self.result.mean_return_ci95)}{exact})"
        )

    def _repr_html_(self) -> str:
        counts = {**self.result.seats, "all": {key: getattr(self.result, key) for key in _COUNTS}}
        rows = [
            (seat, *(f"{found[key]:,}" for key in _COUNTS), percent(found["wins"] / found["games"]))
            for seat, found in counts.items()
            if found["games"]
        ]
        endings = [(ending, f"{games:,}") for ending, games in self.result.categories.items()]
        return "".join(
            [
                html_table(("seat", *_COUNTS, "won"), rows, repr(self)),
                html_table(("ending", "games"), endings, f"how the games ended for {self.agent}"),
                *(part._repr_html_() for part in (self.exact, self.reading) if part is not None),
            ]
        )


READING = 1
"""Second word of the seed of the games in which an agent is read."""
_COUNTS = ("games", "wins", "draws", "losses")


@checked
def play(
    agent: str | Agent | AsAgent,
    against: str | Agent | AsAgent = "random",
    game: str | GameBase | None = None,
    games: int = 1000,
    seed: int = 0,
    *,
    options: Mapping[str, Any] | Sequence[str] = (),
    ply_limit: int | None = None,
    exploitability: bool = False,
    readable: bool = False,
) -> Match:
    """Plays a match between two agents, half of the games in each seat; in games of teams each deal is played twice.

    In games of more than two players without teams, `agent` has every seat in turn and `against` has all others.

    Args:
        agent, against: Names such as ``heuristic``, ``runs/x``, ``pretrained:geister`` or ``hf:OWNER/NAME``, see
            `dancfr.agents.by_name`; objects with the methods of `envs.agent.Agent`; or solutions and runs.
        game: Name of a game, or a game; None: that of the agents, of which one must have its own. For the rules under a
            name see `dancfr.agents.match_rules`.
        games: Number of games.
        seed: Seed of the match.
        options: Options of the game, by name or as ``key=value``.
        ply_limit: Number of plies after which a game is a draw; None: 300 in Geister, or else the game's own limit.
        exploitability: Whether to compute the exact exploitability of `agent` too.
        readable: Whether to measure how much of what `agent` hides can be read from its play against `against`, on as
            many games again to fit a reader, and as many to test it. Games by name have the options there that show
            most, like the history of ghosts.

    Raises:
        UsageError: a name or option is unknown, a run belongs to another game, or the number of games is out of range.
        RunError: an agent returned an illegal action.
    """
    if seed < 0:
        raise UsageError(f"the seed must be at least 0, got {seed}")
    pair = as_agents((agent, against))
    name, rules, chosen = rules_of_match(game, pair, options, ply_limit)
    players = [agent_for(each, rules) for each in pair]
    if pair[0] is pair[1]:
        players[1] = copy(players[1])
    names = [each if isinstance(each, str) else name_of(each) for each in pair]
    if readable:  # before the match is played
        require_readable(rules)
    exact = evaluate_exactly(names[0], players[0], rules) if exploitability else None
    result = play_games(rules, (players[0], players[1]), games, np.random.default_rng(seed))
    reading = None
    if readable:
        read = (players[0], players[1])
        if all(isinstance(each, str) for each in pair) and (record := record_of(rules)) is not None:
            rules = make_game(name, **chosen | dict.fromkeys(record.turned_on, True))
            read = (make_agent(names[0], rules), make_agent(names[1], rules))
        reading = read_play(rules, read, games, np.random.default_rng((seed, READING)))
    return Match(names[0], names[1], name, chosen, limit_of(rules), seed, result, exact, reading, commits(pair))


def limit_of(rules: GameBase) -> int:
    """Returns the number of plies after which a game is a draw, or has ended by its rules."""
    return int(getattr(rules, "ply_limit", rules.spec.max_plies))


def rules_of_match(
    game: str | GameBase | None,
    agents: Sequence[object],
    options: Mapping[str, Any] | Sequence[str] = (),
    ply_limit: int | None = None,
) -> tuple[str, GameBase, dict[str, Any]]:
    """Returns the name of the game that agents play, its rules, and the options of these if it was given by name.

    Raises:
        UsageError: see `named_game` and `match_rules`; or options of a game that is given as an object.
    """
    if game is None or isinstance(game, str):
        name = named_game(agents, game)
        own = next((each for each in map(game_noted, agents) if each is not None and each.spec.name == name), None)
        if own is None or is_registered(name):
            return name, *match_rules(name, agents, options, ply_limit)
        game = own
    if options or ply_limit is not None:
        raise UsageError(f"the rules of {game.spec.name} are given: leave out the options and the ply limit")
    return game.spec.name, game, rules_made_with(game)
