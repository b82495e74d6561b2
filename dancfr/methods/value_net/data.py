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
_OURS = re.compile(r"\..*\.partial|\.tmp\w+|shard-.*\.safetensors|manifest\.json")
"""What may lie there before there is a manifest: another run that shares the folder may just be writing it."""
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
                if not all(_OURS.fullmatch(inner.name) for inner in folder.iterdir()):
                    raise UsageError(f"{folder} holds something else than samples: choose another folder")
                self.write_manifest()
        except (FileExistsError, NotADirectoryError):
            raise UsageError(f"{folder} is no folder: samples need one") from None
        except OSError as error:
            raise RunError(f"{folder} cannot be used for samples: {reason(error)}") from None

    def _require(self, manifest: Path) -> None:
        """Raises UsageError unless the manifest says what these samples are of."""
        try:
            found = json.loads(manifest.read_bytes())
            known = {"format": found["format"], **found["about"]}
        except (ValueError, KeyError, TypeError):
            raise UsageError(f"{manifest} is damaged: remove it, and it is made again of what the shards say") from None
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
            UsageError: it is damaged, or of something else.
        """
        path = self.path(seed, kind)
        try:
            arrays, meta = load_state(path)
            if meta == {"seed": list(seed), "kind": kind, "about": self._about, "stats": meta.get("stats")}:
                return arrays["rows"], dict(meta["stats"])
            raise UsageError(f"{path} is no shard of these samples: remove it, and it is made again")
        except FileNotFoundError:
            return None
        except DamagedFile as error:
            raise UsageError(f"{error}: remove it, and it is made again") from None
        except (KeyError, TypeError, AttributeError):
            raise UsageError(f"{path} is no shard: remove it, and it is made again") from None
        except OSError as error:
            raise UsageError(f"{path} could not be read: {reason(error)}") from None

    def put(self, seed: Seed, kind: str, rows: Rows, stats: dict[str, Any]) -> None:
        """Writes a shard.

        Raises:
            RunError: the disk refused.
        """
        path = self.path(seed, kind)
        try:
            save_state(path, {"rows": rows}, {"seed": list(seed), "kind": kind, "about": self._about, "stats": stats})
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
