"""The two files that make a folder a run: config.json, and the lock of the process that trains it."""

import fcntl
import json
import os
import re
import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dancfr
from dancfr.errors import UsageError, reason
from learners.storage import replacing

OLDEST_RESUMABLE = (0, 2)
"""First version of dancfr whose runs can be resumed: 0.1 had other random streams, checkpoints and settings."""


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def refuse_content(path: Path) -> None:
    """Raises UsageError if the folder contains anything but a lock."""
    if (path / "config.json").exists():
        raise UsageError(f"{path} already holds a run: go on with --resume, or choose another folder")
    if any(entry.name != "run.lock" for entry in path.iterdir()):
        raise UsageError(f"{path} is not empty: choose another folder")


def runs_below(path: Path) -> list[Path]:
    """Returns the folders of runs directly below a folder, in the order of their names."""
    return sorted(file.parent for file in path.glob("*/config.json"))


def no_run(path: Path) -> str:
    """The message for a path that is not the folder of a run, with the runs that are below it, if any."""
    if not path.exists():
        looked = "" if path.is_absolute() else f" in {Path.cwd()}"
        return f"{path} holds no run: it does not exist{looked}"
    inner = list(map(str, runs_below(path)))
    if not inner:
        return f"{path} holds no run: {path / 'config.json'} does not exist"
    more = f" and {len(inner) - 3} more" if len(inner) > 3 else ""
    return f"{path} holds no run itself, but those of {', '.join(inner[:3])}{more}: name one of them"


def read_info(path: Path) -> dict[str, Any]:
    """The content of a run's config.json.

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
    return info


def is_old(info: Mapping[str, Any]) -> bool:
    """Whether a version before `OLDEST_RESUMABLE` started the run of this config.json."""
    numbers = re.findall(r"\d+", str(info.get("version", "")))
    return tuple(map(int, numbers[:2])) < OLDEST_RESUMABLE


def refuse_old(path: Path, info: Mapping[str, Any]) -> None:
    """Raises UsageError if the run is too old to be resumed."""
    if is_old(info):
        revision = info.get("git_revision")
        commit = f" (commit {revision[:12]})" if isinstance(revision, str) else ""
        raise UsageError(
            f"{path} was trained by dancfr {info.get('version')}, which {dancfr.__version__} cannot resume: "
            f"evaluate it, resume it with the version that started it{commit}, or train again in another folder"
        )


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Writes a JSON file in one atomic step."""
    with replacing(path) as file:
        file.write(json.dumps(content, indent=2).encode() + b"\n")


def take_lock(path: Path) -> int:
    """Locks a run; the system unlocks it when the process ends, however it ends.

    Returns:
        The file descriptor that holds the lock.

    Raises:
        UsageError: another process holds the lock.
        OSError: the folder cannot be written.
    """
    descriptor = os.open(path / "run.lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "another process"
        os.close(descriptor)
        raise UsageError(f"{path} is in use by {holder}: wait for it, stop it, or choose another folder") from None
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
    except OSError:  # a full disk: the lock works all the same, without the note
        pass
    return descriptor
