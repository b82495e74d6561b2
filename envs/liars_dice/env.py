"""Liar's dice for PettingZoo: `env()` and `raw_env()`."""

from typing import Any

from pettingzoo import AECEnv

from envs.factored_env import make_raw_env
from envs.liars_dice.game import LiarsDice
from envs.pettingzoo_view import wrapped

raw_env = make_raw_env(LiarsDice)


def env(**options: Any) -> AECEnv:
    """Creates the environment with the usual wrappers; an illegal action ends the game with -1 for its player.

    Args:
        options: Options of `raw_env`.
    """
    return wrapped(raw_env(**options))


__all__ = ["env", "raw_env"]
