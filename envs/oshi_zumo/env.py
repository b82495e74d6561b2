"""Oshi-zumo with hidden bids for PettingZoo: `env()` and `raw_env()`."""

from envs.factored_env import make_envs
from envs.oshi_zumo.game import OshiZumo

env, raw_env = make_envs(OshiZumo)

__all__ = ["env", "raw_env"]
