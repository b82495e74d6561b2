"""Phantom tic-tac-toe for PettingZoo: `env()` and `raw_env()`."""

from typing import Any

from pettingzoo import AECEnv

from envs.factored_env import make_raw_env
from envs.pettingzoo_view import wrapped
from envs.phantom_ttt.game import PhantomTicTacToe

raw_env = make_raw_env(PhantomTicTacToe)


def env(**options: Any) -> AECEnv:
    """Creates the environment with the usual wrappers; an illegal action ends the game with -1 for its player.

    Args:
        options: Options of `raw_env`.
    """
    return wrapped(raw_env(**options))


__all__ = ["env", "raw_env"]
