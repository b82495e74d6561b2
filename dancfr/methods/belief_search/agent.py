"""Agents of runs of depth-limited external sampling with nets."""

from collections.abc import Callable
from functools import partial

from dancfr.errors import UsageError
from dancfr.evaluation.server import NewestNets
from dancfr.methods.agent_name import SHARE, AgentName
from dancfr.methods.belief_search.config import BeliefSearchConfig
from dancfr.methods.packed import Packed, refuse_last, refuse_nets
from dancfr.methods.stored import check_weights, misfit, newest_evaluated, trained_game, value_net_shapes
from dancfr.runs.run import Run
from envs.agent import Agent
from envs.game import GameBase
from envs.geister import Geister
from learners.belief_search.agent import BeliefNetAgent
from learners.belief_search.policies import BeliefWeights
from learners.belief_search.settings import SearchSettings
from learners.belief_search.view import BeliefGeister
from learners.networks.settings import NetworkSettings, Weights

_OPTIONS = {"average": ("net", "last"), "threshold": SHARE}
"""Options of the agents' names."""


class BeliefSearchPolicies(NewestNets):
    """The newest nets of a run during training: the average policy and, optionally, that of the advantage net.

    Args:
        game: The game of the training.
        config: Configuration of the run.
    """

    def __init__(self, game: Geister, config: BeliefSearchConfig) -> None:
        super().__init__()
        self._game, self._config = game, config

    def agents(self, iteration: int) -> dict[str, Callable[[], Agent]]:
        """Returns a factory for the agent of each policy, by the policy's name.

        Raises:
            ValueError: the newest nets belong to another iteration.
        """
        self.require(iteration)
        policies = ("average", "last") if self._config.evaluation.last else ("average",)
        return {policy: partial(self._agent, policy) for policy in policies}

    def _agent(self, policy: str) -> BeliefNetAgent:
        config = self._config
        threshold = config.average_threshold if policy == "average" else 0.0
        return belief_net_agent(self._game, config.network, self.nets, config.search, policy, threshold, policy)


def load_agent(run: Run, wanted: AgentName, game: GameBase) -> Agent:
    """Returns the agent of the newest nets of a run, or of the newest ones up to an iteration.

    Options of its name are ``average=net`` (the policy net) or ``average=last`` (the advantage net), and ``threshold``.

    Raises:
        UsageError: the run belongs to another game or has no nets yet, or the file is damaged.
    """
    options = wanted.options(_OPTIONS)
    config = run.config_as(BeliefSearchConfig)
    trained_on = trained_game(wanted.shown, config, game)
    assert isinstance(trained_on, Geister)
    if not getattr(game, "random_setup", True):
        raise UsageError(f"{wanted.text}: belief states require colours drawn at random: set random_setup=true")
    file = newest_evaluated(run, wanted, config.evaluation.every)
    nets, _ = run.load_strategy(0, file.iteration)
    last = options.get("average") == "last"
    threshold = wanted.share(options, "threshold")
    if threshold is None:
        threshold = 0.0 if last else config.average_threshold
    try:
        shapes = value_net_shapes(BeliefGeister.of(trained_on), config.network)
        check_weights(
            nets, {f"{kind}.{part}": shape for kind in ("policy", "advantage") for part, shape in shapes.items()}
        )
        policy = "last" if last else "average"
        return belief_net_agent(trained_on, config.network, nets, config.search, wanted.text, threshold, policy)
    except ValueError as error:
        raise misfit(file, error) from None


def pack(run: Run, wanted: AgentName, nets: int | None) -> Packed:
    """The packed agent of a name: its policy net and its advantage net.

    Raises:
        UsageError: the run has no nets yet, or the name asks for the advantage net alone; or a number of nets is given.
    """
    options = wanted.options(_OPTIONS)
    refuse_nets(wanted, nets)
    refuse_last(wanted, options.get("average"))
    config = run.config_as(BeliefSearchConfig)
    threshold = wanted.share(options, "threshold")
    changed = config.model_dump(mode="json") | ({} if threshold is None else {"average_threshold": threshold})
    file = newest_evaluated(run, wanted, config.evaluation.every)
    return Packed.of(changed, file, *run.load_strategy(0, file.iteration), exact=True)


def belief_net_agent(
    game: Geister,
    network: NetworkSettings,
    nets: Weights,
    search: SearchSettings,
    name: str,
    threshold: float,
    policy: str = "average",
) -> BeliefNetAgent:
    """Returns the agent of stored nets.

    Args:
        game: The game that the nets were trained on.
        network: Architecture of the nets.
        nets: Arrays of both nets, whose names begin with ``policy.`` or ``advantage.``.
        search: Settings of the search that the nets were trained with.
        name: Name of the agent.
        threshold: Actions below this fraction of the largest probability are not played.
        policy: ``average`` or ``last``.
    """
    kinds: dict[str, Weights] = {"policy": {}, "advantage": {}}
    for key, array in nets.items():
        kind, _, part = key.partition(".")
        kinds.setdefault(kind, {})[part] = array
    weights = BeliefWeights(1, kinds["advantage"], kinds["policy"], None)
    return BeliefNetAgent(game, network, weights, search.belief, name, threshold, policy, search.doubt)
