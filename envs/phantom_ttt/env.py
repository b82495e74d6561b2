"""Phantom tic-tac-toe for PettingZoo: `env()` and `raw_env()`."""

from envs.factored_env import make_envs
from envs.phantom_ttt.game import PhantomTicTacToe

env, raw_env = make_envs(PhantomTicTacToe)

__all__ = ["env", "raw_env"]
