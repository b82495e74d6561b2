"""Agents of trained runs: what a run has stored up to an iteration, checked against its configuration."""

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from dancfr.errors import UsageError
from dancfr.methods.agent_names import AgentName
from dancfr.methods.settings import RunConfig
from dancfr.runs.run import Run, StrategyFile
from dancfr.values import show
from envs.agent import Agent
from envs.extensive import FactoredGame
from envs.game import Game, RaggedGame


def load_run(wanted: AgentName, game: Game | RaggedGame, name: str) -> Agent:
    """The agent of a run's strategies up to an iteration.

    Raises:
        UsageError: see `make_agent`.
    """
    run = Run.open(wanted.base)
    if run.method not in _LOADERS:
        raise UsageError(f"{wanted.base} is a run of {run.method}: only runs of {' and '.join(_LOADERS)} can play")
    return _LOADERS[run.method](run, wanted, game, name)


def _load_dmc(run: Run, wanted: AgentName, game: Any, name: str) -> Agent:
    """The Q-net that the run had after an iteration, or the newest one stored before it."""
    from dancfr.methods.dmc.config import DmcConfig

    for query, value in (("average", wanted.average), ("threshold", wanted.threshold)):
        if value is not None:
            raise UsageError(f"{name}: a run of dmc plays by one net, without {query}: leave it out")
    config = run.config_as(DmcConfig)
    trained_on: Any = _trained_on(wanted.base, config, game)
    file = _newest(run, wanted, name, f"at iteration {config.evaluation.every}")
    weights, _ = run.load_strategy(0, file.iteration)
    try:
        return q_agent(trained_on, config.network, weights, config.tribute == "learnt", name)
    except ValueError as error:
        raise UsageError(f"{file.path} does not fit the run's configuration: {error}") from None


def q_agent(game: RaggedGame, network: Any, weights: Mapping[str, Any], learn_scripted: bool, name: str) -> Agent:
    """The agent of a Q-net.

    Args:
        game: The game as it was trained on.
        network: Its `QNetworkSettings`.
        weights: From `QNet.inference_weights`.
        learn_scripted: Whether it was trained on the decisions that the game would leave to its heuristic.
        name: For messages.

    Raises:
        ValueError: game, network and weights do not fit together.
    """
    from learners.dmc.agent import QAgent

    network.check(game.spec)
    _check_weights(weights, _q_shapes(game, network))
    agent: Any = QAgent(game, network, dict(weights), name, learn_scripted=learn_scripted)
    return agent


def _check_weights(weights: Mapping[str, Any], wanted: Mapping[str, tuple[int, ...]]) -> None:
    """Raises a ValueError for the first array that is not the one wanted, or that is no array of numbers."""
    for part in sorted(wanted.keys() | weights.keys()):
        found = weights.get(part)
        if part not in wanted:
            raise ValueError(f"{part} is one array too many")
        if found is None or found.shape != wanted[part] or found.dtype != np.float32:
            told = "missing" if found is None else f"{found.dtype}{list(found.shape)}"
            raise ValueError(f"{part} is {told} where float32{list(wanted[part])} is needed")
        if not np.isfinite(found).all():
            raise ValueError(f"{part} holds numbers that are not finite")


