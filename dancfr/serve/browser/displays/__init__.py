"""What a page shows of a game: one display a game, and a general one for all others."""

from typing import Any

from dancfr.serve.browser.displays.cheat import CheatDisplay
from dancfr.serve.browser.displays.display import Display, offered
from dancfr.serve.browser.displays.geister import GeisterDisplay
from dancfr.serve.browser.displays.general import GeneralDisplay
from dancfr.serve.browser.displays.guandan import GuanDanDisplay
from envs.cheat import Cheat
from envs.game import Game, RaggedGame
from envs.geister import Geister
from envs.guandan import GuanDan

_DISPLAYS: tuple[tuple[type, Any], ...] = ((Geister, GeisterDisplay), (Cheat, CheatDisplay), (GuanDan, GuanDanDisplay))


def display_of(game: Game | RaggedGame) -> Display:
    """Returns the display of a game."""
    make = next((make for kind, make in _DISPLAYS if isinstance(game, kind)), GeneralDisplay)
    found: Display = make(game)
    return found


__all__ = ["Display", "display_of", "offered"]
