"""What the configurations of all methods have in common."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import Field

from dancfr.config import Config
from dancfr.errors import UsageError, nearest
from dancfr.experiments.curriculum import Curriculum


class EvaluationSettings(Config):
    """Evaluation along the run.

    Attributes:
        every: Iterations between evaluations; 0 for none.
        opponents: Names of bots.
        games: Games against each opponent with each policy, half of them in each seat.
    """

    every: int = Field(10, ge=0)
    opponents: tuple[str, ...] = ("random",)
    games: int = Field(1000, ge=2, le=10_000_000)

    def for_other_game(self) -> Self:
        """The same for a game of which no bot is known but `random`."""
        return self.model_copy(update={"opponents": ("random",)})


class RunConfig(Config):
    """Settings that every method has.

    Attributes:
        game: Name of the game, see `dancfr games`.
        game_options: Options of the game.
        curriculum: Smaller games that the run begins with.
        seed: Of everything random in the run.
        iterations: Iterations in all.
        minutes: Stop after so many minutes of training, evaluations and checkpoints left out; None: no limit.
        evaluation: Evaluation along the run.
        checkpoint_every: Iterations between checkpoints.
    """

    resumable: ClassVar[frozenset[str]] = frozenset({"iterations", "minutes", "evaluation", "checkpoint_every"})

    game: str = "geister"
    game_options: dict[str, Any] = Field(default_factory=dict)
    curriculum: Curriculum = Curriculum()
    seed: int = Field(1, ge=0, lt=2**32)
    iterations: int = Field(200, ge=1)
    minutes: float | None = Field(None, gt=0)
    evaluation: EvaluationSettings = EvaluationSettings()
    checkpoint_every: int = Field(25, ge=1)

    def base_for(self, changes: Mapping[str, Any]) -> Self:
        """Another game starts from its own options, and knows no bot but `random`."""
        if changes.get("game", self.game) == self.game:
            return self
        changed = {"game_options": {}, "curriculum": Curriculum(), "evaluation": self.evaluation.for_other_game()}
        return self.model_copy(update=changed)

    def options_at(self, iteration: int) -> dict[str, Any]:
        """Options of the game that iteration t, from 1, is played on."""
        return self.curriculum.options_at(iteration, self.game_options)

    def check_opponents(self, game: Any) -> None:
        """Raises UsageError where an opponent is no bot of the game."""
        from dancfr.evaluation.agents import bots

        for opponent in self.evaluation.opponents:
            if opponent not in (known := list(bots(game))):
                raise UsageError(f"evaluation.opponents: {nearest(opponent, known, f'bot of {self.game}')}")
