"""GuanDan, a card game of two teams with wild cards, levels and tributes: batched rules and PettingZoo environment."""

from envs.guandan.env import env, raw_env
from envs.guandan.game import GuanDan
from envs.guandan.position import legal_actions

__all__ = ["GuanDan", "env", "legal_actions", "raw_env"]
