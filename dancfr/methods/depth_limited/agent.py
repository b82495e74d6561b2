"""Agents of runs of depth-limited external sampling with nets."""

from collections.abc import Callable
from functools import partial
from typing import Any

from dancfr.errors import UsageError
from dancfr.evaluation.server import NewestNets
from dancfr.methods.agent_name import SHARE, AgentName
from dancfr.methods.depth_limited.config import DepthLimitedConfig
from dancfr.methods.stored import check_weights, misfit, newest, trained_game, value_net_shapes
from dancfr.runs.run import Run
from envs.agent import Agent
from envs.geister import Geister
from learners.geister_beliefs.net_agent import BeliefNetAgent
from learners.geister_beliefs.policies import BeliefWeights
from learners.geister_beliefs.settings import SearchSettings
from learners.geister_beliefs.view import BeliefGeister
from learners.networks.settings import NetworkSettings, Weights


class DepthLimitedPolicies(NewestNets):
    """The newest nets of a growing run: the average policy and, where it is wanted, that of the last advantage net.

    Args:
        game: The game as it is trained on.
        config: The run's configuration.
    """

    def __init__(self, game: Geister, config: DepthLimitedConfig) -> None:
        super().__init__()
        self._game, self._config = game, config

    def agents(self, iteration: int) -> dict[str, Callable[[], Agent]]:
        """What makes the agent of each policy.

        Raises:
            ValueError: the newest nets are of another iteration.
        """
        self.require(iteration)
        policies = ("average", "last") if self._config.evaluation.last else ("average",)
        return {policy: partial(self._agent, policy) for policy in policies}

    def _agent(self, policy: str) -> BeliefNetAgent:
        config = self._config
        threshold = config.average_threshold if policy == "average" else 0.0
        return belief_net_agent(self._game, config.network, self.nets, config.search, policy, threshold, policy)


def load_agent(run: Run, wanted: AgentName, game: Any) -> Agent:
    """The agent of the nets that a run had after an iteration, or of the newest ones stored before it.

    Options of its name: ``average=net`` for the policy net, ``average=last`` for the last advantage net, ``threshold``.

    Raises:
        UsageError: the run is of another game or has no nets yet, or the file is damaged.
    """
    options = wanted.options({"average": ("net", "last"), "threshold": SHARE})
    config = run.config_as(DepthLimitedConfig)
    trained_on: Any = trained_game(wanted.base, config, game)
    if not getattr(game, "random_setup", True):
        raise UsageError(f"{wanted.text}: belief states begin when the colours are drawn: set random_setup=true")
    file = newest(run, wanted, "evaluation", f"at iteration {config.evaluation.every}")
    nets, _ = run.load_strategy(0, file.iteration)
    last = options.get("average") == "last"
    threshold = wanted.share(options, "threshold")
    if threshold is None:
        threshold = 0.0 if last else config.average_threshold
    shapes = value_net_shapes(BeliefGeister.of(trained_on), config.network, nets)
    try:
        check_weights(
            nets, {f"{kind}.{part}": shape for kind in ("policy", "advantage") for part, shape in shapes.items()}
        )
        policy = "last" if last else "average"
        return belief_net_agent(trained_on, config.network, nets, config.search, wanted.text, threshold, policy)
    except ValueError as error:
        raise misfit(file, error) from None


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
        game: The game as it was trained on.
        network: Description of the nets.
        nets: Arrays of both nets, their names beginning with ``policy.`` or ``advantage.``.
        search: As it was trained with.
        name: Name of the agent.
        threshold: Actions below this share of the likeliest one are left out.
        policy: ``average`` or ``last``.
    """
    kinds: dict[str, Weights] = {"policy": {}, "advantage": {}}
    for key, array in nets.items():
        kind, _, part = key.partition(".")
        kinds.setdefault(kind, {})[part] = array
    weights = BeliefWeights(1, kinds["advantage"], kinds["policy"], None)
    return BeliefNetAgent(game, network, weights, search.belief, name, threshold, policy, search.doubt)
