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
    """The record of a run. Rows that cannot be written, as on a full disk, wait in memory.

    Only the process that has locked the run writes to the record; any process may read it meanwhile.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._waiting: list[bytes] = []
        self._warned = False

    def append(self, row: Mapping[str, Any]) -> None:
        """Appends a row. When the call returns, it has been written to the file, unless the disk is full.

        Raises:
            TypeError: the row contains a value that JSON cannot represent.
        """
        text = json.dumps(plain(row), allow_nan=False, separators=(",", ":"))
        self._waiting.append(text.encode() + b"\n")
        self.flush()

    def flush(self) -> None:
        """Writes the waiting rows; if this fails, warns once and tries again later."""
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
        """Flushes all rows to the disk, so that a power cut cannot lose rows of iterations before a checkpoint.

        Raises:
            OSError: rows could not be written, and still wait.
        """
        self.flush()
        if self._waiting:
            raise OSError(f"{len(self._waiting)} rows of {self.path.name} could not be written")
        if self.path.exists():
            sync(self.path)

    def _write(self, line: bytes) -> None:
        """Appends the whole line or nothing; first ends an incomplete line left by a killed process."""
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
        """Number of rows that could not be written yet."""
        return len(self._waiting)

    def rows(self, kind: str | None = None) -> list[dict[str, Any]]:
        """Returns all rows in order, or those of one `kind` ("train", "evaluation"), without incomplete lines."""
        rows = (row for _, row in _read(self.path))
        return [row for row in rows if kind is None or row.get("kind") == kind]

    def unreadable(self) -> int:
        """Counts the lines that `rows` leaves out."""
        if not self.path.exists():
            return 0
        return len([line for line in self.path.read_bytes().splitlines() if line.strip()]) - len(list(_read(self.path)))

    def truncate(self, iteration: int, finals: bool = True) -> int:
        """Writes the waiting rows, then removes those after `iteration`, and incomplete lines, in one atomic step.

        Args:
            iteration: The last iteration whose rows are kept.
            finals: Keep rows that exist only because the run ended.

        Returns:
            Number of rows removed from the file.

        Raises:
            OSError: the file could not be rewritten; it is unchanged.
        """

        def stays(row: Mapping[str, Any]) -> bool:
            return row.get("iteration", 0) <= iteration and (finals or not row.get("final"))

        self.flush()
        rows = list(_read(self.path))
        kept = [line for line, row in rows if stays(row)]
        if self.path.exists() and b"".join(kept) != self.path.read_bytes():
            with replacing(self.path) as file:
                file.writelines(kept)
        self._waiting = [line for line in self._waiting if stays(json.loads(line))]
        return len(rows) - len(kept)


def _read(path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Yields (line, row) for every complete row; a killed process may leave an incomplete line."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        for line in file:
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict) and type(row.get("iteration", 0)) is int and line.endswith(b"\n"):
                yield line, row


def plain(value: Any) -> Any:
    """Converts a value to JSON types: NumPy values to Python values, infinite numbers and NaN to null.

    Raises:
        TypeError: the value contains another type, such as a tensor.
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
