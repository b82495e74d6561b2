"""Kuhn poker for PettingZoo: `env()` and `raw_env()`."""

from envs.factored_env import make_envs
from envs.kuhn.game import Kuhn

env, raw_env = make_envs(Kuhn)

__all__ = ["env", "raw_env"]
