"""Goofspiel with hidden bids for PettingZoo: `env()` and `raw_env()`."""

from envs.factored_env import make_envs
from envs.goofspiel.game import Goofspiel

env, raw_env = make_envs(Goofspiel)

__all__ = ["env", "raw_env"]
