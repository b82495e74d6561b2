"""A trained best response in a folder: result, figure, and the nets, which play as an agent."""

import json
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from dancfr.errors import RunError, UsageError, reason
from dancfr.evaluation.statistics import Band
from dancfr.games.registry import make_game
from dancfr.report.plots import Line, Panel, Plot, draw_lines
from dancfr.runs.metrics import plain
from envs.game import Game
from learners.best_response.agent import ResponseAgent
from learners.networks.settings import NetworkSettings, Weights
from learners.storage import DamagedFile, load_state, save_state

KIND = "best response"
NETS, RESULT, FIGURE = "best-response.safetensors", "exploit.json", "exploit.png"


def check_folder(path: Path | None) -> None:
    """Raises UsageError unless results can be written there: a new folder, or one with nothing in it."""
    if path is None:
        return
    try:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise UsageError(f"--out {path} is there already, and not empty: name a new folder")
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {path} cannot be made: {reason(error)}") from None
    if not os.access(path, os.W_OK):
        raise UsageError(f"--out {path} may not be written to")


def store_response(
    folder: Path | None, result: Mapping[str, Any], network: NetworkSettings, nets: Sequence[Weights]
) -> dict[str, Any]:
    """Writes a result with its figure and nets; nothing without a folder.

    Returns:
        The files, as a key of the result.

    Raises:
        RunError: they cannot be written.
    """
    if folder is None:
        return {}
    arrays = {f"{player}.{name}": array for player, net in enumerate(nets) for name, array in net.items()}
    about = {
        "kind": KIND,
        "against": result["agent"],
        "value": result["value"],
        "network": network.model_dump(mode="json"),
        **{key: result[key] for key in ("game", "game_options")},
    }
    files = [folder / name for name in (RESULT, FIGURE, NETS)]
    told = {**result, "files": [str(file) for file in files]}
    try:
        files[0].write_text(json.dumps(plain(told), allow_nan=False, indent=1) + "\n")
        files[1].write_bytes(draw(result).png)
        save_state(files[2], arrays, about)
    except OSError as error:
        raise RunError(f"{folder} could not be written: {reason(error)}") from None
    return {"files": told["files"]}


def draw(result: Mapping[str, Any]) -> Plot:
    """The curve: mean return of the response by training games, in each seat."""
    lines = []
    for number, (seat, points) in enumerate(result["seat_curves"].items()):
        x, y = np.array(points, np.float64).T
        lines.append(Line(f"moving {seat}", Band(x, y, np.zeros_like(y), y, y, 1, known=False), number, number))
    title = f"A best response to {result['agent']} in {result['game']}"
    low, high = result["value_ci95"]
    note = (
        f"In {result['eval_games']:,} fresh games the chosen nets win {result['value']:+.3f} a game "
        f"(95 % interval {low:+.3f} to {high:+.3f})."
    )
    panel = Panel(title, "training games", "mean return", lines, reference=(result["value"], "the result"))
    return draw_lines("exploit", title, note, [panel], "return", note)


def is_response(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds the nets of a best response; what cannot be read holds none."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for
            return False
        _, about = load_state(path)
    except (OSError, DamagedFile):
        return False
    return isinstance(about, dict) and about.get("kind") == KIND


def response_options(path: str | os.PathLike[str], game: str) -> dict[str, Any]:
    """Options of the game that a best response was trained under; none if that was another game."""
    _, about = load_state(path)
    options = about.get("game_options")
    return dict(options) if about.get("game") == game and isinstance(options, dict) else {}


def load_response(path: str, game: Game) -> ResponseAgent:
    """The agent of a best response.

    Raises:
        UsageError: it is of another game or of other rules, or the file does not hold what it should.
    """
    arrays, about = load_state(path)
    if about.get("game") != game.spec.name:
        raise UsageError(f"{path} is a best response in {about.get('game')}, not in {game.spec.name}")
    trained_on: Game = make_game(game.spec.name, **response_options(path, game.spec.name))
    there, here = trained_on.spec, game.spec
    if (there.num_actions, there.packed_size, there.shapes) != (here.num_actions, here.packed_size, here.shapes):
        raise UsageError(f"{path} was trained under other rules of {here.name}")
    try:
        network = NetworkSettings.model_validate(about.get("network"))
        nets = [_net(arrays, player, network, trained_on) for player in range(here.num_players)]
        return ResponseAgent(trained_on, network, nets, path)
    except ValidationError:
        raise UsageError(f"{path} does not say what its nets look like") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None


def _net(arrays: Mapping[str, Any], player: int, network: NetworkSettings, game: Game) -> Weights:
    """The arrays of a player's net, of the shapes of a fresh one.

    Raises:
        ValueError: they are others, or hold what is no number.
    """
    from learners.networks.modules import ValueNet

    network.check(game.spec)
    own = {name.removeprefix(f"{player}."): array for name, array in arrays.items() if name.startswith(f"{player}.")}
    fresh = ValueNet(network, game.spec).inference_weights()
    wanted = {name: (array.dtype, array.shape) for name, array in fresh.items()}
    if {name: (array.dtype, array.shape) for name, array in own.items()} != wanted:
        raise ValueError(f"the net of player {player} is not of the form that it should have")
    if not all(np.isfinite(array).all() for array in own.values()):
        raise ValueError(f"the net of player {player} holds numbers that are not finite")
    return own
