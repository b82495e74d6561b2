"""Cheat for PettingZoo: `env()` and `raw_env`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from pettingzoo import AECEnv

from envs.cheat import render
from envs.cheat.game import Cheat
from envs.pettingzoo_view import METADATA, GameEnv, as_index, wrapped

CHEAT_METADATA = {**METADATA, "render_modes": ["human", "ansi", "rgb_array"], "name": "cheat_v0"}


class raw_env(GameEnv):
    """Cheat for 2 to 6 players without wrappers, see `GameEnv`.

    Observations are the encoding ``flat``, `float32[inputs]`, with values in [0, 1]. Ranks are counted from the current
    one, and the P players from the viewer. A deck has R ranks of S copies, and a discard at most M cards. The inputs
    are, in this order (the numbers in brackets are the offsets in Mini-Cheat, where P = S = M = 2 and R = 3):

    - [0] 2: phase, one-hot: the player to move discards, or answers a claim;
    - [2] M + 1: number of cards claimed, one-hot; 0 stands for no claim;
    - [5] P: discarder, one-hot;
    - [7] P: sizes of the hands / number of cards in the deck;
    - [9] P: health / `observation_health` (`health` by default, at most 255), at most 1; 1 if health is unlimited;
    - [11] P: whether a player has only one health point left;
    - [13] P: number of cards that each player has put into the pile / number of cards in the deck;
    - [15] P * R * S: for each player and rank as many ones as there are known cards: the viewer's hand, then the cards
      that each other player is known to hold or to have put into the pile;
    - [27] R: cards that the viewer has put into the pile / S;
    - [30] R: the viewer's own discard, while it is picked or answered / S;
    - [33] 4 * (M + 1): the last four turns, newest first: number of cards claimed, one-hot from 1, and whether the
      claim was challenged;
    - R, only with ``discards="cards"``: the lowest rank that may still be picked, one-hot.

    `envs.cheat.Cheat.describe_action` names the actions.

    Rewards are paid at the end. A player without cards gets 1, which the others pay in equal shares; a player without
    health pays 1, which the others share equally; at the ply limit all get 0.

    Args:
        render_mode: ``ansi``, ``rgb_array``, or ``human``, which prints the text after each move.
        view: Player whose cards are rendered, or None for a spectator who sees all cards.
        options: Options of `envs.cheat.Cheat`.

    Raises:
        TypeError: an unknown option, or an option of the wrong type.
        ValueError: an option is out of range.
        IllegalAction: from `step`, if the rules do not allow the action.
        GameOver: before the first `reset`, and from `step`, `observe` and `last` after the end.
    """

    metadata = CHEAT_METADATA
    game: Cheat

    def __init__(self, render_mode: str | None = None, view: int | None = None, **options: Any) -> None:
        game = Cheat(**options)
        if view is not None and not 0 <= as_index(view) < game.players:
            raise ValueError(f"view must be None or from 0 to {game.players - 1}, got {view!r}")
        super().__init__(game, f"{game.name}_v0", "flat", render_mode)
        self.view = view

    def observation_bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def picture(self, state: np.void) -> str | NDArray[np.uint8]:
        draw = render.rgb_array if self.render_mode == "rgb_array" else render.ansi
        return draw(self.game, state, self.view)


def env(**options: Any) -> AECEnv:
    """Creates Cheat with the usual wrappers; an illegal action ends the game with -1 for its player.

    Args:
        options: Options of `raw_env`.
    """
    return wrapped(raw_env(**options))


__all__ = ["env", "raw_env"]
