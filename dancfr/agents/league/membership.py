"""The part of a command that changes a league: its game, and the agents that enter and leave it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dancfr.agents.by_name import game_of, make_agent
from dancfr.agents.continuing import check_minutes, options_kept, refuse_differences
from dancfr.agents.league.config import LeagueConfig, Member
from dancfr.agents.league.fingerprint import fingerprint
from dancfr.agents.match_rules import match_rules
from dancfr.errors import UsageError, nearest
from dancfr.evaluation.arena import MOST_GAMES
from dancfr.evaluation.bots import bots
from dancfr.evaluation.sides import sides_of
from dancfr.games.registry import make_game
from dancfr.methods.options import TrainOptions
from envs.agent import Agent
from envs.game import GameBase

BATCH, MINUTES = 100, 5.0
"""Defaults of a new league, and of the time to play."""


@dataclass(frozen=True)
class LeagueRequest:
    """Arguments of `dancfr league`.

    Attributes:
        folder: Folder of the league.
        game: Name of the game; None: that of the league; for a new one that of the agents in `add`, or `DEFAULT`.
        settings: ``key=value`` options of the game; those of an existing league cannot be changed.
        add: Agents that enter. A new league to which none is added has all bots of the game.
        remove: Members that leave.
        minutes: No batch is begun after this many minutes of play.
        games: No batch is begun after this many games. If both limits are None, `minutes` is `MINUTES`; if both are
            given, play ends at the first one reached.
        batch: Games of a batch; None: those of the league, `BATCH` for a new one.
        seed: Seed of all games; None: that of the league, 0 for a new one.
        options: Where the games are played: inline, or on which Ray with how many workers.

    Raises:
        UsageError: a number is out of range.
    """

    folder: Path
    game: str | None = None
    settings: Sequence[str] = ()
    add: Sequence[str] = ()
    remove: Sequence[str] = ()
    minutes: float | None = None
    games: int | None = None
    batch: int | None = None
    seed: int | None = None
    options: TrainOptions = TrainOptions(inline=True)  # noqa: RUF009 (frozen)

    def __post_init__(self) -> None:
        check_minutes("--minutes", self.minutes)
        if self.games is not None and not 0 <= self.games <= 1000 * MOST_GAMES:
            raise UsageError(f"--games must be from 0 to {1000 * MOST_GAMES:,}, got {self.games}")
        if self.batch is not None and (not 2 <= self.batch <= 100_000 or self.batch % 2):
            raise UsageError(f"--batch must be an even number from 2 to 100,000, got {self.batch}")
        if self.seed is not None and self.seed < 0:
            raise UsageError(f"--seed must be at least 0, got {self.seed}")


@dataclass(frozen=True)
class League:
    """A league as a command has found and changed it.

    Attributes:
        config: Its configuration.
        rules: The game.
        agents: Agents that were made to check their names, by name.
        changed: Members whose fingerprint is no longer the stored one.
    """

    config: LeagueConfig
    rules: GameBase
    agents: dict[str, Agent]
    changed: tuple[Member, ...]


def apply_request(request: LeagueRequest, stored: LeagueConfig | None) -> League:
    """Checks a request and applies it to a league; nothing is written.

    Args:
        request: The request.
        stored: The league as it is; None for a new one.

    Raises:
        UsageError: a name or option is unknown, a run belongs to another game, the game has more than two sides, the
            league has another game or seed, an agent would take part twice, or fewer than two agents would remain.
    """
    if stored is None:
        game = game_of(request.add, request.game)
        rules, options = match_rules(game, request.add, request.settings)
        seed, batch = request.seed or 0, BATCH if request.batch is None else request.batch
        stored = LeagueConfig(game=game, game_options=options, seed=seed, batch=batch, stakes=rules.spec.stakes)
        entering = list(request.add) or list(bots(rules))
    else:
        _refuse_differences(request, stored)
        rules = make_game(stored.game, **stored.game_options)
        entering = [name for name in request.add if name not in stored.names]
    if len(sides_of(rules).names) > 2:  # the losses of A are not the wins of one seat of B, so ratings are undefined
        players = f"{stored.game} has {rules.spec.num_players} players here"
        raise UsageError(
            f"a league needs a game of two sides, and {players}: dancfr tournament {' '.join(entering)} --game "
            f"{stored.game} tells the mean return of each agent against copies of another"
        )
    for name in request.remove:
        if name not in stored.names:
            raise UsageError(nearest(name, stored.names, f"member of {request.folder}"))
    agents = {name: make_agent(name, rules) for name in entering}
    staying = [member for member in stored.members if member.name not in request.remove]
    members = [Member(name=member.name, fingerprint=_of_member(member, rules)) for member in staying]
    changed = tuple(member for member, now in zip(staying, members, strict=True) if member != now)
    members += [Member(name=name, fingerprint=fingerprint(name, rules)) for name in agents]
    config = stored.model_copy(update={"members": tuple(members)})
    config.check()
    return League(config, rules, agents, changed)


def _of_member(member: Member, rules: GameBase) -> str:
    """Returns the fingerprint of a member as it is now."""
    try:
        return fingerprint(member.name, rules)
    except UsageError as error:
        raise UsageError(f"{error}; --remove {member.name} takes it out of the league") from None


def _refuse_differences(request: LeagueRequest, stored: LeagueConfig) -> None:
    """Raises UsageError if a request asks for another game, seed or batch than the league has."""
    _, of_game = options_kept(stored.game, stored.game_options, request.settings)
    given = {
        "--game": (request.game, stored.game),
        "--seed": (request.seed, stored.seed),
        "--batch": (request.batch, stored.batch),
        **of_game,
    }
    refuse_differences(given, "the league", request.folder, "another folder")
