"""Cheat for PettingZoo: `env()` and `raw_env`."""

from typing import Any

import numpy as np
from gymnasium.utils import EzPickle
from numpy.typing import NDArray
from pettingzoo import AECEnv

from envs.cheat import render
from envs.cheat.game import Cheat
from envs.pettingzoo_view import METADATA, GameEnv, as_index, wrapped

CHEAT_METADATA = {**METADATA, "render_modes": ["human", "ansi", "rgb_array"], "name": "cheat_v0"}


class raw_env(GameEnv):
    """Cheat for 2 to 6 players without wrappers, see `GameEnv`.

    Observations are the encoding ``flat``, `float32[inputs]`, all within [0, 1]. Ranks are counted from the one that is
    claimed now, or next, and the P players from the one who looks. With R ranks of S copies and M cards of a discard
    at most they are, in this order (in brackets where it begins in Mini-Cheat, with P = S = M = 2 and R = 3):

    - [0] 2: 1 for a player who discards, or for one who answers a claim;
    - [2] M + 1: cards claimed, one-hot from 0, which is none;
    - [5] P: discarder, one-hot;
    - [7] P: sizes of the hands / cards of the deck;
    - [9] P: health / `observation_health` (or `health`; at most 1, and 1 without limit);
    - [11] P: whether it is the last health point;
    - [13] P: cards that each has put into the pile / cards of the deck;
    - [15] P times R times S: of each holder and rank as many ones as there are cards: the own hand, then what each
      other player is known to have in his hand or to have put;
    - [27] R: what the viewer has put / S;
    - [30] R: his own discard while it is picked or answered / S;
    - [33] 4 times M + 1: the last turns, newest first: cards claimed, one-hot from 1, and whether it was challenged;
    - R, with ``discards="cards"`` alone: the lowest rank that may still be picked, one-hot.

    Actions are named by `envs.cheat.Cheat.describe_action`.

    Rewards come with the end: 1 to a player without cards from the others in equal shares, -1 of one without health to
    them, 0 at the ply limit.

    Args:
        render_mode: ``ansi``, ``rgb_array``, or ``human``, which prints the text after each move.
        view: Whose cards a picture shows: a player's number, or None for a spectator who sees all.
        options: Those of `envs.cheat.Cheat`.

    Raises:
        TypeError: an option that there is not, or of another type.
        ValueError: an option that is out of range.
        IllegalAction: from `step`, if the rules do not allow the action.
        GameOver: before the first `reset`, and from `step`, `observe` and `last` after the end.
    """

    metadata = CHEAT_METADATA
    game: Cheat

    def __init__(self, render_mode: str | None = None, view: int | None = None, **options: Any) -> None:
        game = Cheat(**options)
        if view is not None and not 0 <= as_index(view) < game.players:
            raise ValueError(f"view must be None or from 0 to {game.players - 1}, not {view!r}")
        super().__init__(game, f"{game.name}_v0", "flat", render_mode)
        EzPickle.__init__(self, render_mode, view, **options)
        self.view = view

    def observation_bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def picture(self, state: np.void) -> str | NDArray[np.uint8]:
        draw = render.rgb_array if self.render_mode == "rgb_array" else render.ansi
        return draw(self.game, state, self.view)


def env(**options: Any) -> AECEnv:
    """Cheat with PettingZoo's usual wrappers: an illegal move ends the game with -1 for its player.

    Args:
        options: Those of `raw_env`.
    """
    return wrapped(raw_env(**options))


__all__ = ["env", "raw_env"]
