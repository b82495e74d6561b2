"""Agents of strategies by belief state, and their evaluation along a run."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from numpy.typing import NDArray

from dancfr.evaluation.worker import evaluation_rows
from envs.geister import Geister
from learners.depth_limited.agent import BeliefAgent
from learners.depth_limited.belief import Update
from learners.depth_limited.strategy import BeliefStrategy


class BeliefEvaluationServer:
    """Plays matches of the newest strategies of a run against bots.

    Args:
        game: Mini Geister.
        belief: How beliefs are updated.
        opponents: Names of bots.
    """

    def __init__(self, game: Geister, belief: Update, opponents: Sequence[str]) -> None:
        self._game, self._belief, self._opponents = game, belief, opponents

    def take(self, about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """A new strategy, in the place of the one before."""
        self._strategy = BeliefStrategy.from_arrays(arrays)

    def evaluate(self, iteration: int, games: int, seed: tuple[int, ...]) -> list[dict[str, Any]]:
        """Matches of the average policy against each opponent; rows for `metrics.jsonl`."""
        policies = {"average": partial(BeliefAgent, self._strategy, self._belief, "average")}
        return evaluation_rows(self._game, policies, self._opponents, iteration, games, seed)
