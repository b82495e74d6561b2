"""What `dancfr exploit` takes: the request, and the settings of the training as ``key=value``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dancfr.errors import UsageError
from dancfr.methods.options import TrainOptions
from dancfr.runs.config import Config, apply_overrides
from envs.game import Game, GameSpec
from learners.best_response.settings import ResponseSettings, settings_for

MOST_GAMES = 10_000_000
MONTH = 60 * 24 * 30
MINUTES = 5.0
"""Budget of a training where the command names none."""


@dataclass(frozen=True)
class ExploitRequest:
    """What `dancfr exploit` was asked for.

    Attributes:
        agent: Name of the frozen agent.
        game: Name of the game.
        settings: ``key=value`` options of the game.
        ply_limit: See `dancfr.agents.match_rules`.
        exact: Compute the best response where that is possible, instead of training one.
        minutes: Training ends after so many minutes.
        games: Training ends after so many games. With neither it takes `MINUTES`, with both what comes first.
        seed: Of all that is random.
        eval_games: Games that the result is measured by, half of them in each seat.
        overrides: ``key=value`` of `ResponseSettings`.
        out: Folder for result, figure and nets.
        options: Where workers and learner live; its `device` may be ``auto``.

    Raises:
        UsageError: numbers that make no sense.
    """

    agent: str
    game: str
    settings: Sequence[str] = ()
    ply_limit: int | None = None
    exact: bool = False
    minutes: float | None = None
    games: int | None = None
    seed: int = 0
    eval_games: int = 10_000
    overrides: Sequence[str] = ()
    out: Path | None = None
    options: TrainOptions = TrainOptions(inline=True)  # noqa: RUF009 (frozen)

    def __post_init__(self) -> None:
        if self.minutes is not None and not 0 < self.minutes <= MONTH:
            raise UsageError(f"--minutes must be more than 0 and at most a month ({MONTH}), not {self.minutes:g}")
        if self.games is not None and not 2 <= self.games <= 1_000 * MOST_GAMES:
            raise UsageError(f"--games must be from 2 to {1_000 * MOST_GAMES:,}, not {self.games}")
        if not 20 <= self.eval_games <= MOST_GAMES:
            raise UsageError(f"--eval-games must be from 20 to {MOST_GAMES:,}, not {self.eval_games}")
        if self.seed < 0:
            raise UsageError(f"--seed must be at least 0, not {self.seed}")
        if self.exact and (self.minutes is not None or self.games is not None or self.overrides):
            raise UsageError("--exact trains nothing: leave out --minutes, --games and settings")

    @property
    def seconds(self) -> float | None:
        """Budget in seconds, if there is one."""
        minutes = MINUTES if self.minutes is None and self.games is None else self.minutes
        return None if minutes is None else 60 * minutes


class ExploitConfig(Config, ResponseSettings):
    """The settings of a best response, as the command line reads them."""


def response_settings(spec: GameSpec, overrides: Sequence[str]) -> ResponseSettings:
    """The settings for a game, with those that the command says.

    Raises:
        UsageError: an unknown key or a value that it does not take, or a net that the game does not allow.
    """
    settings = apply_overrides(ExploitConfig(**settings_for(spec).model_dump()), overrides)
    try:
        settings.network.check(spec)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if settings.training.minibatches is None:
        raise UsageError("training.minibatches must be a number here: fits draw from the newest games of all")
    return settings


def two_player_game(rules: Any) -> Game:
    """The game, unless what a response wins there is no bound of exploitability.

    Raises:
        UsageError: it has teams or more than two players, or its actions are not numbered.
    """
    spec: GameSpec = rules.spec
    if spec.num_players != 2 or spec.teams:
        raise UsageError(
            f"what a response wins is a bound of exploitability in two-player zero-sum games, and {spec.name} has "
            f"{spec.num_players} players: measure agents against each other by dancfr evaluate"
        )
    if not isinstance(rules, Game):
        raise UsageError(f"a response is trained where actions are numbered, and those of {spec.name} are not")
    return rules
