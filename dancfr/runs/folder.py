"""Folders of runs: config.json, which makes a folder a run, and where runs lie."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dancfr
from dancfr.errors import UsageError, reason
from dancfr.runs.lock import is_lock
from dancfr.runs.renamed import with_current_names
from dancfr.values import split_settings
from learners.storage import is_incomplete, replacing

CARD = "card.json"
"""File of a packed agent, see `dancfr.agents.cards`, beside its config.json."""

FOLDERS = ("checkpoints", "strategies")
"""Folders that every run has from its start."""

OLDEST_READ = (0, 2)
"""First version of dancfr whose runs can be resumed: 0.1 had other random streams, checkpoints and settings."""


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def is_left(entry: Path, folders: Sequence[str]) -> bool:
    """Whether an entry of a folder is a lock, or remains of a start that was killed: an incomplete file, or one of the
    `folders`, still empty."""
    if entry.is_dir():
        return entry.name in folders and not any(entry.iterdir())
    return is_lock(entry.name) or is_incomplete(entry.name)


def refuse_content(path: Path) -> None:
    """Raises UsageError if the folder contains anything but a lock and remains of a start that was killed."""
    if (path / "config.json").exists():
        raise UsageError(f"{path} already holds a run: continue it with --resume, or choose another folder")
    if any(not is_left(entry, FOLDERS) for entry in path.iterdir()):
        raise UsageError(f"{path} is not empty: choose another folder")


def is_run(path: Path) -> bool:
    """Returns whether a folder holds a run."""
    return os.path.exists(path / "config.json")  # `Path.exists` fails where it may not look, or a name is too long


def runs_below(path: Path) -> list[Path]:
    """Returns the folders of runs directly below a folder, in the order of their names; none if it cannot be read."""
    if not os.path.isdir(path):
        return []
    return sorted(file.parent for file in path.glob("*/config.json"))


def is_packed(path: Path) -> bool:
    """Returns whether a folder holds an agent of `dancfr pack`, which has no record of its training."""
    return os.path.exists(path / CARD)


def recorded_below(path: Path) -> list[Path]:
    """Returns the folders of runs directly below a folder, as `runs_below`, without packed agents."""
    return [folder for folder in runs_below(path) if not is_packed(folder)]


def runs_and_seeds_below(path: Path) -> list[Path]:
    """Returns the folders of runs directly below a folder, and those of several seeds a level deeper."""
    found = runs_below(path)
    if os.path.isdir(path):
        found += (file.parent for file in path.glob("*/seed-*/config.json"))
    return sorted(found)


def refuse_packed(path: Path) -> None:
    """Raises UsageError if the folder holds a packed agent."""
    if is_packed(path):
        raise UsageError(f"{path} is a packed agent, without the record of its training: name the folder of the run")


def no_run(path: Path) -> str:
    """The message for a path that is not the folder of a run, with the runs that are below it, if any."""
    if not path.exists():
        looked = "" if path.is_absolute() else f" in {Path.cwd()}"
        return f"{path} holds no run: it does not exist{looked}"
    if path.is_file():
        return f"{path} holds no run: it is a file, and a run is a folder"
    inner = list(map(str, runs_below(path)))
    if not inner:
        return f"{path} holds no run: {path / 'config.json'} does not exist"
    more = f" and {len(inner) - 3} more" if len(inner) > 3 else ""
    return f"{path} holds no run itself, but those of {', '.join(inner[:3])}{more}: name one of them"


def read_info(path: Path) -> dict[str, Any]:
    """The content of a run's config.json, with its preset and method under their current names.

    Raises:
        UsageError: there is none, or it is damaged.
    """
    file = path / "config.json"
    try:
        info = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise UsageError(no_run(path)) from None
    except OSError as error:
        raise UsageError(f"cannot read {file}: {reason(error)}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{file} is damaged: it is not JSON") from None
    kinds = {"name": str, "preset": str, "method": str, "config": dict}
    fits = isinstance(info, dict) and all(isinstance(info.get(key), kind) for key, kind in kinds.items())
    if not fits or not isinstance(info.get("resumed", []), list):
        raise UsageError(f"{file} is not the configuration of a run of dancfr")
    return with_current_names(info)


def refuse_old(path: Path, info: Mapping[str, Any]) -> None:
    """Raises UsageError if a version before `OLDEST_READ` started the run: it is neither resumed nor played."""
    numbers = re.findall(r"\d+", str(info.get("version", "")))
    if tuple(map(int, numbers[:2])) < OLDEST_READ:
        revision = info.get("git_revision")
        commit = f" (commit {revision[:12]})" if isinstance(revision, str) else ""
        raise UsageError(
            f"{path} was trained by dancfr {info.get('version')}, which {dancfr.__version__} cannot read: "
            f"use the version that started it{commit}, or train again in another folder"
        )


def version_of_game(config: Mapping[str, Any]) -> int | None:
    """Returns the current version of a configuration's game, see `dancfr.games.registry.version_of`."""
    from dancfr.games.registry import version_of  # loads the rules of all games, which readers of a record do without

    return version_of(config.get("game"))


def refuse_other_game(path: Path, info: Mapping[str, Any]) -> None:
    """Raises UsageError if the run is of another version of its game: its nets would see other inputs or rules."""
    game, trained = info["config"].get("game"), info.get("game_version", 0)
    current = version_of_game(info["config"])
    if current is not None and trained != current:
        raise UsageError(
            f"{path} was trained on version {trained} of {game}, and this is version {current}: train again in another "
            f"folder, or use the dancfr that trained it ({info.get('version')}) or its version of the game's package"
        )


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Writes a JSON file in one atomic step."""
    with replacing(path) as file:
        file.write(json.dumps(content, indent=2).encode() + b"\n")


def default_name(preset: str, overrides: Sequence[str] = ()) -> str:
    """Names a run of this second: ``<preset>-<time>``, or ``<preset>-<game>-<time>`` where the settings name a game
    that the preset is not named after.
    """
    game = re.sub(r"[^\w.]+", "-", split_settings(overrides).get("game", "")).strip("-.")[:40]
    name = preset if not game or preset.startswith(game) else f"{preset}-{game}"
    return f"{name}-{datetime.now():%Y%m%d-%H%M%S}"


def default_run_dir(preset: str, overrides: Sequence[str] = ()) -> Path:
    """A folder below ``runs`` that does not exist yet, named as by `default_name`.

    In a job of a cluster it is below ``~/dancfr-runs``, because the working directory of a job is deleted at its end.
    """
    root = Path.home() / "dancfr-runs" if "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ else Path("runs")
    base = root / default_name(preset, overrides)
    path, number = base, 2
    while path.exists():
        path, number = base.with_name(f"{base.name}-{number}"), number + 1
    return path


def find_runs(preset: str, root: str | os.PathLike[str] = "runs") -> Sequence[Path]:
    """Folders of the runs of `preset` in `root`, oldest first."""
    found = []
    for path in recorded_below(Path(root)):
        try:
            info = read_info(path)
        except UsageError:
            continue
        if info["preset"] == preset:
            found.append((str(info.get("created", "")), path))
    return [path for _, path in sorted(found)]
