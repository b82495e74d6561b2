"""Looks inside agents: what an agent of any method thinks of one position."""

from dancfr.agents.insight.beliefs import History
from dancfr.agents.insight.consulting import DRAWS, bring, consult
from dancfr.agents.insight.report import Insight

__all__ = ["DRAWS", "History", "Insight", "bring", "consult"]
