"""Tabular strategies as files: what `dancfr solve --out` writes and every command takes as an agent."""

import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import RunError, UsageError, reason
from dancfr.games.registry import make_game
from dancfr.values import show
from envs.extensive import FactoredGame
from envs.game import Game
from envs.tree import Tree
from learners.cfr.agent import TabularAgent
from learners.storage import DamagedFile, load_state, save_state

SUFFIX = ".safetensors"
KIND = "tabular strategy"


def write_strategy(path: Path, tree: Tree, policy: NDArray[np.float64], about: dict[str, Any]) -> None:
    """Writes the policy of both players, `float64[S]`, by packed infostate.

    Args:
        path: A file that ends in ``.safetensors``.
        about: The game's name and options as ``game`` and ``game_options``, and how the policy was made.

    Raises:
        RunError: the file could not be written.
    """
    arrays: dict[str, NDArray[Any]] = {
        "observed": tree.observed,
        "policy": tree.to_table(policy),
        "player": tree.player,
    }
    try:
        save_state(path, arrays, {"kind": KIND, **about})
    except OSError as error:
        raise RunError(f"{path} could not be written: {reason(error)}") from None


def check_target(path: Path) -> None:
    """Raises UsageError unless a strategy can be written there."""
    if path.suffix != SUFFIX:
        raise UsageError(f"a strategy is a file that ends in {SUFFIX}, which {path} does not")
    try:
        folder, whole = path.is_dir(), path.parent.is_dir()
    except OSError as error:  # a name that no file can have
        raise UsageError(f"{path.name[:40]}... cannot be written: {reason(error)}") from None
    if folder or not whole:
        raise UsageError(f"{path} is a folder" if folder else f"{path}: there is no folder {path.parent}")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"{path}: the folder {path.parent} may not be written to")


def read_strategy(path: str | os.PathLike[str]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the description of a strategy.

    Raises:
        UsageError: no such file, or none of a strategy.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for
            raise UsageError(f"{path} is no file")
        arrays, about = load_state(path)
    except FileNotFoundError:
        raise UsageError(f"there is no strategy {path}") from None
    except OSError as error:
        raise UsageError(f"{path} could not be read: {reason(error)}") from None
    except DamagedFile as error:
        raise UsageError(str(error)) from None
    if not isinstance(about, dict) or about.get("kind") != KIND or not isinstance(about.get("game_options"), dict):
        raise UsageError(f"{path} holds no strategy: dancfr solve --out writes one")
    _check(path, arrays)
    return arrays, about


def load_agent(path: str, game: Game) -> TabularAgent:
    """The agent of a strategy.

    Raises:
        UsageError: see `read_strategy`; or it is of another game, or of other rules.
    """
    arrays, about = read_strategy(path)
    if about.get("game") != game.spec.name:
        raise UsageError(f"{path} is a strategy of {about.get('game')}, not of {game.spec.name}")
    shape = arrays["observed"].shape[1], arrays["policy"].shape[1]
    other = isinstance(game, FactoredGame) and make_game(game.spec.name, **about["game_options"]) != game
    if other or shape != (game.spec.packed_size, game.spec.num_actions):
        options = " ".join(f"--option {key}={show(value)}" for key, value in about["game_options"].items())
        raise UsageError(f"{path} is of other rules of {game.spec.name}: {options or 'the defaults'}")
    try:
        return TabularAgent(arrays["observed"], arrays["policy"], path)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _check(path: str | os.PathLike[str], arrays: dict[str, NDArray[Any]]) -> None:
    """Raises UsageError where the arrays are no policy."""
    found = {name: arrays[name].dtype for name in ("observed", "policy", "player") if name in arrays}
    if found != {"observed": np.uint8, "policy": np.float64, "player": np.int8}:
        raise UsageError(f"{path} holds no strategy: its arrays are of another kind")
    observed, policy = arrays["observed"], arrays["policy"]
    player = arrays["player"]
    if (observed.ndim, policy.ndim, player.ndim) != (2, 2, 1) or not 0 < len(observed) == len(policy) == len(player):
        raise UsageError(f"{path} holds no strategy: its arrays do not fit each other")
    wrong = ~np.isfinite(policy).all(axis=1) | (policy < -1e-9).any(axis=1) | (np.abs(policy.sum(axis=1) - 1) > 1e-6)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise UsageError(f"{path}: its policy at infoset {row} is no distribution: {policy[row].tolist()}")


__all__ = ["SUFFIX", "check_target", "load_agent", "read_strategy", "write_strategy"]
