"""Writes trained best responses to files, and reads the agents that play them."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dancfr.errors import RunError, UsageError, reason
from dancfr.games.registry import make_game, refuse_other_version, version_of
from dancfr.games.rules import check_rules
from dancfr.methods.agent_name import AgentName
from dancfr.methods.best_response.config import NETS, RESULT, BestResponseConfig
from dancfr.methods.packed import Packed, PackedFile, refuse_nets
from dancfr.methods.stored import check_weights, newest, policy_net_shapes, trained_game
from dancfr.runs.folder import write_json
from dancfr.runs.metrics import plain
from dancfr.runs.run import Run, StrategyFile
from envs.agent import Agent
from envs.game import Game, GameBase, numbered
from learners.networks.settings import NetworkSettings, Weights
from learners.policy_gradient.agent import PolicyAgent, SeatedAgents
from learners.storage import arrays_under, load_state, save_state, widened

KIND = "best response"


def store_response(
    folder: Path, result: Mapping[str, Any], seats: Sequence[tuple[NetworkSettings, Weights, float]]
) -> None:
    """Writes a result and the nets of both seats into a folder.

    Args:
        folder: Folder of the run.
        result: See `dancfr.methods.best_response.result`.
        seats: Architecture, weights and threshold of the response in each seat.

    Raises:
        RunError: they cannot be written.
    """
    arrays = {f"{seat}.{name}": array for seat, (_, net, _) in enumerate(seats) for name, array in net.items()}
    about = {
        "kind": KIND,
        "against": result["agent"],
        "value": result["value"],
        "networks": [network.model_dump(mode="json") for network, _, _ in seats],
        "thresholds": [threshold for _, _, threshold in seats],
        **{key: result[key] for key in ("game", "game_options")},
    }
    if (version := version_of(result["game"])) is not None:
        about["game_version"] = version
    try:
        write_json(folder / RESULT, plain(result))
        save_state(folder / NETS, arrays, about)
    except OSError as error:
        raise RunError(f"{folder} could not be written: {reason(error)}") from None


def load_agent(run: Run, wanted: AgentName, game: GameBase) -> Agent:
    """The response that a finished run has chosen, or the best one at a point of the curve.

    Raises:
        UsageError: the run is of another game or has no nets yet, or a file is damaged.
    """
    wanted.options({})
    if wanted.iteration is None and (run.path / NETS).is_file():
        return load_file(str(run.path / NETS), game)
    config = run.config_as(BestResponseConfig)
    trained_on = numbered(trained_game(wanted.shown, config, game))
    file, weights, meta = _best_of_newest(run, wanted)
    network = _network(meta, str(file.path))
    return PolicyAgent(trained_on, network, [_check(weights, network, trained_on, str(file.path))], wanted.text, 0.5)


def pack(run: Run, wanted: AgentName, nets: int | None) -> Packed:
    """The packed agent of a name: the nets of both seats, or the best at a point of the curve.

    Raises:
        UsageError: see `load_agent`; or a number of nets is given.
    """
    wanted.options({})
    refuse_nets(wanted, nets)
    config = run.config_as(BestResponseConfig).model_dump(mode="json")
    if wanted.iteration is None and (run.path / NETS).is_file():
        arrays, about = load_state(run.path / NETS)
        stored = run.list_strategies()
        files = {NETS: PackedFile(widened(arrays), about)}
        return Packed(config, stored[-1].iteration if stored else 0, files)
    file, arrays, meta = _best_of_newest(run, wanted)
    return Packed.of(config, file, arrays, meta)


def _best_of_newest(run: Run, wanted: AgentName) -> tuple[StrategyFile, dict[str, Any], dict[str, Any]]:
    """The file, the arrays and the metadata of the response with the greatest mean return at the newest point of the
    curve up to the iteration of a name; the last one in folders of version 0.3, which do not tell them."""
    last = newest(run, wanted, None, "at the first point of its curve")
    loaded: list[tuple[StrategyFile, dict[str, Any], dict[str, Any]]] = [
        (file, *run.load_strategy(file.player, file.iteration))
        for file in run.list_strategies()
        if file.iteration == last.iteration
    ]
    return max(loaded, key=lambda each: (float(each[2].get("value", 0.0)), each[0].player))


def load_file(path: str | os.PathLike[str], game: GameBase) -> SeatedAgents:
    """The agent of the nets in a file.

    Raises:
        UsageError: it is of another game or of other rules, or the file does not hold what it should.
    """
    stored, about = load_state(path)
    arrays = widened(stored)
    if about.get("game") != game.spec.name:
        raise UsageError(f"{path} is a best response in {about.get('game')}, not in {game.spec.name}")
    refuse_other_version(path, about)
    options = about.get("game_options", {})
    if not isinstance(options, dict):
        raise UsageError(f"{path} does not say which rules it was trained under")
    trained_on = numbered(make_game(game.spec.name, **options))
    check_rules(path, trained_on, game)
    here = game.spec
    networks, thresholds = about.get("networks"), about.get("thresholds")
    if not isinstance(networks, list) or len(networks) != here.num_players:
        raise UsageError(f"{path} does not say what its nets look like")
    if not isinstance(thresholds, list) or not _are_shares(thresholds, len(networks)):
        raise UsageError(f"{path} does not say which threshold each net has")
    agents = []
    for player, (found, threshold) in enumerate(zip(networks, thresholds, strict=True)):
        network = _network({"network": found}, str(path))
        net = _check(arrays_under(arrays, str(player)), network, trained_on, f"{path}, player {player}")
        agents.append(PolicyAgent(trained_on, network, [net], str(path), float(threshold)))
    return SeatedAgents(agents, str(path))


def _are_shares(values: list[Any], count: int) -> bool:
    """Whether a list in a file holds this many numbers from 0 to 1."""
    return len(values) == count and all(type(each) in (int, float) and 0 <= each <= 1 for each in values)


def _network(about: Mapping[str, Any], source: str) -> NetworkSettings:
    """The architecture in the metadata of a file."""
    try:
        return NetworkSettings.model_validate(about.get("network"))
    except ValidationError:
        raise UsageError(f"{source} does not say what its nets look like") from None


def _check(net: Mapping[str, Any], network: NetworkSettings, game: Game, source: str) -> Weights:
    """The arrays of a net, if they have the shapes of a fresh one.

    Raises:
        UsageError: they have not, or are not finite, or the game lacks what the network needs.
    """
    try:
        check_weights(net, policy_net_shapes(game, network))
    except ValueError as error:
        raise UsageError(f"{source}: {error}") from None
    return dict(net)
