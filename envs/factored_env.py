"""PettingZoo view of the small games, with text as their picture."""

from typing import Any

import numpy as np
from gymnasium.utils import EzPickle
from numpy.typing import NDArray

from envs.extensive import FactoredGame
from envs.pettingzoo_view import METADATA, GameEnv

FACTORED_METADATA = {**METADATA, "render_modes": ["human", "ansi"]}


class FactoredEnv(GameEnv):
    """A `FactoredGame` without wrappers, see `GameEnv`. Rewards are in the game's own unit and come with the end.

    Args:
        game: The rules.
        render_mode: ``ansi``, or ``human``, which prints the text after each move.
        view: Whose private observations a picture shows: 0 or 1, or None for a spectator who sees all.

    Raises:
        ValueError: an unknown render mode or view.
    """

    metadata = FACTORED_METADATA
    game: FactoredGame

    def __init__(self, game: FactoredGame, render_mode: str | None = None, view: int | None = None) -> None:
        if view is not None and (type(view) is not int or view not in (0, 1)):
            raise ValueError(f"view must be None, 0 or 1, not {view!r}")
        name = f"{game.spec.name}_v0"
        super().__init__(game, name, "flat", render_mode)
        EzPickle.__init__(self, game, render_mode, view)
        self.view = view

    def observation_bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def picture(self, state: np.void) -> str | NDArray[np.uint8]:
        return self.game.describe(state, self.view)


def make_raw_env(rules: type[Any]) -> Any:
    """The function `raw_env` of a game: keyword arguments are options of its rules, or of `FactoredEnv`."""

    def raw_env(render_mode: str | None = None, view: int | None = None, **options: Any) -> FactoredEnv:
        return FactoredEnv(rules(**options), render_mode, view)

    raw_env.__doc__ = f"{rules.__name__} for PettingZoo without wrappers: options of the rules, and of `FactoredEnv`."
    return raw_env


__all__ = ["FactoredEnv", "make_raw_env"]
