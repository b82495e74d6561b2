"""Configuration and presets of the tabular methods of paper 002."""

from pydantic import Field

from dancfr.errors import UsageError
from dancfr.methods.method import Preset
from dancfr.methods.settings import EvaluationSettings, RunConfig
from learners.belief_tables.settings import TableSettings


class BeliefTablesEvaluation(EvaluationSettings):
    """Evaluation of the average policy during training."""

    every: int = Field(100, ge=0)
    opponents: tuple[str, ...] = ("random", "heuristic", "rush")


class BeliefTablesConfig(RunConfig):
    """Belief states and depth-limited external sampling with tables, on Mini Geister (paper 002).

    Attributes:
        tables: Settings of the solver: the values that it tabulates, sampling and updates.
    """

    game: str = "mini-geister"
    iterations: int = Field(3000, ge=1)
    tables: TableSettings = TableSettings()
    evaluation: BeliefTablesEvaluation = BeliefTablesEvaluation()
    checkpoint_every: int = Field(500, ge=1)

    def check(self) -> None:
        """Raises UsageError if the game is not Mini Geister, has a curriculum, or lacks one of the opponents."""
        from dancfr.games.registry import make_game
        from learners.belief_tables.solver import check_game

        game = make_game(self.game, **self.game_options)
        try:
            check_game(game)
        except ValueError as error:
            raise UsageError(str(error)) from None
        self.curriculum.refuse()
        self.check_opponents(game)


PRESETS = (
    Preset(
        "mini-geister-belief-tables",
        BeliefTablesConfig(),
        "paper 002: belief states and depth-limited external sampling in tables, half a minute",
    ),
)
