"""Agents of policy-gradient runs: the average of the nets, or the newest ones."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from dancfr.evaluation.server import NewestNets
from dancfr.methods.agent_name import SHARE, AgentName
from dancfr.methods.policy_gradient.config import PolicyGradientConfig
from dancfr.methods.stored import check_weights, misfit, newest_evaluated, trained_game, value_net_shapes
from dancfr.runs.run import Run
from envs.agent import Agent
from envs.game import Game
from learners.networks.settings import Weights
from learners.policy_gradient.agent import PolicyAgent
from learners.storage import arrays_under


class GradientPolicies(NewestNets):
    """The newest nets of a growing run: policy ``average`` and, where it is wanted, ``last``.

    Args:
        game: The game as it is trained on.
        config: The run's configuration.
    """

    def __init__(self, game: Game, config: PolicyGradientConfig) -> None:
        super().__init__()
        self._game, self._config = game, config

    def agents(self, iteration: int) -> dict[str, Callable[[], Agent]]:
        """What makes the agent of each policy.

        Raises:
            ValueError: the newest nets are of another iteration.
        """
        nets, config = self.require(iteration), self._config
        policies = ("average", "last") if config.evaluation.last else ("average",)
        return {policy: partial(_agent, self._game, config, nets, policy, policy) for policy in policies}


def load_agent(run: Run, wanted: AgentName, game: Any) -> Agent:
    """The agent of the nets that a run had after an iteration, or of the newest ones stored before it.

    Options of its name: ``average=last`` for the newest nets without averaging, ``threshold``.

    Raises:
        UsageError: the run is of another game or has no nets yet, or the file is damaged.
    """
    options = wanted.options({"average": ("weights", "last"), "threshold": SHARE})
    config = run.config_as(PolicyGradientConfig)
    trained_on = trained_game(wanted.base, config, game)
    file = newest_evaluated(run, wanted, config.evaluation.every)
    nets, _ = run.load_strategy(0, file.iteration)
    policy = "last" if options.get("average") == "last" else "average"
    try:
        return _agent(trained_on, config, nets, policy, wanted.text, wanted.share(options, "threshold"))
    except ValueError as error:
        raise misfit(file, error) from None


def pack_nets(average: tuple[Weights, ...], last: tuple[Weights, ...]) -> Weights:
    """The arrays of all nets of an evaluation in one mapping: ``average.0.out.w`` is of the average of net 0."""
    kinds = {"average": average, "last": last}
    return {
        f"{kind}.{number}.{name}": array
        for kind, nets in kinds.items()
        for number, net in enumerate(nets)
        for name, array in net.items()
    }


def unpack_nets(arrays: Mapping[str, Any], kind: str, count: int) -> tuple[Weights, ...]:
    """The nets of one kind, see `pack_nets`."""
    return tuple(arrays_under(arrays, f"{kind}.{number}") for number in range(count))


def _agent(
    game: Game,
    config: PolicyGradientConfig,
    arrays: Mapping[str, Any],
    policy: str,
    name: str,
    threshold: float | None = None,
) -> PolicyAgent:
    """The agent of stored nets.

    Raises:
        ValueError: they do not fit the game and the configuration.
    """
    nets = unpack_nets(arrays, policy, 1 if config.nets == "shared" else game.spec.num_players)
    for net in nets:
        shapes = value_net_shapes(game, config.network, net)
        outputs = game.spec.slots[config.network.outputs] + 1
        check_weights(net, shapes | {"out.w": (config.network.width, outputs), "out.b": (outputs,)})
    if threshold is None:
        threshold = 0.0 if policy == "last" else config.threshold
    return PolicyAgent(game, config.network, nets, name, threshold)
