"""How a game is shown in a page of the browser: by the display and the module that its record names."""

import inspect
from pathlib import Path

from dancfr.errors import UsageError
from dancfr.games.registry import record_of
from envs.display import Display, offered
from envs.game import GameBase, numbered
from envs.general_display import GeneralDisplay

GENERAL = "general.js"
"""The module of games that have none of their own."""


def display_of(game: GameBase) -> Display:
    """Returns the display of a game."""
    record = record_of(game)
    if record is None or record.display is None:
        return GeneralDisplay(numbered(game))
    found: Display = record.display(game)
    return found


def page_of(game: GameBase) -> Path | None:
    """Returns the module that draws a game; None if the general page does.

    Raises:
        UsageError: the game's record names a file that does not exist.
    """
    record = record_of(game)
    page = None if record is None else record.page
    if page is not None and not page.is_file():
        raise UsageError(f"the page of {game.spec.name}, {page}, does not exist: GameRecord.page names a module")
    return page


def rules_of(game: GameBase) -> Path | None:
    """Returns the page of a game's rules, the README.md beside its class; None for games of other packages."""
    if not type(game).__module__.startswith("envs."):
        return None
    rules = Path(inspect.getfile(type(game))).parent / "README.md"
    return rules if rules.is_file() else None


__all__ = ["GENERAL", "Display", "display_of", "offered", "page_of", "rules_of"]
