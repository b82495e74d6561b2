"""Cheat with health points (paper 001): rules, observations, bots and a PettingZoo environment."""

from envs.cheat.env import env, raw_env
from envs.cheat.game import Cheat

__all__ = ["Cheat", "env", "raw_env"]
