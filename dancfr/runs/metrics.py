"""`metrics.jsonl`: the record of a run, one JSON object a line. It outlives kills and full disks."""

import errno
import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dancfr.errors import reason, warn
from learners.storage import replacing, sync


class MetricsLog:
    """Appends rows; what the disk refuses is kept in memory and written, in order, when there is room again.

    One process writes it at a time (the holder of the run's lock); anyone may read it meanwhile.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._waiting: list[bytes] = []
        self._warned = False

    def append(self, row: Mapping[str, Any]) -> None:
        """Adds one row; it is in the file, past any buffer of this process, when this returns.

        Raises:
            TypeError: the row holds what JSON cannot say.
        """
        text = json.dumps(plain(row), allow_nan=False, separators=(",", ":"))
        self._waiting.append(text.encode() + b"\n")
        self.flush()

    def flush(self) -> None:
        """Writes the rows that wait; a refusal is said once on standard error, and tried again later."""
        while self._waiting:
            try:
                self._write(self._waiting[0])
            except OSError as error:
                if not self._warned:
                    warn(f"warning: {self.path}: {reason(error)}; rows wait in memory")
                self._warned = True
                return
            self._waiting.pop(0)
        self._warned = False

    def sync(self) -> None:
        """Makes sure that what has been written outlives a loss of power: called before a checkpoint counts on it."""
        if self.path.exists():
            sync(self.path)

    def _write(self, line: bytes) -> None:
        """Appends a whole line or nothing, after ending a line that a killed process left torn."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            size = os.fstat(descriptor).st_size
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                line = b"\n" + line
            try:
                if os.write(descriptor, line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError:
                os.ftruncate(descriptor, size)
                raise
        finally:
            os.close(descriptor)

    @property
    def waiting(self) -> int:
        """Number of rows that the disk has refused so far."""
        return len(self._waiting)

    def rows(self, kind: str | None = None) -> list[dict[str, Any]]:
        """All whole rows in order, of one `kind` ("train", "evaluation") or of all."""
        rows = (row for _, row in _read(self.path))
        return [row for row in rows if kind is None or row.get("kind") == kind]

    def truncate(self, iteration: int, finals: bool = True) -> int:
        """Drops rows of iterations after `iteration`, and torn lines; rewrites the file in one step.

        Args:
            iteration: The last one whose rows stay.
            finals: Whether evaluations stay that were made only because the run ended.

        Returns:
            Number of rows dropped.

        Raises:
            OSError: the file could not be rewritten; it is as it was.
        """
        rows = list(_read(self.path))
        kept = [line for line, row in rows if row.get("iteration", 0) <= iteration and (finals or not row.get("final"))]
        if self.path.exists() and b"".join(kept) != self.path.read_bytes():
            with replacing(self.path) as file:
                file.writelines(kept)
        self._waiting.clear()
        return len(rows) - len(kept)


def _read(path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """(line, row) for every line that is a whole row; a torn line is what a killed process leaves."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        for line in file:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if isinstance(row, dict) and type(row.get("iteration", 0)) is int and line.endswith(b"\n"):
                yield line, row


def plain(value: Any) -> Any:
    """`value` as JSON can say it: NumPy values as Python's, what is not finite as null.

    Raises:
        TypeError: it holds something else, a tensor for instance.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"a value of type {type(value).__name__} is no metric")
