"""Dark hex for PettingZoo: `env()` and `raw_env()`."""

from envs.dark_hex.game import DarkHex
from envs.factored_env import make_envs

env, raw_env = make_envs(DarkHex)

__all__ = ["env", "raw_env"]
