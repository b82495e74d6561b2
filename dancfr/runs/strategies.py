"""Tabular strategies as files: `dancfr solve --out` writes them, and every command takes them as agents."""

import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import RunError, UsageError, reason
from dancfr.games.registry import is_registered, make_game, refuse_other_version, version_of
from dancfr.games.rules import check_rules
from envs.extensive import FactoredGame
from envs.game import GameBase, Identified
from envs.tree import Tree
from learners.cfr.agent import TabularAgent
from learners.storage import DamagedFile, load_state, save_state

SUFFIX = ".safetensors"
KIND = "tabular strategy"
INFOSTATES, DIGESTS = "infostates", "digests"
"""Key and value in the metadata of a strategy whose rows are digests, see `envs.game.Identified`."""


def write_strategy(path: Path, tree: Tree, policy: NDArray[np.float64], about: dict[str, Any]) -> None:
    """Writes a policy for both players to a file.

    Args:
        path: A file that ends in ``.safetensors``.
        tree: The game.
        policy: Probabilities by slot (a pair of infoset and action), `float64[S]`.
        about: The game's name and options as ``game`` and ``game_options``, and how the policy was computed.

    Raises:
        UsageError: see `check_storable`.
        RunError: the file could not be written.
    """
    check_storable(tree)
    if (version := version_of(about.get("game"))) is not None:
        about = {**about, "game_version": version}
    if tree.identity is not None:
        about = {**about, INFOSTATES: DIGESTS}
    arrays: dict[str, NDArray[Any]] = {
        "observed": tree.observed if tree.identity is None else tree.identity,
        "policy": tree.to_table(policy),
        "player": tree.player,
    }
    try:
        save_state(path, arrays, {"kind": KIND, **about})
    except OSError as error:
        raise RunError(f"{path} could not be written: {reason(error)}") from None


def check_storable(tree: Tree) -> None:
    """Raises UsageError if a strategy of a game could not be played from a file."""
    if tree.identity is None and not tree.tells_apart:
        raise UsageError(
            f"a strategy of {tree.name} cannot be stored or played: its players know more than `observe` shows, so "
            "that several infosets have the same row; `dancfr solve` without --out solves the game nevertheless"
        )


def check_target(path: Path) -> None:
    """Raises UsageError if a strategy cannot be written to `path`."""
    if path.suffix != SUFFIX:
        raise UsageError(f"the name of a strategy must end in {SUFFIX}, got {path}")
    try:
        folder, whole = path.is_dir(), path.parent.is_dir()
    except OSError as error:  # a name that no file can have
        raise UsageError(f"{path.name[:40]}... cannot be written: {reason(error)}") from None
    if folder or not whole:
        raise UsageError(f"{path} is a folder" if folder else f"{path}: the folder {path.parent} does not exist")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"{path}: the folder {path.parent} may not be written to")


def read_strategy(path: str | os.PathLike[str]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the metadata of a stored strategy.

    Raises:
        UsageError: there is no such file, or it does not contain a strategy.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # to open a pipe would block
            raise UsageError(f"{path} is not a file")
        arrays, about = load_state(path)
    except FileNotFoundError:
        raise UsageError(f"{path} does not exist") from None
    except OSError as error:
        raise UsageError(f"{path} could not be read: {reason(error)}") from None
    except DamagedFile as error:
        raise UsageError(str(error)) from None
    if not isinstance(about, dict) or about.get("kind") != KIND or not isinstance(about.get("game_options"), dict):
        raise UsageError(f"{path} is not a strategy of dancfr solve --out")
    _check(path, arrays)
    return arrays, about


def file_kind(path: str | os.PathLike[str]) -> str:
    """The kind of file that a method has written there; empty for a strategy of `dancfr solve`, or if unreadable."""
    kind = describe_file(path).get("kind")
    return kind if isinstance(kind, str) and kind != KIND else ""


def describe_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The description in a file; empty for an unreadable file."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would be waited for
            return {}
        _, about = load_state(path)
    except (OSError, DamagedFile):
        return {}
    return about if isinstance(about, dict) else {}


def load_agent(path: str, game: GameBase, shown: str | None = None) -> TabularAgent:
    """The agent that plays a stored strategy.

    Args:
        path: Where it is stored.
        game: The game to play.
        shown: The name of the file in errors; None: its path.

    Raises:
        UsageError: see `read_strategy`; or the strategy is for another game, or for other rules.
    """
    arrays, about = read_strategy(path)
    name, file = game.spec.name, shown or path
    if (made_for := about.get("game")) != name:
        raise UsageError(f"{file} is a strategy of {made_for}, not of {name}: `dancfr agents {name}` lists those of it")
    refuse_other_version(file, about)
    shape = arrays["observed"].shape[1], arrays["policy"].shape[1]
    strict = isinstance(game, FactoredGame)  # a table has no row for other health points, whatever nets may do
    solved = make_game(name, **about["game_options"]) if is_registered(name) else game
    check_rules(file, solved, game, () if strict else None)
    identified = about.get(INFOSTATES) == DIGESTS
    if identified and not isinstance(game, Identified):
        raise UsageError(f"{file} is a strategy by digests of infostates, which {name} lacks")
    if shape[identified:] != (wanted := (game.spec.packed_size, game.spec.num_actions))[identified:]:
        raise UsageError(
            f"{file} was made for other rules of {name}: rows of {shape[0]} bytes for {shape[1]} actions, "
            f"but this game has {wanted[0]} and {wanted[1]}"
        )
    try:
        return TabularAgent(arrays["observed"], arrays["policy"], path, identified=identified)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _check(path: str | os.PathLike[str], arrays: dict[str, NDArray[Any]]) -> None:
    """Raises UsageError if the arrays are not a policy."""
    found = {name: arrays[name].dtype for name in ("observed", "policy", "player") if name in arrays}
    if found != {"observed": np.uint8, "policy": np.float64, "player": np.int8}:
        raise UsageError(f"{path} is not a strategy: its arrays have other names or types")
    observed, policy = arrays["observed"], arrays["policy"]
    player = arrays["player"]
    if (observed.ndim, policy.ndim, player.ndim) != (2, 2, 1) or not 0 < len(observed) == len(policy) == len(player):
        raise UsageError(f"{path} is not a strategy: the shapes of its arrays do not fit each other")
    wrong = ~np.isfinite(policy).all(axis=1) | (policy < -1e-9).any(axis=1) | (np.abs(policy.sum(axis=1) - 1) > 1e-6)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise UsageError(f"{path}: its policy at infoset {row} is not a distribution: {policy[row].tolist()}")
