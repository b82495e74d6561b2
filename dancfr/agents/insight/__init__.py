"""Looks inside agents: the thoughts of an agent of any method about one position."""

from dancfr.agents.insight.beliefs import History
from dancfr.agents.insight.consulting import DRAWS, bring, consult
from envs.insight import Insight

__all__ = ["DRAWS", "History", "Insight", "bring", "consult"]
