"""Agents that play a policy on the tree of a game: solutions, and exact responses."""

import numpy as np
from numpy.typing import NDArray

from dancfr.agents.given import note_game
from dancfr.runs.strategies import check_storable
from envs.game import GameBase
from envs.tree import Tree
from learners.cfr.agent import TabularAgent


def tabular_agent(tree: Tree, policy: NDArray[np.float64], name: str, rules: GameBase) -> TabularAgent:
    """Returns the agent that plays a policy by slot, `float64[S]`.

    Raises:
        UsageError: several infosets look the same to the agent, see `check_storable`.
    """
    check_storable(tree)
    table = tree.to_table(policy)
    if tree.identity is not None:
        return note_game(TabularAgent(tree.identity, table, name, identified=True), rules)
    return note_game(TabularAgent(tree.observed, table, name), rules)


__all__ = ["tabular_agent"]
