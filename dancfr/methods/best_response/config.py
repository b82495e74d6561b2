"""Configuration and preset of trained best responses: the settings of `dancfr exploit AGENT KEY=VALUE`."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from dancfr.errors import UsageError
from dancfr.methods.method import Preset
from dancfr.methods.settings import EvaluationSettings, RunConfig
from envs.game import Game, GameSpec
from learners.best_response.settings import ResponseSettings, settings_for

MOST_GAMES = 10_000_000


class BestResponseEvaluation(EvaluationSettings):
    """No evaluation against bots: the driver measures the response against its own agent."""

    every: int = Field(0, ge=0, le=0)
    opponents: tuple[str, ...] = ()


class BestResponseConfig(RunConfig, ResponseSettings):
    """A best response to a frozen agent, trained by Deep Monte-Carlo in each seat.

    Attributes:
        agent: Name of the frozen agent.
        games: Stop after this many training games; None: no limit.
        eval_games: Games for the final measurement, half of them in each seat.
    """

    buffers: ClassVar[tuple[str, ...]] = ("buffer",)
    resumable: ClassVar[frozenset[str]] = RunConfig.resumable | {"games", "eval_games"}

    agent: str = "random"
    iterations: int = Field(1_000_000, ge=1)
    minutes: float | None = Field(5.0, gt=0)
    games: int | None = Field(None, ge=2, le=1_000 * MOST_GAMES)
    eval_games: int = Field(10_000, ge=20, le=MOST_GAMES)
    evaluation: BestResponseEvaluation = BestResponseEvaluation()
    checkpoint_every: int = Field(1_000_000, ge=1)

    @model_validator(mode="after")
    def _fits_have_a_length(self) -> Self:
        if self.training.minibatches is None:
            raise ValueError(
                "training.minibatches must be a number: this method draws minibatches from a buffer of the newest "
                "games, so a fit has no natural end"
            )
        return self

    def base_for(self, changes: Mapping[str, Any]) -> Self:
        """Returns the settings that `changes` apply to; another game may need another output layout of the nets."""
        base = super().base_for(changes)
        if base is self:
            return self
        from dancfr.games.registry import make_game

        network = settings_for(make_game(changes["game"], **changes.get("game_options", {})).spec).network
        return base.model_copy(update={"network": network, "evaluation": self.evaluation})

    def check(self) -> None:
        """Raises UsageError if the game is not two-player zero-sum with numbered actions, or the nets do not fit it."""
        from dancfr.games.registry import make_game

        game = two_player_game(make_game(self.game, **self.game_options))
        try:
            self.network.check(game.spec)
        except ValueError as error:
            raise UsageError(str(error)) from None
        if self.curriculum.option:
            raise UsageError("curriculum.option: best responses do not support curricula: leave it out")


def two_player_game(rules: Any) -> Game:
    """Returns the game if the return of a response is a lower bound of exploitability in it.

    Raises:
        UsageError: the game has teams or more than two players, or its actions are not numbered.
    """
    spec: GameSpec = rules.spec
    if spec.num_players != 2 or spec.teams:
        raise UsageError(
            f"a best response bounds exploitability in two-player zero-sum games only, and {spec.name} has "
            f"{spec.num_players} players: compare agents with dancfr evaluate instead"
        )
    if not isinstance(rules, Game):
        raise UsageError(
            f"a best response needs a game with numbered actions, unlike {spec.name}: "
            "compare agents with dancfr evaluate instead"
        )
    return rules


_NETWORK = ResponseSettings().network.model_copy(update={"outputs": "move"})
PRESETS = (
    Preset(
        "best-response",
        BestResponseConfig(network=_NETWORK),
        "a best response to agent=NAME, as `dancfr exploit NAME` trains it, 5 minutes",
    ),
)
