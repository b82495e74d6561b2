"""A trained best response as files, and the agent that its nets are."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from dancfr.errors import RunError, UsageError, reason
from dancfr.games.registry import make_game
from dancfr.methods.agent_name import AgentName
from dancfr.methods.best_response.config import BestResponseConfig
from dancfr.methods.stored import check_weights, newest, trained_game
from dancfr.runs.metrics import plain
from dancfr.runs.run import Run
from envs.agent import Agent
from envs.game import Game
from learners.best_response.agent import ResponseAgent
from learners.networks.modules import ValueNet
from learners.networks.settings import NetworkSettings, Weights
from learners.storage import load_state, save_state

KIND = "best response"
NETS, RESULT = "best-response.safetensors", "exploit.json"

Nets = Sequence[Weights]
"""The weights of each player's net."""


def store_response(folder: Path, result: Mapping[str, Any], network: NetworkSettings, nets: Nets) -> None:
    """Writes a result and its nets into a folder.

    Raises:
        RunError: they cannot be written.
    """
    arrays = {f"{player}.{name}": array for player, net in enumerate(nets) for name, array in net.items()}
    about = {
        "kind": KIND,
        "against": result["agent"],
        "value": result["value"],
        "network": network.model_dump(mode="json"),
        **{key: result[key] for key in ("game", "game_options")},
    }
    try:
        (folder / RESULT).write_text(json.dumps(plain(result), allow_nan=False, indent=1) + "\n")
        save_state(folder / NETS, arrays, about)
    except OSError as error:
        raise RunError(f"{folder} could not be written: {reason(error)}") from None


def load_agent(run: Run, wanted: AgentName, game: Any) -> Agent:
    """The response that a finished run has chosen, or its nets after an iteration of the curve.

    Raises:
        UsageError: the run is of another game or has no nets yet, or a file is damaged.
    """
    wanted.options({})
    if wanted.iteration is None and (run.path / NETS).is_file():
        return load_file(str(run.path / NETS), game)
    config = run.config_as(BestResponseConfig)
    trained_on = trained_game(wanted.base, config, game)
    file = newest(run, wanted, None, "at the first point of its curve")
    nets = [run.load_strategy(player, file.iteration)[0] for player in range(2)]
    for net in nets:
        _check(net, config.network, trained_on, str(file.path))
    return ResponseAgent(trained_on, config.network, nets, wanted.text)


def load_file(path: str | os.PathLike[str], game: Game) -> ResponseAgent:
    """The agent of the nets in a file.

    Raises:
        UsageError: it is of another game or of other rules, or the file does not hold what it should.
    """
    arrays, about = load_state(path)
    if about.get("game") != game.spec.name:
        raise UsageError(f"{path} is a best response in {about.get('game')}, not in {game.spec.name}")
    trained_on: Game = make_game(game.spec.name, **about.get("game_options", {}))
    there, here = trained_on.spec, game.spec
    if (there.num_actions, there.packed_size, there.shapes) != (here.num_actions, here.packed_size, here.shapes):
        raise UsageError(f"{path} was trained under other rules of {here.name}")
    try:
        network = NetworkSettings.model_validate(about.get("network"))
        network.check(trained_on.spec)
    except ValidationError:
        raise UsageError(f"{path} does not say what its nets look like") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    nets = []
    for player in range(here.num_players):
        prefix = f"{player}."
        net = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        nets.append(_check(net, network, trained_on, f"{path}, player {player}"))
    return ResponseAgent(trained_on, network, nets, str(path))


def _check(net: Mapping[str, Any], network: NetworkSettings, game: Game, source: str) -> Weights:
    """The arrays of a net, if they have the shapes of a fresh one.

    Raises:
        UsageError: they have not, or hold what is no number.
    """
    fresh = ValueNet(network, game.spec).inference_weights()
    try:
        check_weights(net, {name: np.shape(array) for name, array in fresh.items()})
    except ValueError as error:
        raise UsageError(f"{source}: {error}") from None
    return dict(net)
