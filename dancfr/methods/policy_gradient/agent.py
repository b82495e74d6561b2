"""Agents of policy-gradient runs: the average of the nets, a mixture of them, or the newest ones."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from dancfr.errors import UsageError
from dancfr.evaluation.server import NewestNets
from dancfr.games.registry import make_game
from dancfr.methods.agent_name import SHARE, AgentName
from dancfr.methods.packed import Packed, kept_nets, refuse_nets
from dancfr.methods.policy_gradient.config import PolicyGradientConfig
from dancfr.methods.stored import check_weights, misfit, newest_evaluated, policy_net_shapes, trained_game
from dancfr.runs.run import Run
from envs.agent import Agent
from envs.game import Game, GameBase, numbered
from learners.networks.settings import Weights
from learners.policy_gradient.agent import PolicyAgent
from learners.policy_gradient.mixture import PolicyMixture
from learners.storage import arrays_under

Nets = tuple[Weights, ...]
"""The weights of the net of all players, or of each player's net."""

_OPTIONS = {"average": ("weights", "mixture", "last"), "threshold": SHARE}
"""Options of the agents' names."""


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
        """The constructor of the agent of each policy.

        Raises:
            ValueError: the newest nets are of another iteration.
        """
        nets, config = self.require(iteration), self._config
        plays = _evaluated(config).items()
        return {policy: partial(_agent, self._game, config, nets, play, policy) for policy, play in plays}


def _evaluated(config: PolicyGradientConfig) -> dict[str, str]:
    """The policies in the record of a run, each with the nets that it plays by, as `average` names them."""
    return {"average": config.average} | ({"last": "last"} if config.evaluation.last else {})


def load_agent(run: Run, wanted: AgentName, game: GameBase) -> Agent:
    """The agent of the nets that a run had after an iteration, or of the newest ones stored before it.

    Options of its name: ``average``, which is ``weights``, ``mixture`` or, for the newest nets alone, ``last``; and
    ``threshold``.

    Raises:
        UsageError: the run is of another game or has no nets yet, or the file is damaged.
    """
    options = wanted.options(_OPTIONS)
    config = run.config_as(PolicyGradientConfig)
    trained_on = numbered(trained_game(wanted.shown, config, game))
    average = _average(wanted, config, options)
    file = newest_evaluated(run, wanted, config.evaluation.every)
    nets, _ = run.load_strategy(0, file.iteration)
    if average == "last" and not any(name.startswith("last.") for name in nets):
        raise UsageError(f"{wanted.text}: {run.path} has been packed without the newest nets: leave out average=last")
    try:
        return _agent(trained_on, config, nets, average, wanted.text, wanted.share(options, "threshold"))
    except ValueError as error:
        raise misfit(file, error) from None


def pack(run: Run, wanted: AgentName, nets: int | None) -> Packed:
    """The packed agent of a name: its average and, if it is a mixture, the nets of that.

    The newest nets take the place of the average if the name asks for them, or if a mixture has no nets yet.

    Args:
        run: The run.
        wanted: Name of the agent, with the options of `load_agent`.
        nets: Number of nets of the mixture to keep, evenly spread over those that it has; None: all.

    Raises:
        UsageError: see `load_agent`; or the agent is not a mixture of this many nets.
    """
    options = wanted.options(_OPTIONS)
    config = run.config_as(PolicyGradientConfig)
    average = _average(wanted, config, options)
    file = newest_evaluated(run, wanted, config.evaluation.every)
    arrays, meta = run.load_strategy(0, file.iteration)
    count = 1 if config.nets == "shared" else make_game(config.game, **config.game_options).spec.num_players
    weights, last, kept = unpack_nets(arrays, count)
    threshold = wanted.share(options, "threshold")
    plays = _evaluated(config).items() if threshold is None else ()
    recorded = next((policy for policy, play in plays if play == average), None)
    if average == "last" or (average == "mixture" and not kept):
        threshold = 0.0 if average == "last" and threshold is None else threshold
        average, weights = "weights", last
    if average == "mixture":
        kept = [kept[place] for place in kept_nets(wanted, len(kept), nets)]
    else:
        refuse_nets(wanted, nets)
        kept = []
    changed = config.model_dump(mode="json") | {"average": average}
    changed |= {} if threshold is None else {"threshold": threshold}
    return Packed.of(changed, file, pack_nets(weights, (), kept), meta, recorded=recorded)


def _average(wanted: AgentName, config: PolicyGradientConfig, options: Mapping[str, str]) -> str:
    """The kind of average that the agent of a name plays.

    Raises:
        UsageError: it is a mixture, and the run has none.
    """
    average = options.get("average", config.average)
    if average == "mixture" != config.average:
        raise UsageError(f"{wanted.text}: the run has no mixture: it was trained with average={config.average}")
    return average


def pack_nets(average: Nets, last: Nets, kept: Iterable[tuple[int, Nets]] = ()) -> Weights:
    """The arrays of all nets of an evaluation in one mapping: ``average.0.out.w`` is of the average of net 0, and
    ``kept.40.0.out.w`` of that net after fit 40."""
    kinds = {"average": average, "last": last} | {f"kept.{version}": nets for version, nets in kept}
    return {
        f"{kind}.{number}.{name}": array
        for kind, nets in kinds.items()
        for number, net in enumerate(nets)
        for name, array in net.items()
    }


def unpack_nets(arrays: Mapping[str, Any], count: int) -> tuple[Nets, Nets, list[tuple[int, Nets]]]:
    """The nets that `pack_nets` has packed, with `count` nets of each kind."""

    def nets(kind: str) -> Nets:
        return tuple(arrays_under(arrays, f"{kind}.{number}") for number in range(count))

    versions = sorted({int(name.split(".")[0]) for name in arrays_under(arrays, "kept")})
    return nets("average"), nets("last"), [(version, nets(f"kept.{version}")) for version in versions]


def _agent(
    game: Game,
    config: PolicyGradientConfig,
    arrays: Mapping[str, Any],
    average: str,
    name: str,
    threshold: float | None = None,
) -> Agent:
    """The agent of stored nets; a mixture of none yet is the newest net.

    Raises:
        ValueError: they do not fit the game and the configuration.
    """
    weights, last, kept = unpack_nets(arrays, 1 if config.nets == "shared" else game.spec.num_players)
    if threshold is None:
        threshold = 0.0 if average == "last" else config.threshold
    average_agent = partial(_net_agent, game, config, weights, name, threshold)
    if average == "mixture" and kept:
        agents = [_net_agent(game, config, nets, f"{name}, fit {version}", threshold) for version, nets in kept]
        newest = max(version for version, _ in kept)
        shares = [(version / newest) ** config.average_power for version, _ in kept]  # a power alone may overflow
        return PolicyMixture(agents, shares, average_agent(), name)
    return average_agent() if average == "weights" else _net_agent(game, config, last, name, threshold)


def _net_agent(game: Game, config: PolicyGradientConfig, nets: Nets, name: str, threshold: float) -> PolicyAgent:
    for net in nets:
        check_weights(net, policy_net_shapes(game, config.network))
    return PolicyAgent(game, config.network, nets, name, threshold)
