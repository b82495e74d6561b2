"""Follows `metrics.jsonl` while it grows: reads each row once, and summarises the state of the run."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from dancfr.values import is_number
from dancfr.watch.progress import Pace

Row = dict[str, Any]

PROCESS_TOTALS = ("workers/died", "workers/late", "workers/raised", "workers/replaced", "workers/replayed")
"""Keys of a training row that count from the start of the process, not from the start of the run."""


_TEXTS = ("kind", "policy", "opponent")
_NUMBERS = frozenset(
    {"elapsed_s", "win_rate", "nash_conv", "games", "wins", "losses", "mean_return", "stakes", "lost_iterations"}
)
"""Keys whose values are numbers in rows of all kinds; those of training rows have nothing else."""


class Tail:
    """Reads a growing record, each row once.

    Attributes:
        torn: Number of lines so far that are not rows.
        unfinished: Whether the last line is incomplete.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begin(None)

    def _begin(self, file: tuple[int, int] | None) -> None:
        self._file, self._offset = file, 0  # device and inode
        self.torn, self.unfinished = 0, False

    def read(self) -> tuple[list[Row], bool]:
        """Reads the new rows.

        Returns:
            The new rows, and True if these are all rows: a run that returns to a checkpoint rewrites its record.

        Raises:
            OSError: the record cannot be read. A record that does not exist yet counts as empty.
        """
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            self._begin(None)
            return [], True
        rows: list[Row] = []
        with file:
            facts = os.fstat(file.fileno())
            anew = (facts.st_dev, facts.st_ino) != self._file or facts.st_size < self._offset
            if anew:
                self._begin((facts.st_dev, facts.st_ino))
            file.seek(self._offset)
            self.unfinished = False
            for line in file:
                if not line.endswith(b"\n"):
                    self.unfinished = True
                    break
                self._offset += len(line)
                row = _parse(line)
                if row is None:
                    self.torn += 1
                else:
                    rows.append(row)
        return rows, anew


def _parse(line: bytes) -> Row | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) and type(row.get("iteration")) is int and is_number(row["iteration"]) else None


class Following:
    """A summary of the record of a run. Values of the wrong type are skipped, see `dancfr.report.history`.

    Attributes:
        tail: The reader of the record.
        newest: The newest training row; empty before the first.
        buffers: Newest value of each ``buffer/`` key; rows need not contain all of them.
        iteration: Iteration of the newest training row.
        elapsed_s: Seconds of training.
        evaluations: Newest evaluation row by (policy, opponent).
        exact: Newest exact evaluation by policy.
        events: Rows of kind "event".
    """

    def __init__(self, path: Path) -> None:
        self.tail = Tail(path)
        self._forget()

    def _forget(self) -> None:
        self._pace = Pace()
        self._totals: Counter[str] = Counter()  # of earlier processes
        self.newest: Row = {}
        self.buffers: dict[str, float] = {}
        self.iteration, self.elapsed_s = 0, 0.0
        self.evaluations: dict[tuple[str, str], Row] = {}
        self.exact: dict[str, Row] = {}
        self.events: list[Row] = []

    def update(self) -> None:
        """Reads the new rows.

        Raises:
            OSError: the record cannot be read.
        """
        rows, anew = self.tail.read()
        if anew:
            self._forget()
        for row in map(_clean, rows):
            kind = row.get("kind")
            if kind == "train":
                self._train(row)
            elif kind == "evaluation" and {"policy", "opponent", "win_rate"} <= row.keys():
                self.evaluations[row["policy"], row["opponent"]] = row
            elif kind == "exploitability" and {"policy", "nash_conv"} <= row.keys():
                self.exact[row["policy"]] = row
            elif kind == "event":
                self.events.append(row)

    def _train(self, row: Row) -> None:
        for key in PROCESS_TOTALS:
            if row.get(key, 0) < self.newest.get(key, 0):  # another process has begun
                self._totals[key] += self.newest[key]
        self.newest = row
        self.buffers |= self.numbers("buffer/")
        self.iteration = row["iteration"]
        self.elapsed_s = row.get("elapsed_s", self.elapsed_s)
        self._pace.add(self.iteration, self.elapsed_s)

    def measured(self) -> list[Row]:
        """Returns the newest evaluation row of each policy and opponent, and the newest exact one of each policy."""
        return [*self.evaluations.values(), *self.exact.values()]

    @property
    def seconds_each(self) -> float | None:
        """Seconds per iteration, measured over recent iterations."""
        return self._pace.seconds_each

    def workers(self) -> dict[str, float]:
        """Returns the number of workers ``alive`` now, of those that ``died``, were ``late``, ``raised`` or were
        ``replaced``, and of chunks ``replayed``, in all processes of the run; empty for a run without a pool."""
        counts = self.numbers("workers/")
        return {name: count + self._totals[f"workers/{name}"] for name, count in counts.items()}

    def numbers(self, prefix: str) -> dict[str, float]:
        """Returns the numbers of the newest training row whose keys begin with a prefix, by the rest of the key."""
        return {
            key.removeprefix(prefix): value
            for key, value in self.newest.items()
            if key.startswith(prefix) and is_number(value)
        }


def read_record(path: Path) -> Following:
    """Reads the record of a run once.

    Raises:
        OSError: the record cannot be read.
    """
    record = Following(path)
    record.update()
    return record


def _clean(row: Row) -> Row:
    """Returns the values of a row that have the right type."""
    train = row.get("kind") == "train"
    return {key: value for key, value in row.items() if _fits(key, value, train)}


def _fits(key: str, value: Any, train: bool) -> bool:
    if key in _TEXTS:
        return isinstance(value, str)
    if key == "ci95":
        return isinstance(value, list) and len(value) == 2 and all(map(is_number, value))
    return is_number(value) or not (train or key in _NUMBERS)


def evaluated(row: Row) -> dict[str, float]:
    """Returns the metrics of an evaluation: win rate, mean return in games with stakes and readings, or NashConv and
    validation errors."""
    of = f"evaluation/{row.get('policy')}"
    named: Row = {f"{of}/{row.get('opponent')}/win_rate": row.get("win_rate"), f"{of}/nash_conv": row.get("nash_conv")}
    told = [key for key in row if key.startswith("read") or (key == "mean_return" and row.get("stakes") is not None)]
    named |= {f"{of}/{row.get('opponent')}/{key}": row[key] for key in told}
    named |= {f"evaluation/{key}": value for key, value in row.items() if key.startswith("validation/")}
    return {key: value for key, value in named.items() if is_number(value)}
