"""Liar's dice for PettingZoo: `env()` and `raw_env()`."""

from envs.factored_env import make_envs
from envs.liars_dice.game import LiarsDice

env, raw_env = make_envs(LiarsDice)

__all__ = ["env", "raw_env"]
