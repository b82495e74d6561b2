"""Stores the solved samples of a value function in a folder of shards, with a manifest.

A shard is a safetensors file named after seed, iteration and chunk. It is written under another name and renamed, so an
existing shard is complete and is never computed again. The manifest describes the samples; several runs may share a
folder.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import RunError, UsageError, cannot_write, reason
from learners.storage import DamagedFile, load_state, replacing, save_state

FORMAT = "dancfr-values-1"
MANIFEST = "manifest.json"
_OURS = re.compile(r"\..*\.partial|\.tmp\w+|shard-.*\.safetensors|manifest\.json")
"""Files that may exist before the manifest, since another run that shares the folder may be writing it."""
_SHARD = re.compile(r"shard-(\d+)-(\d{6,})-(\d{4,})-(\w+)\.safetensors")

Rows = NDArray[np.void]
Seed = tuple[int, int, int]
"""Seed of the run, iteration, chunk."""


class ValueData:
    """A folder of shards.

    Args:
        folder: The folder, which is created if it does not exist.
        about: Description of the samples: game, options, depth limit and settings of the solver.

    Raises:
        UsageError: the folder contains samples with another description, or other files.
        RunError: the folder cannot be written.
    """

    def __init__(self, folder: Path, about: dict[str, Any]) -> None:
        self.folder = folder
        self._about = json.loads(json.dumps(about))
        manifest = folder / MANIFEST
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if manifest.exists():
                self._require(manifest)
            else:
                if not all(_OURS.fullmatch(inner.name) for inner in folder.iterdir()):
                    raise UsageError(f"{folder} contains other files than samples: choose another folder")
                self.write_manifest()
        except (FileExistsError, NotADirectoryError):
            raise UsageError(f"{folder} is not a folder: choose another one for the samples") from None
        except OSError as error:
            raise RunError(f"{folder} cannot be used for samples: {reason(error)}") from None

    def _require(self, manifest: Path) -> None:
        """Raises UsageError if the manifest has another description."""
        try:
            found = json.loads(manifest.read_bytes())
            known = {"format": found["format"], **found["about"]}
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{manifest} is damaged: remove it, and the next run writes it again") from None
        for key, value in {"format": FORMAT, **self._about}.items():
            if known.get(key) != value:
                raise UsageError(
                    f"{self.folder} has samples of other settings: {key} is {known.get(key)} there and {value} here"
                )

    def path(self, seed: Seed, kind: str) -> Path:
        """Returns the file of a shard; `kind` is ``random`` or ``asked``, followed by the number of strategies."""
        return self.folder / f"shard-{seed[0]}-{seed[1]:06d}-{seed[2]:04d}-{kind}.safetensors"

    def get(self, seed: Seed, kind: str) -> tuple[Rows, dict[str, Any]] | None:
        """Returns the rows and the statistics of a shard; None if it does not exist.

        Raises:
            UsageError: the shard is damaged, or has another description.
        """
        path = self.path(seed, kind)
        try:
            arrays, meta = load_state(path)
            if meta == {"seed": list(seed), "kind": kind, "about": self._about, "stats": meta.get("stats")}:
                return arrays["rows"], dict(meta["stats"])
            raise UsageError(f"{path} is not a shard of these samples: remove it, and it is computed again")
        except FileNotFoundError:
            return None
        except DamagedFile as error:
            raise UsageError(f"{error}: remove it, and it is computed again") from None
        except (KeyError, TypeError, AttributeError):
            raise UsageError(f"{path} is not a shard: remove it, and it is computed again") from None
        except OSError as error:
            raise UsageError(f"{path} could not be read: {reason(error)}") from None

    def put(self, seed: Seed, kind: str, rows: Rows, stats: dict[str, Any]) -> None:
        """Writes a shard.

        Raises:
            RunError: the file could not be written.
        """
        path = self.path(seed, kind)
        try:
            save_state(path, {"rows": rows}, {"seed": list(seed), "kind": kind, "about": self._about, "stats": stats})
        except OSError as error:
            raise RunError(cannot_write(path, error)) from None

    def shards(self) -> list[dict[str, Any]]:
        """Lists the existing shards: ``file``, ``seed``, ``iteration``, ``chunk``, ``kind``, ``bytes`` of each."""
        found = []
        for entry in sorted(os.scandir(self.folder), key=lambda each: each.name):
            match = _SHARD.fullmatch(entry.name)
            if match:
                numbers = dict(zip(("seed", "iteration", "chunk"), map(int, match.groups()[:3]), strict=True))
                found.append({"file": entry.name, **numbers, "kind": match[4], "bytes": entry.stat().st_size})
        return found

    def write_manifest(self) -> None:
        """Writes the manifest, which lists the existing shards. All runs that share the folder write it, so that it is
        complete after the last one.

        Raises:
            RunError: the file could not be written; an earlier one is unchanged.
        """
        path = self.folder / MANIFEST
        try:
            content = {"format": FORMAT, "about": self._about, "shards": self.shards()}
            with replacing(path) as file:
                file.write(json.dumps(content, indent=1).encode())
        except OSError as error:
            raise RunError(cannot_write(path, error)) from None


__all__ = ["MANIFEST", "Rows", "Seed", "ValueData"]
