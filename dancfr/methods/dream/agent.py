"""Agents of DREAM runs: averages over the stored advantage nets, or the average-policy nets of Deep CFR."""

from collections.abc import Callable
from functools import partial
from typing import Any, get_args

from dancfr.errors import UsageError
from dancfr.methods.agent_name import SHARE, AgentName
from dancfr.methods.dream.config import DreamConfig
from dancfr.methods.stored import check_weights, files_until, misfit, trained_game, value_net_shapes
from dancfr.runs.run import Run, StrategyFile
from envs.agent import Agent
from envs.game import Game, GameBase, numbered
from learners.deep_cfr.average_policy import AveragePolicyAgent
from learners.dream.agent import DreamAgent
from learners.dream.settings import Play
from learners.networks.settings import Weights


class DreamPolicies:
    """The policies of a run during training: the average policy and, optionally, the last iterate.

    Args:
        game: The game of the training.
        config: Configuration of the run.
    """

    def __init__(self, game: Game, config: DreamConfig) -> None:
        self._game, self._config = game, config
        evaluation = config.evaluation
        self._plays: dict[str, Play] = {"average": evaluation.average} | ({"last": "last"} if evaluation.last else {})
        self._strategies: dict[int, list[tuple[int, Weights]]] = {p: [] for p in range(game.spec.num_players)}
        self._averages: dict[int, Weights] = {}

    def add(self, iteration: int, player: int, weights: Weights, average: bool = False) -> None:
        """Adds an advantage net of a player, or replaces the player's average-policy net."""
        if average:
            self._averages[player] = weights
        else:
            self._strategies[player].append((iteration, weights))

    def agents(self, iteration: int) -> dict[str, Callable[[], Agent]]:
        """Returns a factory for the agent of each policy after an iteration, by the policy's name."""
        return {policy: partial(self._agent, iteration, policy, play) for policy, play in self._plays.items()}

    def _agent(self, iteration: int, policy: str, play: Play) -> Agent:
        config = self._config
        if play == "net":
            return AveragePolicyAgent(self._game, config.network, dict(self._averages), policy)
        own_counts = {
            player: [(config.own_count(t), net) for t, net in nets if t <= iteration]
            for player, nets in self._strategies.items()
        }
        threshold = 0.0 if play == "last" else config.average_threshold
        return DreamAgent(self._game, config.network, own_counts, play, policy, config.average_power, threshold)


def load_agent(run: Run, wanted: AgentName, game: GameBase) -> Agent:
    """Returns the agent of a run's nets up to an iteration.

    Options of its name are ``average``, the way to play the average policy, and ``threshold``.

    Raises:
        UsageError: the run belongs to another game or has no nets yet, or a net is missing or damaged.
    """
    options = wanted.options({"average": get_args(Play), "threshold": SHARE})
    threshold = wanted.share(options, "threshold")
    config = run.config_as(DreamConfig)
    trained_on = numbered(trained_game(wanted.base, config, game))
    files = files_until(run, wanted, "train")
    average: Any = options.get("average", config.average)
    if average == "net":
        return _load_average_net(run, config, wanted, trained_on, threshold)
    if average != "last":
        last = max((file.iteration for file in files), default=0)
        run.require_strategies({(t, p) for t in range(1, last) for p in config.updated_players(t)})
    if threshold is None:
        threshold = 0.0 if average == "last" else config.average_threshold
    strategies: dict[int, list[tuple[int, Any]]] = {p: [] for p in range(game.spec.num_players)}
    newest = {player: [f for f in files if f.player == player][-1:] for player in strategies}
    for file in files if average != "last" else [f for found in newest.values() for f in found]:
        weights, meta = _checked(run, file, config, trained_on)
        strategies[file.player].append((int(meta.get("count", file.iteration)), weights))
    for player, found in strategies.items():
        if files and not found:
            first = next((f.iteration for f in run.list_strategies(player)), None)
            cure = f"use {wanted.base}@{first} or later" if first else "train at least one iteration for each player"
            raise UsageError(f"{wanted.text} has no strategy of player {player} yet: {cure}")
    try:
        return DreamAgent(trained_on, config.network, strategies, average, wanted.text, config.average_power, threshold)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _load_average_net(
    run: Run, config: DreamConfig, wanted: AgentName, trained_on: Game, threshold: float | None
) -> Agent:
    """Returns the agent of the newest average-policy nets up to an iteration."""
    if not config.policy_net:
        raise UsageError(f"{wanted.text}: average=net is available for runs with policy_net=true only")
    if threshold is not None:
        raise UsageError(f"{wanted.text}: average=net has no threshold: leave it out")
    nets: dict[int, Any] = {}
    for file in run.list_strategies(average=True):  # sorted by iteration, so the newest net is kept
        if wanted.iteration is None or file.iteration <= wanted.iteration:
            nets[file.player], _ = _checked(run, file, config, trained_on)
    try:
        return AveragePolicyAgent(trained_on, config.network, nets, wanted.text)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _checked(run: Run, file: StrategyFile, config: DreamConfig, game: Game) -> tuple[Weights, dict[str, Any]]:
    """Loads weights and metadata of a stored net; raises UsageError if it does not match the configuration."""
    weights, meta = run.load_strategy(file.player, file.iteration, average=file.average)
    try:
        check_weights(weights, value_net_shapes(game, config.network, weights))
    except ValueError as error:
        raise misfit(file, error) from None
    return weights, meta
