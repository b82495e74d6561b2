"""`metrics.jsonl`: the record of a run, one JSON object a line, which survives kills and full disks."""

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
    """The record of a run. Rows that the disk refuses wait in memory until there is room again.

    Only the process that has locked the run writes it; any process may read it meanwhile.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._waiting: list[bytes] = []
        self._warned = False

    def append(self, row: Mapping[str, Any]) -> None:
        """Adds one row, which is in the file and not in a buffer of this process when the call returns.

        Raises:
            TypeError: the row contains a value that JSON cannot represent.
        """
        text = json.dumps(plain(row), allow_nan=False, separators=(",", ":"))
        self._waiting.append(text.encode() + b"\n")
        self.flush()

    def flush(self) -> None:
        """Writes the waiting rows; if the disk refuses them, warns once and tries again later."""
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
        """Makes the rows written so far outlast a power cut: called before a checkpoint that follows them."""
        if self.path.exists():
            sync(self.path)

    def _write(self, line: bytes) -> None:
        """Appends the whole line or nothing, and first ends a line that a killed process has left torn."""
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
        """Number of rows that wait because the disk has refused them."""
        return len(self._waiting)

    def rows(self, kind: str | None = None) -> list[dict[str, Any]]:
        """All rows in order, or those of one `kind` ("train", "evaluation"), without torn lines."""
        rows = (row for _, row in _read(self.path))
        return [row for row in rows if kind is None or row.get("kind") == kind]

    def truncate(self, iteration: int, finals: bool = True) -> int:
        """Drops the rows after `iteration`, and torn lines, in one atomic step.

        Args:
            iteration: The last iteration whose rows stay.
            finals: Keep evaluations that were made only because the run had ended.

        Returns:
            Number of rows dropped.

        Raises:
            OSError: the file could not be rewritten; it is unchanged.
        """
        rows = list(_read(self.path))
        kept = [line for line, row in rows if row.get("iteration", 0) <= iteration and (finals or not row.get("final"))]
        if self.path.exists() and b"".join(kept) != self.path.read_bytes():
            with replacing(self.path) as file:
                file.writelines(kept)
        self._waiting.clear()
        return len(rows) - len(kept)


def _read(path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """(line, row) for every line that is a complete row; a killed process may leave a torn line."""
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
    """`value` in types of JSON: NumPy values as Python values, infinite numbers and NaN as null.

    Raises:
        TypeError: it contains another type, such as a tensor.
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
    raise TypeError(f"a value of type {type(value).__name__} is not a metric")
