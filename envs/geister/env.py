"""Geister and Mini Geister for PettingZoo: `env()` and `raw_env`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pettingzoo import AECEnv

from envs.geister import render, rules
from envs.geister.game import Geister
from envs.pettingzoo_view import METADATA, GameEnv, as_index, wrapped

GEISTER_METADATA = {**METADATA, "render_modes": ["human", "ansi", "rgb_array"], "name": "geister_v0"}


class raw_env(GameEnv):
    """Geister (`size` 6) or Mini Geister (4) without wrappers, see `GameEnv`.

    Observations are the planes of paper 000, `float32[6, size, size]`: own blue ghosts, own red ghosts, the opponent's
    ghosts, the opponent's blue ghosts taken / 3, red ghosts taken / 3, and ply / `observation_limit`. With `history`
    they are the vector of the encoding ``flat``, which includes what each ghost has done.

    Args:
        size, ply_limit, random_setup, forced_escape, observation_limit, clip_ply, history: See `envs.geister.Geister`.
        render_mode: ``ansi``, ``rgb_array``, or ``human``, which prints the text after each move.
        view: Player whose colours are rendered, 0 or 1, or None for a spectator who sees all colours.

    Raises:
        ValueError: an option is out of range.
        IllegalAction: from `step`, if the rules do not allow the action.
        GameOver: before the first `reset`, and from `step`, `observe` and `last` after the end.
    """

    metadata = GEISTER_METADATA
    game: Geister

    def __init__(
        self,
        size: int = 6,
        ply_limit: int = 100,
        random_setup: bool = True,
        forced_escape: bool = True,
        observation_limit: int = 100,
        clip_ply: bool = True,
        render_mode: str | None = None,
        view: int | None = None,
        history: bool = False,
    ) -> None:
        if view is not None and as_index(view) not in (0, 1):
            raise ValueError(f"view must be None, 0 or 1, got {view!r}")
        game = Geister(size, ply_limit, random_setup, forced_escape, observation_limit, clip_ply, history)
        super().__init__(game, "geister_v0", "flat" if history else "planes", render_mode)
        self.view = view

    def observation_bounds(self) -> tuple[float, float]:
        """Returns 0 and the maximum: 4/3 for ghosts taken, the ply where it is not clipped, or a number of ghosts."""
        game = self.game
        ply = 1.0 if game.clip_ply else game.ply_limit / game.observation_limit
        return 0.0, max(rules.GHOSTS if game.history else 4 / 3, ply)

    def picture(self, state: np.void) -> str | NDArray[np.uint8]:
        draw = render.rgb_array if self.render_mode == "rgb_array" else render.ansi
        return draw(state, self.game.size, self.game.ply_limit, self.view)


def env(**options: Any) -> AECEnv:
    """Creates Geister with the usual wrappers; an illegal action ends the game with -1 for its player.

    Args:
        options: Options of `raw_env`.
    """
    return wrapped(raw_env(**options))


__all__ = ["env", "raw_env"]
