"""Writes a run for TensorBoard: reads `metrics.jsonl` while it grows, in a process beside the training.

    python -m dancfr.watch.tensorboard_reader RUN

The process ends when its standard input does: with the training. The folder ``tensorboard`` of the run always has the
whole record: it is rewritten when the process starts, and when the run goes back to a checkpoint.
"""

import json
import sys
from datetime import datetime
from typing import Any

from dancfr.runs.run import Run
from dancfr.values import is_number
from dancfr.watch.beside import ignore_signals, until_the_end
from dancfr.watch.following import Row, Tail, evaluated

FOLDER = "tensorboard"
"""The folder in a run's folder that TensorBoard reads."""


class Writer:
    """Writes the rows of a run as scalars, by the tags that metrics have in W&B; the step is the iteration.

    The time of a row is that of the run's start and the seconds of training, so that TensorBoard's relative time is
    time of training.

    Args:
        run: The run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._folder = run.path / FOLDER
        self._tail = Tail(run.metrics.path)
        self._began = datetime.fromisoformat(run.info["created"]).timestamp()
        self._seconds = 0.0
        self._emptied = False  # whether the record has no row any more, and the file still has those before
        self._events: Any = None

    def update(self) -> None:
        """Writes the new rows."""
        rows, anew = self._tail.read()
        if self._events is None or ((anew or self._emptied) and rows):
            self._begin()
        self._emptied = (anew or self._emptied) and not rows
        for row in rows:
            self._add(row)
        self._events.flush()

    def close(self) -> None:
        """Writes the last rows, and closes the file."""
        self.update()
        self._events.close()

    def _begin(self) -> None:
        """Begins a file, instead of older ones."""
        from torch.utils.tensorboard import SummaryWriter

        if self._events is not None:
            self._events.close()
        for old in self._folder.glob("events.out.tfevents.*"):
            old.unlink()
        self._events = SummaryWriter(str(self._folder))
        settings = json.dumps(self._run.info["config"], indent=2)
        self._events.add_text("settings", f"```json\n{settings}\n```", 0, self._began)

    def _add(self, row: Row) -> None:
        kind = row.get("kind")
        self._seconds = row.get("elapsed_s", self._seconds)
        if kind == "event":
            metrics: Row = {f"events/{row.get('event')}": 1.0}
        elif kind in ("evaluation", "exploitability"):
            metrics = evaluated(row)
        else:
            metrics = {key: value for key, value in row.items() if is_number(value) and key != "iteration"}
        for tag, value in metrics.items():
            self._events.add_scalar(tag, value, row["iteration"], self._began + self._seconds)


def main(path: str) -> None:
    """Follows a run until standard input ends."""
    ignore_signals()
    writer = Writer(Run.open(path))
    writer.update()
    until_the_end(writer.update)
    writer.close()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Exception as error:
        sys.exit(" ".join(str(error).split())[:300] or type(error).__name__)
