"""Oshi-zumo with hidden bids: batched rules, and a PettingZoo environment."""

from envs.oshi_zumo.env import env, raw_env
from envs.oshi_zumo.game import OshiZumo

__all__ = ["OshiZumo", "env", "raw_env"]
