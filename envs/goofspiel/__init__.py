"""Goofspiel with hidden bids: batched rules, and a PettingZoo environment."""

from envs.goofspiel.env import env, raw_env
from envs.goofspiel.game import Goofspiel

__all__ = ["Goofspiel", "env", "raw_env"]
