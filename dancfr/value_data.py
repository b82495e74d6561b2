"""Solved samples of a value function on disk: a folder of shards, each known by its seed, and a manifest.

A shard is a safetensors file named after seed, iteration and chunk, written aside and renamed; one that is there is
whole, and is never made twice. The manifest says what they are of; a folder can serve several runs of the same game.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import RunError, UsageError, reason
from learners.storage import DamagedFile, load_state, replacing, save_state

FORMAT = "dancfr-values-1"
MANIFEST = "manifest.json"
_SHARD = re.compile(r"shard-(\d+)-(\d{6})-(\d{4})-(\w+)\.safetensors")

Rows = NDArray[np.void]
Seed = tuple[int, int, int]
"""Seed of the run, iteration, chunk."""


class ValueData:
    """A folder of shards.

    Args:
        folder: Made if it is not there.
        about: What the samples are of: game, options, limit and how they are solved.

    Raises:
        UsageError: the folder holds samples of something else, or something else than samples.
        RunError: it cannot be written.
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
                if any(folder.iterdir()):
                    raise UsageError(f"{folder} holds something else than samples: choose another folder")
                self.write_manifest()
        except OSError as error:
            raise RunError(f"{folder} cannot be used for samples: {reason(error)}") from None

    def _require(self, manifest: Path) -> None:
        """Raises UsageError unless the manifest says what these samples are of."""
        try:
            found = json.loads(manifest.read_bytes())
            known = {"format": found["format"], **found["about"]}
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{manifest} is damaged ({error}): remove {self.folder} or choose another one") from None
        for key, value in {"format": FORMAT, **self._about}.items():
            if known.get(key) != value:
                raise UsageError(
                    f"{self.folder} holds samples of other settings: {key} is {known.get(key)} there and {value} here"
                )

    def path(self, seed: Seed, kind: str) -> Path:
        """File of a shard; `kind` is ``random`` or ``asked`` and the number of strategies."""
        return self.folder / f"shard-{seed[0]}-{seed[1]:06d}-{seed[2]:04d}-{kind}.safetensors"

    def get(self, seed: Seed, kind: str) -> tuple[Rows, dict[str, Any]] | None:
        """The rows of a shard and what is said of them; None if it is not there.

        Raises:
            UsageError: it is damaged.
        """
        path = self.path(seed, kind)
        try:
            arrays, meta = load_state(path)
            return arrays["rows"], meta["stats"]
        except FileNotFoundError:
            return None
        except (DamagedFile, KeyError, TypeError) as error:
            raise UsageError(f"{path} is no shard ({error}): remove it, and it is made again") from None
        except OSError as error:
            raise UsageError(f"{path} could not be read: {reason(error)}") from None

    def put(self, seed: Seed, kind: str, rows: Rows, stats: dict[str, Any]) -> None:
        """Writes a shard.

        Raises:
            RunError: the disk refused.
        """
        path = self.path(seed, kind)
        try:
            save_state(path, {"rows": rows}, {"seed": list(seed), "kind": kind, "stats": stats})
        except OSError as error:
            raise RunError(f"cannot write {path}: {reason(error)}; make room and go on with --resume") from None

    def shards(self) -> list[dict[str, Any]]:
        """What is there, shard by shard: ``file``, ``seed``, ``iteration``, ``chunk``, ``kind``, ``bytes``."""
        found = []
        for entry in sorted(os.scandir(self.folder), key=lambda each: each.name):
            match = _SHARD.fullmatch(entry.name)
            if match:
                numbers = dict(zip(("seed", "iteration", "chunk"), map(int, match.groups()[:3]), strict=True))
                found.append({"file": entry.name, **numbers, "kind": match[4], "bytes": entry.stat().st_size})
        return found

    def write_manifest(self) -> None:
        """Lists the shards anew. Runs that share the folder all list what they find, so that the last one is right."""
        content = {"format": FORMAT, "about": self._about, "shards": self.shards()}
        with replacing(self.folder / MANIFEST) as file:
            file.write(json.dumps(content, indent=1).encode())


__all__ = ["MANIFEST", "Rows", "Seed", "ValueData"]
