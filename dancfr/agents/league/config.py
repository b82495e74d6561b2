"""The configuration of a league, and the results of its games, as they are stored."""

from typing import Any, Self

from pydantic import Field, model_validator

from dancfr.errors import UsageError
from dancfr.evaluation.arena import MatchResult
from dancfr.runs.config import Config


class Member(Config):
    """An agent that takes part in a league.

    Attributes:
        name: Name of the agent, see `dancfr.agents.by_name`.
        fingerprint: What the agent plays by, see `dancfr.agents.league.fingerprint`.
    """

    name: str
    fingerprint: str


class LeagueConfig(Config):
    """The contents of `league.json`.

    Attributes:
        game: Name of the game.
        game_options: Options of the game.
        seed: Seed of all games.
        batch: Number of games that a pair plays at a time, half of them in each seat.
        stakes: See `envs.game.GameSpec.stakes`; None: scores count wins.
        members: The agents.
    """

    game: str
    game_options: dict[str, Any] = {}  # noqa: RUF012 (pydantic copies defaults)
    seed: int = Field(0, ge=0)
    batch: int = Field(100, ge=2, le=100_000, multiple_of=2)
    stakes: float | None = Field(None, gt=0)
    members: tuple[Member, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of the members."""
        return [member.name for member in self.members]

    def check(self) -> None:
        """Checks that there are two members or more, and that each is another agent.

        Raises:
            UsageError: they are not.
        """
        if len(self.members) < 2:
            raise UsageError(
                f"a league needs at least 2 agents, got {', '.join(self.names) or 'none'}: use --add AGENT"
            )
        known: dict[str, str] = {}
        for member in self.members:
            if (first := known.setdefault(member.fingerprint, member.name)) != member.name:
                raise UsageError(f"{first} and {member.name} are the same agent: in a league each agent plays once")


class Result(Config):
    """The result of a batch of games, from the view of the first agent: a line of `games.jsonl`.

    Attributes:
        round: Number of the round, from 0. The pairs of a round are chosen together.
        batch: Number of the batch, from 0, which is part of the seed of its games.
        agents: Names of the two agents.
        fingerprints: Their fingerprints, by which results are assigned to members.
        games, wins, draws, losses, deals, categories, seats, mean_plies, mean_return, return_error, returns_sum,
            seconds: See `dancfr.evaluation.arena.MatchResult`; the error is of all games by themselves where there are
            no deals.
    """

    round: int = Field(ge=0)
    batch: int = Field(ge=0)
    agents: tuple[str, str]
    fingerprints: tuple[str, str]
    games: int = Field(ge=1)
    wins: int = Field(ge=0)
    draws: int = Field(ge=0)
    losses: int = Field(ge=0)
    deals: dict[str, int] | None = None
    categories: dict[str, int] = {}  # noqa: RUF012 (pydantic copies defaults)
    seats: dict[str, dict[str, float]] = {}  # noqa: RUF012 (pydantic copies defaults)
    mean_plies: float = 0.0
    mean_return: float = 0.0
    return_error: float = 0.0
    returns_sum: float = 0.0
    seconds: float = 0.0

    @classmethod
    def of(cls, match: MatchResult, **about: Any) -> Self:
        """Returns the result of a match; `about` are the keys that the match does not have."""
        found = match.as_dict()
        return cls.model_validate({key: found[key] for key in cls.model_fields if key in found} | about)

    @property
    def gain(self) -> float:
        """Mean return of the first agent less half of the sum of both; that of the second is its negative."""
        return self.mean_return - self.returns_sum / 2

    @property
    def squares(self) -> float:
        """Sum of the squares of the gains, in a game without deals that are played twice."""
        return self.games * ((self.games - 1) * self.return_error**2 + self.gain**2)

    @model_validator(mode="after")
    def _add_up(self) -> Self:
        if self.wins + self.draws + self.losses != self.games:
            raise ValueError(
                f"{self.wins} wins, {self.draws} draws and {self.losses} losses are not {self.games} games"
            )
        return self
