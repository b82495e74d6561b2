"""Kuhn poker: batched rules, and a PettingZoo environment."""

from envs.kuhn.env import env, raw_env
from envs.kuhn.game import Kuhn

__all__ = ["Kuhn", "env", "raw_env"]
