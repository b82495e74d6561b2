"""Follows `metrics.jsonl` while it grows: reads each row once, and keeps what tells how a run stands."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

from dancfr.watch.progress import Pace

Row = dict[str, Any]

TOTALS_OF_A_PROCESS = ("workers/died", "workers/late", "workers/raised", "workers/replaced", "workers/replayed")
"""What a training row counts from the start of its process on, and not from that of the run."""

LARGEST = 1e15
"""No count, iteration or time of a row is as large as that."""


class Following:
    """What the record of a run has said so far.

    Attributes:
        newest: The newest training row; empty before the first.
        buffers: Newest value of each ``buffer/`` key: not every row tells of every buffer.
        iteration: Iterations that have a row.
        elapsed_s: Seconds of training.
        evaluations: Newest evaluation rows by (policy, opponent).
        exact: Newest exact evaluations by policy.
        events: Rows of kind "event".
        torn: Lines that are no rows, a last line that is being written left out.
        unfinished: Whether the last line has no end yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._forget()

    def _forget(self) -> None:
        self._place = (0, 0)  # device and inode
        self._offset = 0
        self._pace = Pace()
        self._totals: Counter[str] = Counter()  # of earlier processes
        self.newest: Row = {}
        self.buffers: dict[str, float] = {}
        self.iteration, self.elapsed_s, self.torn, self.unfinished = 0, 0.0, 0, False
        self.evaluations: dict[tuple[str, str], Row] = {}
        self.exact: dict[str, Row] = {}
        self.events: list[Row] = []

    def update(self) -> None:
        """Reads what is new. A record that was rewritten, as when a run goes on from a checkpoint, is read anew.

        Raises:
            OSError: the record cannot be read; one that does not exist yet is empty.
        """
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            self._forget()
            return
        with file:
            facts = os.fstat(file.fileno())
            if (facts.st_dev, facts.st_ino) != self._place or facts.st_size < self._offset:
                self._forget()
                self._place = (facts.st_dev, facts.st_ino)
            file.seek(self._offset)
            self.unfinished = False
            for line in file:
                if not line.endswith(b"\n"):
                    self.unfinished = True
                    break
                self._offset += len(line)
                self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            row = json.loads(line, parse_constant=_refuse)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict) or not _fits(row):
            self.torn += 1
            return
        kind = row.get("kind")
        if kind == "train":
            self._train(row)
        elif kind == "evaluation" and _is_number(row.get("win_rate")):
            self.evaluations[str(row.get("policy")), str(row.get("opponent"))] = row
        elif kind == "exploitability" and _is_number(row.get("nash_conv")):
            self.exact[str(row.get("policy"))] = row
        elif kind == "event":
            self.events.append(row)

    def _train(self, row: Row) -> None:
        for key in TOTALS_OF_A_PROCESS:
            if _number(row, key) < _number(self.newest, key):
                self._totals[key] += round(_number(self.newest, key))
        self.newest = row
        self.buffers |= self.numbers("buffer/")
        self.iteration = row["iteration"]
        if _is_number(row.get("elapsed_s")):
            self.elapsed_s = float(row["elapsed_s"])
            self._pace.add(self.iteration, self.elapsed_s)

    @property
    def seconds_each(self) -> float | None:
        """Seconds of an iteration, by the recent ones."""
        return self._pace.seconds_each

    def workers(self) -> dict[str, int]:
        """``alive`` now; ``died``, ``late``, ``raised``, ``replaced``, ``replayed`` so far in all processes of the run.
        Empty where the rows do not tell."""
        told = {key.removeprefix("workers/"): self.newest[key] for key in self.newest if key.startswith("workers/")}
        for key in TOTALS_OF_A_PROCESS:
            name = key.removeprefix("workers/")
            if name in told:
                told[name] += self._totals[key]
        return told

    def numbers(self, prefix: str) -> dict[str, float]:
        """Numbers of the newest training row whose keys begin so, without the beginning."""
        return {
            key.removeprefix(prefix): value
            for key, value in self.newest.items()
            if key.startswith(prefix) and _is_number(value)
        }


def _refuse(constant: str) -> None:
    """NaN and the infinities, which no row of ours has."""
    raise ValueError(constant)


def _fits(row: Row) -> bool:
    """Whether a row is one that a training writes, as far as it is looked at here."""
    numbers = [value for key, value in row.items() if key == "lost_iterations" or key.startswith("workers/")]
    numbers += [row.get("elapsed_s", 0), *(row.get("ci95") or (0, 0))] if _is_pair(row.get("ci95")) else [None]
    return type(row.get("iteration")) is int and all(
        _is_number(number) and 0 <= number < LARGEST for number in [row["iteration"], *numbers]
    )


def _is_pair(interval: Any) -> bool:
    return interval is None or (isinstance(interval, list) and len(interval) == 2)


def _number(row: Row, key: str) -> float:
    value = row.get(key)
    return value if isinstance(value, (int, float)) else 0


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
