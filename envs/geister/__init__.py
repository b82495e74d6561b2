"""Geister, a two-player board game of hidden colours: batched rules and PettingZoo environment."""

from envs.geister.env import env, raw_env
from envs.geister.game import Geister

__all__ = ["Geister", "env", "raw_env"]
