"""Agents of DREAM runs: averages over the stored advantage nets, or the average-policy nets of Deep CFR."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any, get_args

from dancfr.errors import UsageError
from dancfr.games.registry import make_game
from dancfr.methods.agent_name import SHARE, AgentName
from dancfr.methods.dream.config import DreamConfig
from dancfr.methods.packed import Packed, PackedFile, is_packed, kept_nets, place_of, refuse_nets
from dancfr.methods.stored import check_weights, files_until, misfit, trained_game, value_net_shapes
from dancfr.runs.run import Run, StrategyFile
from envs.agent import Agent
from envs.game import Game, GameBase, numbered
from learners.deep_cfr.average_agent import AveragePolicyAgent
from learners.dream.agent import DreamAgent
from learners.dream.settings import Play
from learners.networks.settings import Weights
from learners.storage import arrays_under

NUMBERS = "numbers"
"""Key of the numbers t of the nets in the metadata of a packed file, whose arrays have names such as ``40.out.w``."""


class DreamPolicies:
    """The policies of a run during training: the average policy and, optionally, the last iterate.

    Args:
        game: The game of the training.
        config: Configuration of the run.
    """

    def __init__(self, game: Game, config: DreamConfig) -> None:
        self._game, self._config = game, config
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
        return {policy: partial(self._agent, iteration, policy, *play) for policy, play in _evaluated(self._config)}

    def _agent(self, iteration: int, policy: str, play: Play, threshold: float) -> Agent:
        config = self._config
        if play == "net":
            return AveragePolicyAgent(self._game, config.network, dict(self._averages), policy)
        own_counts = {
            player: [(config.own_count(t), net) for t, net in nets if t <= iteration]
            for player, nets in self._strategies.items()
        }
        return DreamAgent(self._game, config.network, own_counts, play, policy, config.average_power, threshold)


def _evaluated(config: DreamConfig) -> list[tuple[str, tuple[Play, float]]]:
    """The policies in the record of a run, each with its way to play and its threshold."""
    average, last = config.evaluation.average, config.evaluation.last
    plays: dict[str, Play] = {"average": average} | ({"last": "last"} if last else {})
    return [(name, (play, 0.0 if play == "last" else config.average_threshold)) for name, play in plays.items()]


def load_agent(run: Run, wanted: AgentName, game: GameBase) -> Agent:
    """Returns the agent of a run's nets up to an iteration.

    Options of its name are ``average``, the way to play the average policy, and ``threshold``.

    Raises:
        UsageError: the run belongs to another game or has no nets yet, or a net is missing or damaged.
    """
    config = run.config_as(DreamConfig)
    average, threshold = _play(run, config, wanted)
    trained_on = numbered(trained_game(wanted.shown, config, game))
    try:
        if average == "net":
            nets = {player: weights for player, (_, weights) in _average_nets(run, config, wanted, trained_on).items()}
            return AveragePolicyAgent(trained_on, config.network, nets, wanted.text)
        strategies = _advantage_nets(run, config, wanted, trained_on, average)
        numbers = {player: [t for t, _ in nets] for player, nets in strategies.items()}
        return DreamAgent(
            trained_on, config.network, strategies, average, wanted.text, config.average_power, threshold, numbers
        )
    except ValueError as error:
        raise UsageError(str(error)) from None


def pack(run: Run, wanted: AgentName, nets: int | None) -> Packed:
    """The packed agent of a name: a file for each player, with the nets that it plays by and their numbers t.

    Args:
        run: The run.
        wanted: Name of the agent, with the options of `load_agent`.
        nets: Number of nets of each player to keep, evenly spread; None: all.

    Raises:
        UsageError: see `load_agent`; or a player has fewer nets, or plays by one.
    """
    config = run.config_as(DreamConfig)
    average, threshold = _play(run, config, wanted)
    game = numbered(make_game(config.game, **config.game_options))
    changed = config.model_dump(mode="json") | {"average": average, "average_threshold": threshold}
    recorded = next((policy for policy, play in _evaluated(config) if play == (average, threshold)), None)
    if average in ("net", "last"):
        refuse_nets(wanted, nets)
    if average == "net":
        found = _average_nets(run, config, wanted, game)
        files = {place_of(file): PackedFile(net, _meta(file)) for file, net in found.values()}
        return Packed(changed, max(file.iteration for file, _ in found.values()), files, exact=True, recorded=recorded)
    strategies = _advantage_nets(run, config, wanted, game, average)
    newest = {file.player: file for file in files_until(run, wanted, "train")}
    files = {}
    for player, mixed in strategies.items():
        kept = [mixed[place] for place in kept_nets(wanted, len(mixed), nets)]
        arrays = {f"{t}.{name}": array for t, net in kept for name, array in net.items()}
        meta = _meta(newest[player]) | {NUMBERS: [t for t, _ in kept]}
        files[place_of(newest[player])] = PackedFile(arrays, meta)
    return Packed(changed, max(file.iteration for file in newest.values()), files, exact=True, recorded=recorded)


def _meta(file: StrategyFile) -> dict[str, Any]:
    """The metadata by which a run recognises a file."""
    return {"player": file.player, "iteration": file.iteration}


def _play(run: Run, config: DreamConfig, wanted: AgentName) -> tuple[Any, float]:
    """The policy that the agent of a name plays, one of `Play`, and its threshold.

    Raises:
        UsageError: the run has no such policy.
    """
    options = wanted.options({"average": get_args(Play), "threshold": SHARE})
    threshold = wanted.share(options, "threshold")
    average = options.get("average", config.average)
    if is_packed(run) and average != config.average and (average == "net" or config.average in ("net", "last")):
        have = f"{run.path} has been packed with the nets of average={config.average} alone"
        raise UsageError(f"{wanted.text}: {have}: leave out average={average}")
    if average == "net":
        if not config.policy_net:
            raise UsageError(f"{wanted.text}: average=net is available for runs with policy_net=true only")
        if threshold is not None:
            raise UsageError(f"{wanted.text}: average=net has no threshold: leave it out")
    if threshold is None:  # that of the averages, which is not meant for a single net
        single = average == "last" and not (is_packed(run) and config.average == "last")
        threshold = 0.0 if single else config.average_threshold
    return average, threshold


def _advantage_nets(
    run: Run, config: DreamConfig, wanted: AgentName, game: Game, average: str
) -> dict[int, list[tuple[int, Weights]]]:
    """The nets of each player that the agent of a name plays by, with their numbers t: 1, 2, ... in an unpacked run.

    Raises:
        UsageError: a player has none yet, or one is missing or damaged.
    """
    files = files_until(run, wanted, "train")
    if average != "last" and not is_packed(run):
        last = max((file.iteration for file in files), default=0)
        run.require_strategies({(t, p) for t in range(1, last) for p in config.updated_players(t)})
    found: dict[int, list[tuple[int, Weights]]] = {p: [] for p in range(game.spec.num_players)}
    newest = {file.player: file for file in files}
    for file in files if average != "last" else newest.values():
        nets = _checked(run, file, config, game)
        found.setdefault(file.player, []).extend(nets[-1:] if average == "last" else nets)
    if not is_packed(run):
        found = {player: list(enumerate((net for _, net in nets), 1)) for player, nets in found.items()}
    for player, nets in found.items():
        if files and not nets:
            first = next((f.iteration for f in run.list_strategies(player)), None)
            cure = f"use {wanted.shown}@{first} or later" if first else "train at least one iteration for each player"
            raise UsageError(f"{wanted.text} has no strategy of player {player} yet: {cure}")
    if not files:
        raise UsageError(f"{wanted.text} has no network of player 0 yet: train at least one iteration per player")
    return found


def _average_nets(
    run: Run, config: DreamConfig, wanted: AgentName, game: Game
) -> dict[int, tuple[StrategyFile, Weights]]:
    """The newest average-policy net of each player up to an iteration, with its file.

    Raises:
        UsageError: a player has none yet, or one is damaged.
    """
    files_until(run, wanted, "train")  # refuses iterations that the run does not have
    files = run.list_strategies(average=True)  # sorted by iteration, so the newest one of a player is kept
    newest = {file.player: file for file in files if wanted.iteration is None or file.iteration <= wanted.iteration}
    for player in range(game.spec.num_players):
        if player not in newest:
            raise UsageError(
                f"{wanted.text} has no average-policy net yet for player {player}: one is trained at each evaluation"
            )
    return {player: (file, _checked(run, file, config, game)[0][1]) for player, file in newest.items()}


def _checked(run: Run, file: StrategyFile, config: DreamConfig, game: Game) -> list[tuple[int, Weights]]:
    """Loads the net of a stored file, or all those of a packed one with their numbers t.

    Raises:
        UsageError: it does not match the configuration.
    """
    arrays, meta = run.load_strategy(file.player, file.iteration, average=file.average)
    nets = [(0, arrays)]
    try:
        if is_packed(run) and not file.average:
            nets = [(t, arrays_under(arrays, str(t))) for t in _numbers(meta)]
            if sum(len(net) for _, net in nets) != len(arrays):
                raise ValueError(f"its arrays are not those of the nets {', '.join(str(t) for t, _ in nets)}")
        for _, weights in nets:
            check_weights(weights, value_net_shapes(game, config.network))
    except ValueError as error:
        raise misfit(file, error) from None
    return nets


def _numbers(meta: Mapping[str, Any]) -> list[int]:
    """The numbers t of the nets in a packed file."""
    found = meta.get(NUMBERS)
    if (
        not isinstance(found, list)
        or not all(type(t) is int and t > 0 for t in found)
        or not found
        or any(after <= before for before, after in pairwise(found))
    ):
        raise ValueError(f"{NUMBERS} of its nets must be whole numbers that ascend")
    return found
