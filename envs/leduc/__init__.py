"""Leduc hold'em: batched rules, and a PettingZoo environment."""

from envs.leduc.env import env, raw_env
from envs.leduc.game import Leduc

__all__ = ["Leduc", "env", "raw_env"]
