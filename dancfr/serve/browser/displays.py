"""How a game is shown in a page of the browser: by the display and the module that its record names."""

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


__all__ = ["GENERAL", "Display", "display_of", "offered", "page_of"]