def _advantage_shapes(game: Game, network: Any, weights: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The arrays of an advantage net, see `ValueNet.inference_weights`. What a convolution hands on depends on the
    board, so those of that trunk, and the inputs of the first layer after it, are as they are."""
    width, outputs = network.width, game.spec.slots[network.outputs]
    shapes: dict[str, tuple[int, ...]] = {f"hidden{i}.w": (width, width) for i in range(network.depth)}
    shapes |= {f"hidden{i}.b": (width,) for i in range(network.depth)}
    if network.trunk == "flat":
        inputs = math.prod(game.spec.shapes["flat"])
    else:
        shapes |= {name: array.shape for name, array in weights.items() if name.startswith("conv")}
        shapes.setdefault("conv1.w", ())
        inputs = weights["hidden0.w"].shape[0] if "hidden0.w" in weights else 0
    return shapes | {"hidden0.w": (inputs, width), "out.w": (width, outputs), "out.b": (outputs,)}


def _q_shapes(game: RaggedGame, network: Any) -> dict[str, tuple[int, ...]]:
    """The arrays of a Q-net, see `QNet.inference_weights`."""
    states, actions = network.inputs(game.spec)
    width = network.width
    shapes: dict[str, tuple[int, ...]] = {"state.w": (states, width), "action.w": (actions, width)}
    shapes |= {f"hidden{i}.w": (width, width) for i in range(1, network.depth)}
    shapes |= {f"hidden{i}.b": (width,) for i in range(network.depth)}
    return shapes | {"out.w": (width, 1), "out.b": (1,)}


def _load_dream(run: Run, wanted: AgentName, game: Any, name: str) -> Agent:
    """The agent of a run's advantage nets up to an iteration."""
    from dancfr.methods.dream.config import DreamConfig
    from learners.dream.agent import DreamAgent

    config = run.config_as(DreamConfig)
    trained_on = _trained_on(wanted.base, config, game)
    files = _files_until(run, wanted)
    average: Any = wanted.average or config.average
    if average == "net":
        return _load_average_net(run, config, wanted, trained_on, name)
    if average != "last":
        last = max((file.iteration for file in files), default=0)
        run.require_strategies({(t, p) for t in range(1, last) for p in config.updated_players(t)})
    threshold = wanted.threshold
    if threshold is None:
        threshold = 0.0 if average == "last" else config.average_threshold
    strategies: dict[int, list[tuple[int, Any]]] = {p: [] for p in range(game.spec.num_players)}
    newest = {player: [f for f in files if f.player == player][-1:] for player in strategies}
    for file in files if average != "last" else [f for found in newest.values() for f in found]:
        weights, meta = run.load_strategy(file.player, file.iteration)
        try:
            _check_weights(weights, _advantage_shapes(trained_on, config.network, weights))
        except ValueError as error:
            raise UsageError(f"{file.path} does not fit the run's configuration: {error}") from None
        strategies[file.player].append((int(meta.get("count", file.iteration)), weights))
    for player, found in strategies.items():
        if files and not found:
            first = next((f.iteration for f in run.list_strategies(player)), None)
            cure = f"say {wanted.base}@{first} or later" if first else "train at least one iteration for each"
            raise UsageError(f"{name} has no strategy of player {player} yet: {cure}")
    try:
        return DreamAgent(trained_on, config.network, strategies, average, name, config.average_power, threshold)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _load_average_net(run: Run, config: Any, wanted: AgentName, trained_on: Game, name: str) -> Agent:
    """The agent of the nets that play the average, the newest ones up to an iteration."""
    from learners.dream.average_policy import AveragePolicyAgent

    if not config.policy_net:
        raise UsageError(f"{name}: average=net is there for runs with policy_net=true only")
    if wanted.threshold is not None:
        raise UsageError(f"{name}: average=net is played as it is, without threshold: leave it out")
    last = wanted.iteration
    nets: dict[int, Any] = {}
    for file in run.list_strategies(average=True):  # in their order: the newest one stays
        if last is None or file.iteration <= last:
            weights, _ = run.load_strategy(file.player, file.iteration, average=True)
            try:
                _check_weights(weights, _advantage_shapes(trained_on, config.network, weights))
            except ValueError as error:
                raise UsageError(f"{file.path} does not fit the run's configuration: {error}") from None
            nets[file.player] = weights
    try:
        return AveragePolicyAgent(trained_on, config.network, nets, name)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _load_cheat(run: Run, wanted: AgentName, game: Any, name: str) -> Agent:
    """The agent of the strategy that the run had after an iteration, or the newest one stored before it."""
    from dancfr.methods.cheat_cfr.agent import cheat_agent
    from dancfr.methods.cheat_cfr.config import CheatCfrConfig

    if wanted.threshold is not None:
        raise UsageError(f"{name}: tables are played as they are, without threshold: leave it out")
    if wanted.average not in (None, "exact", "last"):
        raise UsageError(
            f"{name}: a run of cheat-cfr plays average=exact or average=last, not average={wanted.average}"
        )
    config = run.config_as(CheatCfrConfig)
    trained_on: Any = _trained_on(wanted.base, config, game)
    file = _newest(run, wanted, name, "with its first checkpoint")
    arrays, about = run.load_strategy(0, file.iteration)
    policy = "last" if wanted.average == "last" else "average"
    try:
        agent: Any = cheat_agent(trained_on, config.keys, about, arrays, policy, name)
    except ValueError as error:
        raise UsageError(f"{file.path} does not fit the run's configuration: {error}") from None
    return agent


def _load_beliefs(run: Run, wanted: AgentName, game: Any, name: str) -> Agent:
    """The agent of the strategy that the run had after an iteration, or the newest one stored before it."""
    from dancfr.methods.belief_tables.config import BeliefTablesConfig
    from learners.geister_beliefs.agent import BeliefAgent
    from learners.geister_beliefs.solver import check_game
    from learners.geister_beliefs.strategy import BeliefStrategy

    if wanted.threshold is not None:
        raise UsageError(f"{name}: tables are played as they are, without threshold: leave it out")
    if wanted.average not in (None, "exact"):
        raise UsageError(f"{name}: a run of belief-tables plays average=exact, not average={wanted.average}")
    config = run.config_as(BeliefTablesConfig)
    _trained_on(wanted.base, config, game)
    try:
        check_game(game)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None
    file = _newest(run, wanted, name, "with its first checkpoint")
    arrays, _ = run.load_strategy(0, file.iteration)
    try:
        return BeliefAgent(BeliefStrategy.from_arrays(arrays), config.tables.belief, name)
    except ValueError as error:
        raise UsageError(f"{file.path} does not fit the run's configuration: {error}") from None


def _load_depth_limited(run: Run, wanted: AgentName, game: Any, name: str) -> Agent:
    """The agent of the nets that the run had after an iteration, or the newest ones stored before it."""
    from dancfr.methods.depth_limited.agent import belief_net_agent
    from dancfr.methods.depth_limited.config import DepthLimitedConfig
    from learners.geister_beliefs.view import BeliefGeister

    if wanted.average not in (None, "net", "last"):
        raise UsageError(f"{name}: a run of depth-limited plays average=net or average=last, not {wanted.average}")
    config = run.config_as(DepthLimitedConfig)
    trained_on: Any = _trained_on(wanted.base, config, game)
    if not getattr(game, "random_setup", True):
        raise UsageError(f"{name}: belief states begin when the colours are drawn: they need random_setup=true")
    file = _newest(run, wanted, name, f"at iteration {config.evaluation.every}")
    nets, _ = run.load_strategy(0, file.iteration)
    last = wanted.average == "last"
    threshold = wanted.threshold
    if threshold is None:
        threshold = 0.0 if last else config.average_threshold
    view = BeliefGeister.of(trained_on)
    shapes = _advantage_shapes(view, config.network, nets)
    try:
        _check_weights(
            nets, {f"{kind}.{part}": shape for kind in ("policy", "advantage") for part, shape in shapes.items()}
        )
        policy = "last" if last else "average"
        return belief_net_agent(trained_on, config.network, nets, config.search, name, threshold, policy)
    except ValueError as error:
        raise UsageError(f"{file.path} does not fit the run's configuration: {error}") from None


def _load_values(run: Run, wanted: AgentName, game: Any, name: str) -> Agent:
    """What DL-CFR+ finds with the net that the run had after an iteration, and below the limit the bottom solved for
    the ranges of that."""
    from dancfr.methods.value_net.config import ValueNetConfig
    from dancfr.methods.value_net.solving import cut_game, load_net, trunk_of
    from learners.cfr.agent import TabularAgent
    from learners.value_function.completion import complete

    for query, value in (("average", wanted.average), ("threshold", wanted.threshold)):
        if value is not None:
            raise UsageError(f"{name}: a run of value-net plays what DL-CFR+ finds, without {query}: leave it out")
    config = run.config_as(ValueNetConfig)
    _trained_on(wanted.base, config, game)
    file = _newest(run, wanted, name, f"at iteration {config.evaluation.every}")
    split = cut_game(config.game, config.game_options, str(config.cut))
    function = load_net(run, config, split, file.iteration)
    policy = complete(split, trunk_of(split, function, config.evaluation.iterations))
    return TabularAgent(split.tree.observed, split.tree.to_table(policy), name)


_LOADERS: dict[str, Callable[[Run, AgentName, Any, str], Agent]] = {
    "dream": _load_dream,
    "dmc": _load_dmc,
    "cheat-cfr": _load_cheat,
    "belief-tables": _load_beliefs,
    "depth-limited": _load_depth_limited,
    "value-net": _load_values,
}
"""What makes the agent of a run, by method."""

_STORED_WITH = {"dream": "train", "dmc": "evaluation", "depth-limited": "evaluation", "value-net": "exploitability"}
"""The rows of a record beside which strategies are stored, by method; others store them with checkpoints."""


def _newest(run: Run, wanted: AgentName, name: str, first: str) -> StrategyFile:
    """The newest strategy of a run up to the iteration that was asked for; `first` says when it gets its first one.

    Raises:
        UsageError: it has none yet, or see `_files_until`.
    """
    files = _files_until(run, wanted)
    if not files:
        raise UsageError(f"{name} has no strategy yet: it gets its first one {first}")
    return files[-1]


def _files_until(run: Run, wanted: AgentName) -> list[StrategyFile]:
    """The strategies of a run up to the iteration that was asked for; none if it has not stored one yet.

    Raises:
        UsageError: those it had are gone, or it does not have that iteration.
    """
    files = run.list_strategies()
    if not files and run.method in _STORED_WITH and run.read_metrics(_STORED_WITH[run.method]):
        raise UsageError(
            f"{wanted.base} has been trained, but its strategies are gone: restore {run.path / 'strategies'} from a "
            "copy, or train anew"
        )
    if wanted.iteration is None:
        return files
    if files and not files[0].iteration <= wanted.iteration <= files[-1].iteration:
        have = f"{files[0].iteration} to {files[-1].iteration}"
        raise UsageError(f"{wanted.base} has iterations {have}, not {wanted.iteration}")
    return [file for file in files if file.iteration <= wanted.iteration]


def _trained_on(base: str, config: RunConfig, game: Game) -> Game:
    """The game of a run, unless that, or its actions and infostates, are other than those of `game`."""
    from dancfr.games.registry import make_game

    trained_on = make_game(config.game, **config.game_options)
    here, there = game.spec, trained_on.spec
    if there.name != here.name:
        raise UsageError(f"{base} was trained on {there.name}, not on {here.name}: use --game {there.name}")
    if isinstance(game, FactoredGame) and is_dataclass(game):
        for key in (each.name for each in fields(game) if each.init and each.name not in game.may_differ):
            own, other = getattr(trained_on, key), getattr(game, key)
            if own != other:
                told = f"{key}={show(own)}, where the game at hand has {key}={show(other)}"
                raise UsageError(f"{base} was trained under other rules of {there.name}: {told}")
    if (there.num_actions, there.packed_size, there.shapes) != (here.num_actions, here.packed_size, here.shapes):
        raise UsageError(
            f"{base} was trained under other rules of {there.name}: it knows {there.num_actions} actions, "
            f"the game at hand has {here.num_actions}"
        )
    return trained_on
