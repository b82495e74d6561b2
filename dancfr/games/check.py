"""`dancfr.check`: the checks of `dancfr games NAME --check`, of games by name and of games of one's own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dancfr.arguments import checked
from dancfr.errors import UsageError
from dancfr.games.checks import check_game
from dancfr.games.registry import read_options
from dancfr.values import count
from envs.game import GameBase
from learners.html import html_table


@dataclass(frozen=True, repr=False)
class GameCheck:
    """Findings of the checks of a game, which has no fault; printed, they are the text of the command.

    Attributes:
        found: Everything, as `dancfr games NAME --check --json` prints it.
    """

    found: dict[str, Any]

    @property
    def warnings(self) -> list[str]:
        """Findings that the interface allows, but most learners do not, or that nets cannot see."""
        return list(self.found["warnings"])

    def as_dict(self) -> dict[str, Any]:
        """Returns the result as `dancfr games NAME --check --json` prints it."""
        return dict(self.found)

    def __repr__(self) -> str:
        checked_parts = self.found["checked"]
        width = max(map(len, checked_parts))
        lines = [f"{part.ljust(width)}  {text}" for part, text in checked_parts.items()]
        return "\n".join([self._caption(), *lines, *(f"warning: {warning}" for warning in self.warnings)])

    def _repr_html_(self) -> str:
        rows = [*self.found["checked"].items(), *(("warning", warning) for warning in self.warnings)]
        return html_table(("part", "found"), rows, self._caption())

    def _caption(self) -> str:
        games = self.found["games"]
        return f"{self.found['game']}: {count(games, 'random game') if games else 'no games played'}, no error found"


@checked
def check(
    game: str | GameBase,
    options: Mapping[str, Any] | Sequence[str] = (),
    *,
    games: int = 256,
    seed: int = 0,
    most_nodes: int = 10**6,
) -> GameCheck:
    """Plays random games of a game, checks the results of its methods, and builds its tree, which finds leaks.

    Args:
        game: Name of a game, or a game, for example one of your own that has no name yet.
        options: Options of a game that is given by name, by name or as ``key=value``.
        games: Number of random games.
        seed: Their seed.
        most_nodes: Most nodes of a tree that is built.

    Returns:
        What was checked and found, with warnings.

    Raises:
        UsageError: the game cannot be made or breaks the interface: one line that says where.
    """
    if games < 1 or seed < 0:
        raise UsageError(f"--games must be at least 1 and --seed at least 0, got {games} and {seed}")
    if not isinstance(game, str) and options:
        raise UsageError(f"the rules of {game.spec.name} are given: leave out the options")
    given = read_options(game, options) if isinstance(game, str) else {}
    return GameCheck(check_game(game, given, games, seed, most_nodes))


__all__ = ["GameCheck", "check"]
