"""Agents of strategies by belief state, and their evaluation along a run."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from numpy.typing import NDArray

from dancfr.evaluation.server import evaluation_rows
from envs.geister import Geister
from learners.geister_beliefs.agent import BeliefAgent
from learners.geister_beliefs.belief import Update
from learners.geister_beliefs.net_agent import BeliefNetAgent
from learners.geister_beliefs.policies import BeliefWeights
from learners.geister_beliefs.settings import SearchSettings
from learners.geister_beliefs.strategy import BeliefStrategy
from learners.networks.settings import NetworkSettings, Weights


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


class BeliefNetEvaluationServer:
    """Plays matches of the newest nets of a run against bots.

    Args:
        game: The game as it is trained on.
        evaluated: The game as it is evaluated, with its own ply limit.
        network: Description of the nets that play.
        search: How beliefs are updated.
        threshold: Of the average policy, see `BeliefNetAgent`.
        opponents: Names of bots.
        last: Evaluate the policy of the last advantage net too.
    """

    def __init__(
        self,
        game: Geister,
        evaluated: Geister,
        network: NetworkSettings,
        search: SearchSettings,
        threshold: float,
        opponents: Sequence[str],
        last: bool,
    ) -> None:
        self._game, self._evaluated, self._network = game, evaluated, network
        self._search, self._threshold, self._opponents = search, threshold, opponents
        self._policies = ("average", "last") if last else ("average",)
        self._iteration = 0
        self._nets: Weights = {}

    def add(self, iteration: int, nets: Weights) -> None:
        """The nets of an iteration, in the place of those before."""
        self._iteration, self._nets = iteration, nets

    def evaluate(self, iteration: int, games: int, seed: tuple[int, ...]) -> list[dict[str, Any]]:
        """Matches of each policy against each opponent; rows for `metrics.jsonl`.

        Raises:
            ValueError: the newest nets are of another iteration.
        """
        if self._iteration != iteration:
            raise ValueError(f"iteration {iteration} is to be evaluated, but the newest nets are of {self._iteration}")
        policies = {policy: partial(self._agent, policy) for policy in self._policies}
        return evaluation_rows(self._evaluated, policies, self._opponents, iteration, games, seed)

    def _agent(self, policy: str) -> BeliefNetAgent:
        threshold = self._threshold if policy == "average" else 0.0
        return belief_net_agent(self._game, self._network, self._nets, self._search, policy, threshold, policy)


def belief_net_agent(
    game: Geister,
    network: NetworkSettings,
    nets: Weights,
    search: SearchSettings,
    name: str,
    threshold: float,
    policy: str = "average",
) -> BeliefNetAgent:
    """The agent of stored nets; arguments as of `BeliefNetAgent`.

    Args:
        nets: Arrays of both nets, their names beginning with ``policy.`` or ``advantage.``.
        search: As it was trained with.
    """
    kinds: dict[str, Weights] = {"policy": {}, "advantage": {}}
    for key, array in nets.items():
        kind, _, part = key.partition(".")
        kinds.setdefault(kind, {})[part] = array
    weights = BeliefWeights(1, kinds["advantage"], kinds["policy"], None)
    return BeliefNetAgent(game, network, weights, search.belief, name, threshold, policy, search.doubt)
