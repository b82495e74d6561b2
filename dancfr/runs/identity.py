"""Distinguishes a copy of a run from the run itself, which may have been moved or renamed.

config.json has the run's id and its home: the path of the folder, its inode and its device. A moved folder keeps its
inode, and a run that was moved to another disk leaves no folder behind. So a folder is a copy if there is another one
with the same id, at home or beside either, that is at least as much the original.
"""

import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dancfr.errors import UsageError
from dancfr.runs.folder import now, read_info, runs_below


def new_identity(path: Path) -> dict[str, Any]:
    """Returns the entries of config.json that make a folder a run of its own."""
    return {"name": path.resolve().name, "id": uuid.uuid4().hex[:12], "home": home_of(path)}


def home_of(path: Path) -> dict[str, Any]:
    """Returns the place of a folder."""
    found = path.stat()
    return {"path": str(path.resolve()), "inode": found.st_ino, "device": found.st_dev}


def copied(path: Path, info: Mapping[str, Any]) -> dict[str, Any] | None:
    """Returns the changes to config.json that make a copy a run of its own; None if the folder is the run itself.

    Args:
        path: The folder.
        info: Content of its config.json.
    """
    others = list(_others(path, info))
    origin = max(others, key=lambda other: _likeness(other, info), default=None)
    if origin is None or _likeness(path, info) > _likeness(origin, info):
        return None
    named = {"name": info["name"], "id": info.get("id"), "path": str(origin), "copied": now()}
    return {**new_identity(path), "origin": named}


def _identity(info: Mapping[str, Any]) -> tuple[Any, ...]:
    """Returns the identity that a copy shares with its original; runs before version 0.3 have no id."""
    return (info["id"],) if "id" in info else (info["name"], info["preset"], info.get("created"))


def _others(path: Path, info: Mapping[str, Any]) -> Iterator[Path]:
    """Other folders with this run, at its home, and beside that and beside `path`."""
    places = {path.resolve().parent: None}
    if (known := _home(info).get("path")) is not None:
        places[Path(known).parent] = None
    for folder in dict.fromkeys(folder for place in places for folder in runs_below(place)):
        try:
            if not folder.samefile(path) and _identity(read_info(folder)) == _identity(info):
                yield folder
        except (UsageError, OSError):
            continue


def _likeness(path: Path, info: Mapping[str, Any]) -> tuple[bool, bool]:
    """Whether a folder is the one that config.json describes, and whether it is where that was."""
    home, found = _home(info), path.stat()
    same = (found.st_ino, found.st_dev) == (home.get("inode"), home.get("device"))
    place = path.resolve()
    return same, str(place) == home["path"] if "path" in home else place.name == info["name"]


def _home(info: Mapping[str, Any]) -> dict[str, Any]:
    home = info.get("home")
    return home if isinstance(home, dict) and isinstance(home.get("path"), str) else {}
