"""Curricula: training on a sequence of games of growing size (Ordered Abstraction, paper 001, 4.1.1)."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from dancfr.errors import UsageError
from dancfr.runs.config import Config


class Curriculum(Config):
    """Stages that precede the run's own game. Each stage continues from the nets or tables of the previous one.

    Attributes:
        option: Game option that differs between stages, such as ``health``; empty disables the curriculum.
        values: Value of the option in each stage. The last stage is always the run's own game, with its own value.
        iterations: Iterations per stage; the remaining ones are spent on the run's own game.
    """

    option: str = ""
    values: tuple[int, ...] = ()
    iterations: int = Field(100, ge=1)

    def options_at(self, iteration: int, options: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the game options of an iteration (counted from 1), given the options of the run's own game."""
        stage = (iteration - 1) // self.iterations
        return {**options, self.option: self.values[stage]} if stage < len(self.values) else dict(options)

    def check(self) -> None:
        """Raises UsageError if only one of `option` and `values` is set."""
        if bool(self.option) != bool(self.values):
            given, lacking = ("option", "values") if self.option else ("values", "option")
            raise UsageError(
                f"curriculum.{given} requires curriculum.{lacking}: set both, "
                "e.g. curriculum.option=health curriculum.values=1,2,3"
            )

    def refuse(self) -> None:
        """Raises UsageError if `option` or `values` is set, for methods that train on the run's own game alone."""
        if self.option or self.values:
            given = "option" if self.option else "values"
            raise UsageError(f"curriculum.{given}: this method does not support curricula: leave it out")

    def check_games(self, game: str, options: Mapping[str, Any]) -> None:
        """Checks that the nets of one stage fit the next.

        Raises:
            UsageError: the game rejects the option or a value, or two stages differ in actions or infostates.
        """
        from dancfr.games.registry import make_game

        self.check()
        last = make_game(game, **options).spec
        for value in self.values:
            spec = make_game(game, **{**options, self.option: value}).spec
            seen = [(s.num_players, s.num_actions, s.packed_size, s.shapes, s.slots) for s in (spec, last)]
            if seen[0] != seen[1]:
                raise UsageError(
                    f"curriculum.values: {game} with {self.option}={value} has different actions or infostates from "
                    "the run's own game, so its nets cannot be reused: choose another option or other values"
                )
