"""Games of growing size that a run goes through: Ordered Abstraction (paper 001, 4.1.1) for any option of any game."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from dancfr.errors import UsageError
from dancfr.runs.config import Config


class Curriculum(Config):
    """Stages before the run's own game. What has been learnt goes on from each to the next.

    Attributes:
        option: The option of the game that differs from stage to stage, such as ``health``; empty: no stages.
        values: Its value in each stage; the run's own game, which comes last, has its own.
        iterations: Iterations of each stage; all others go to the run's own game.
    """

    option: str = ""
    values: tuple[int, ...] = ()
    iterations: int = Field(100, ge=1)

    def options_at(self, iteration: int, options: Mapping[str, Any]) -> dict[str, Any]:
        """Options of the game that iteration t, from 1, is played on; `options` are those of the run's own game."""
        stage = (iteration - 1) // self.iterations
        return {**options, self.option: self.values[stage]} if stage < len(self.values) else dict(options)

    def check(self) -> None:
        """Raises UsageError where one of option and values is there without the other."""
        if bool(self.option) != bool(self.values):
            given, lacking = ("option", "values") if self.option else ("values", "option")
            raise UsageError(f"curriculum.{given} needs curriculum.{lacking}, such as health and 1,2,3")

    def check_games(self, game: str, options: Mapping[str, Any]) -> None:
        """Checks that nets of one stage fit the next.

        Raises:
            UsageError: the option or a value does not fit the game, or the games of two stages look different.
        """
        from dancfr.games.registry import make_game

        self.check()
        last = make_game(game, **options).spec
        for value in self.values:
            spec = make_game(game, **{**options, self.option: value}).spec
            seen = [(s.num_players, s.num_actions, s.packed_size, s.shapes, s.slots) for s in (spec, last)]
            if seen[0] != seen[1]:
                raise UsageError(
                    f"curriculum: {game} with {self.option}={value} has other actions or infostates than the run's own "
                    "game, so that what is learnt there does not fit here"
                )
