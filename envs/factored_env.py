"""PettingZoo environments of the small games, rendered as text or as a picture of it."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pettingzoo import AECEnv

from envs.extensive import FactoredGame
from envs.pettingzoo_view import METADATA, GameEnv, wrapped

FACTORED_METADATA = {**METADATA, "render_modes": ["human", "ansi", "rgb_array"]}


class FactoredEnv(GameEnv):
    """A `FactoredGame` as a PettingZoo environment without wrappers, see `GameEnv`.

    The rewards are the returns of the game, in its own unit, paid at the end.

    Args:
        game: The rules.
        render_mode: ``ansi``, ``rgb_array``, or ``human``, which prints the text after each move.
        view: Player whose private observations are rendered, from 0, or None for a spectator who sees everything.

    Raises:
        ValueError: unknown render mode or view.
    """

    metadata = FACTORED_METADATA
    game: FactoredGame

    def __init__(self, game: FactoredGame, render_mode: str | None = None, view: int | None = None) -> None:
        players = game.spec.num_players
        if view is not None and (type(view) is not int or not 0 <= view < players):
            raise ValueError(f"view must be None or a player from 0 to {players - 1}, got {view!r}")
        name = f"{game.spec.name}_v0"
        super().__init__(game, name, "flat", render_mode)
        self.view = view

    def observation_bounds(self) -> tuple[float, float]:
        return self.game.input_bounds

    def picture(self, state: np.void) -> str | NDArray[np.uint8]:
        text = self.game.describe(state, self.view)
        if self.render_mode != "rgb_array":
            return text
        from envs.drawing import text_picture

        return text_picture(text)


def make_envs(rules: type[Any]) -> tuple[Callable[..., AECEnv], Callable[..., FactoredEnv]]:
    """Makes the functions `env` and `raw_env` of a game. Their keyword arguments are options of the rules or of
    `FactoredEnv`; `env` adds PettingZoo's usual wrappers, with which an illegal action ends the game with -1 for its
    player."""

    def raw_env(render_mode: str | None = None, view: int | None = None, **options: Any) -> FactoredEnv:
        return FactoredEnv(rules(**options), render_mode, view)

    def env(render_mode: str | None = None, view: int | None = None, **options: Any) -> AECEnv:
        return wrapped(raw_env(render_mode, view, **options))

    raw_env.__doc__ = f"{rules.__name__} for PettingZoo without wrappers: options of the rules, and of `FactoredEnv`."
    env.__doc__ = f"{rules.__name__} for PettingZoo with the usual wrappers: options of `raw_env`."
    return env, raw_env
