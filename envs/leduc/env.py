"""Leduc hold'em for PettingZoo: `env()` and `raw_env()`."""

from envs.factored_env import make_envs
from envs.leduc.game import Leduc

env, raw_env = make_envs(Leduc)

__all__ = ["env", "raw_env"]
