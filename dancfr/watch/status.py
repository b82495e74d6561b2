"""The status of a run, read from its folder. Nothing is written, so the run may be training meanwhile."""

import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dancfr.errors import UsageError, reason
from dancfr.runs import checkpoints
from dancfr.runs.folder import is_packed, is_run, refuse_packed, runs_and_seeds_below
from dancfr.runs.lock import find_holder
from dancfr.runs.run import Run
from dancfr.runs.step import read_step
from dancfr.values import count, is_number
from dancfr.watch.following import Following
from dancfr.watch.progress import Budget, Speed, time_left

Status = dict[str, Any]

OPEN = ("running", "elsewhere")
"""States in which the run may still write rows."""

SILENT_S, SILENT_ITERATIONS = 120.0, 20
"""A running training is reported if there was no new row for this many seconds and the time of this many iterations."""

FREE_CHECKPOINTS = 3
"""A disk is reported if it has less space than this number of checkpoints needs."""


@dataclass(frozen=True)
class Facts:
    """The properties of a method that the status of its runs depends on.

    Attributes:
        speed: The speed of the method in training rows.
        age: Key of the age of the weights that play in a training row, in fits.
        strategies: Given a run and its iterations, returns (iteration, player) of each strategy that the run needs to
            continue; None if the newest one is enough. It may raise UsageError for a run of another version.
        budgets: Keys of settings and of training rows, see `dancfr.watch.progress.Budget.of`.
        result: Name of a file that a run has at its end, see `dancfr.methods.method.Method`.
    """

    speed: Speed | None = None
    age: str | None = None
    strategies: Callable[[Run, int], Iterable[tuple[int, int]]] | None = None
    budgets: Mapping[str, str] = field(default_factory=dict)
    result: str | None = None


class Watched:
    """Reads the status of a run, once or repeatedly.

    Args:
        path: Folder of the run.
        facts_of: Function that returns the facts of a method, given its name.
    """

    def __init__(self, path: Path, facts_of: Callable[[str], Facts] = lambda _: Facts()) -> None:
        self.path = path
        self._facts_of = facts_of
        self._record = Following(self.path / "metrics.jsonl")
        self._checked: dict[tuple[int, float], str | None] = {}  # damage of a checkpoint, by iteration and time

    def look(self, thorough: bool = True) -> Status:
        """Returns the current status, as `dancfr status --json` prints it; docs/how-to/watching.md lists the keys.

        Args:
            thorough: Also read every file of the newest checkpoint, once, and compare it with its checksum.

        Raises:
            UsageError: the folder holds no run but a packed agent, or one that is damaged or cannot be read.
        """
        refuse_packed(self.path)
        run = Run.open(self.path)
        facts = self._facts_of(run.method)
        try:
            self._record.update()
        except OSError as error:
            raise UsageError(f"cannot read {run.metrics.path}: {reason(error)}") from None
        record, checkpoint = self._record, self._checkpoint(run, thorough)
        newest = record.newest
        evaluated = (
            "policy", "opponent", "iteration", "win_rate", "ci95", "games", "wins", "losses", "mean_return", "stakes"
        )  # fmt: skip
        exact = ("iteration", "nash_conv")
        standing = self._standing(run, facts)
        workers, trains = record.workers(), standing["state"] in OPEN
        if workers and not trains:  # the newest row still counts those that have ended with the run
            workers["alive"] = 0
        status = {
            "run_dir": str(self.path),
            "name": run.name,
            "preset": run.preset,
            "method": run.method,
            "resumed": len(run.info.get("resumed", [])),
            "origin": run.info.get("origin"),
            **standing,
            "evaluations": [{key: row.get(key) for key in evaluated} for row in record.evaluations.values()],
            "nash_conv": {policy: {key: row[key] for key in exact} for policy, row in record.exact.items()},
            "checkpoint": checkpoint,
            "checkpoints_removed": checkpoints.were_removed(run),
            "strategies": self._strategies(run, facts),
            "workers": workers,
            "events": {
                "counts": dict(Counter(str(row.get("event")) for row in record.events)),
                "lost_iterations": sum(row.get("lost_iterations") or 0 for row in record.events),
                "newest": record.events[-1] if record.events else None,
            },
            "samples": record.numbers("samples/"),
            "buffers": record.buffers,
            "queue_depth": newest.get("queue/depth") if trains else None,
            "weights_age": newest.get(facts.age) if trains and facts.age is not None else None,
            "speed": {key: value for key, value in newest.items() if key.endswith("s_per_second")},
            "rate": _rate(facts.speed, newest, record.elapsed_s),
            "disk": {
                "bytes": _size(self.path),
                "checkpoint_bytes": 0 if checkpoint is None else checkpoint["bytes"],
                "free_bytes": shutil.disk_usage(self.path).free,
            },
            "wandb": _wandb(self.path),
        }
        # With more strategies than are trained between two checkpoints, `Loop.load_newest` does not start over.
        unsaved = run.info["config"].get("checkpoint_every", 0)
        return status | {"warnings": list(self._warnings(status, unsaved))}

    def _standing(self, run: Run, facts: Facts) -> Status:
        """Returns the state of the run, its progress, and the time it needs."""
        record, config = self._record, run.info["config"]
        minutes, iterations = config.get("minutes"), config.get("iterations")
        for key, value, fits in (
            ("iterations", iterations, type(iterations) is int and is_number(iterations)),
            ("minutes", minutes, minutes is None or is_number(minutes)),
        ):
            if not fits:
                raise UsageError(
                    f"{self.path / 'config.json'} is not the configuration of a run of dancfr: "
                    f"config.{key} must be a number, got {json.dumps(value)}"
                )
        limit = None if minutes is None else 60.0 * minutes
        budget = Budget.of(facts.budgets, config)
        spent = 0.0 if budget is None else budget.spent(record.newest)
        done = record.iteration >= iterations or (limit is not None and record.elapsed_s >= limit) or spent >= 1
        done = done or (facts.result is not None and (self.path / facts.result).exists())
        holder = find_holder(self.path)
        if holder is None or (done and not holder["here"]):
            state = "finished" if done else "stopped"
        else:
            state = "running" if holder["here"] else "elsewhere"
        step = read_step(self.path) if state in OPEN else None
        path = run.metrics.path
        left, _ = time_left(record.seconds_each, iterations - record.iteration, limit, record.elapsed_s, spent)
        return {
            "state": state,
            "holder": holder,
            "step": None if step is None else {"name": step[0], "seconds": step[1]},
            "iteration": record.iteration,
            "iterations": iterations,
            "minutes": minutes,
            "budget": None if budget is None else {"key": budget.key, "total": budget.total, "spent": spent},
            "elapsed_s": record.elapsed_s,
            "seconds_each": record.seconds_each,
            "eta_s": left if state in OPEN else None,
            "row_age_s": max(0.0, time.time() - path.stat().st_mtime) if path.exists() else None,
        }

    def _checkpoint(self, run: Run, thorough: bool) -> Status | None:
        """Returns the newest checkpoint; its ``damage`` is None if it is intact, or not ``checked``."""
        known = checkpoints.listed(run)
        if not known:
            return None
        newest = known[-1]
        try:
            written = newest.folder.stat().st_mtime
        except FileNotFoundError:  # the run has written newer ones meanwhile
            return self._checkpoint(run, thorough)
        key = newest.iteration, written
        if thorough and key not in self._checked:
            self._checked = {key: checkpoints.find_damage(newest)}
            if not newest.folder.is_dir():
                return self._checkpoint(run, thorough)
        return {
            "iteration": newest.iteration,
            "age_s": max(0.0, time.time() - written),
            "bytes": _size(newest.folder),
            "count": len(known),
            "checked": key in self._checked,
            "damage": self._checked.get(key),
        }

    def _strategies(self, run: Run, facts: Facts) -> Status:
        """Returns the number of ``stored`` strategies, the iteration of the ``newest``, and the names of ``missing``
        ones."""
        stored = run.list_strategies()
        have = {(file.iteration, file.player) for file in stored}
        missing: list[str] = []
        if facts.strategies is not None:
            with suppress(UsageError):
                wanted = facts.strategies(run, min(self._record.iteration, run.info["config"]["iterations"]))
                missing = [f"p{player}-{t:06d}.safetensors" for t, player in sorted(wanted) if (t, player) not in have]
        return {"stored": len(stored), "newest": stored[-1].iteration if stored else None, "missing": missing}

    def _warnings(self, status: Status, unsaved: int) -> Iterator[str]:
        tail, checkpoint, missing = self._record.tail, status["checkpoint"], status["strategies"]["missing"]
        torn = tail.torn + (tail.unfinished and status["state"] != "running")
        if torn:
            yield f"metrics.jsonl has {count(torn, 'torn line')}, which {'is' if torn == 1 else 'are'} skipped"
        if checkpoint is not None and checkpoint["damage"] is not None:
            before = " (--resume takes the one before it)" if checkpoint["count"] > 1 else ""
            yield f"{checkpoint['damage']}{before}"
        saved = 0 if checkpoint is None else checkpoint["iteration"]
        stored = status["strategies"]["newest"] or 0
        if checkpoint is not None and status["iteration"] < saved:
            yield f"metrics.jsonl lacks rows before the checkpoint of iteration {saved}: it was damaged or removed"
        # A complete run of a plan, see `dancfr.trainings`, has nothing to continue.
        ended = status["state"] not in OPEN and not (status["state"] == "finished" and status["checkpoints_removed"])
        if ended and checkpoint is None and stored > unsaved:
            yield f"the checkpoints are gone: restore {self.path / 'checkpoints'} from a copy to continue with --resume"
        elif ended and status["iteration"] > saved:
            start = f"the checkpoint of iteration {saved}" if saved else "the start, as there is no checkpoint"
            again = count(status["iteration"] - saved, "iteration")
            yield f"{again} will be trained again: --resume continues from {start}"
        if missing:
            yield f"strategies/ lacks {missing[0]}" + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
        quiet, each = status["row_age_s"] or 0.0, status["seconds_each"] or 0.0
        if status["state"] == "running" and quiet > max(SILENT_S, SILENT_ITERATIONS * each):
            yield f"no new row for {quiet:.0f} s, although the process is alive"
        disk = status["disk"]
        if disk["free_bytes"] < FREE_CHECKPOINTS * disk["checkpoint_bytes"]:
            yield f"the disk has {disk['free_bytes'] / 2**20:,.0f} MiB left, too little for more checkpoints"


def find_runs(paths: Sequence[Path]) -> tuple[list[Path], bool]:
    """Returns the folders of runs among the paths and directly below them, and whether these are a list rather than a
    single run."""
    found: list[Path] = []
    several = len(paths) > 1
    for path in paths:
        inner = [] if is_run(path) else [each for each in runs_and_seeds_below(path) if not is_packed(each)]
        found += inner or [path]
        several = several or bool(inner)
    return found, several


def _rate(speed: Speed | None, newest: Mapping[str, Any], elapsed_s: float) -> Status | None:
    """Returns the speed of the newest iteration, and the mean over the training; None if the row has no speed."""
    value = None if speed is None else speed.of(newest)
    if speed is None or value is None:
        return None
    overall = speed.overall(newest, elapsed_s)
    return {"value": value, "unit": speed.unit, "during": speed.during, "overall": overall}


def _wandb(path: Path) -> Status | None:
    """Returns the ``id`` of the W&B run, and the number of its ``offline_pieces`` and of those ``unsynced``; None
    without W&B.

    Each piece contains the whole run, so only the newest one is ``to_sync``, unless it is synced already.
    """
    try:
        stored = json.loads((path / "wandb.json").read_text())
        run, order = stored["id"], {name: place for place, name in enumerate(stored.get("pieces", ()))}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    # Pieces that are not in the list are of version 0.2, or of a training that was killed before it had sent its rows.
    found = (path / "wandb").glob(f"offline-run-*-{run}")
    pieces = sorted(found, key=lambda piece: (order.get(piece.name, -1), piece.name))
    unsynced = [piece for piece in pieces if not any(piece.glob("*.wandb.synced"))]
    to_sync = str(pieces[-1]) if unsynced[-1:] == pieces[-1:] and pieces else None
    return {"id": run, "offline_pieces": len(pieces), "unsynced": len(unsynced), "to_sync": to_sync}


def _size(path: Path) -> int:
    """Returns the total size of a folder's files in bytes."""
    total = 0
    for folder, _, files in os.walk(path):
        for name in files:
            with suppress(OSError):  # the run has removed it meanwhile
                total += os.lstat(os.path.join(folder, name)).st_size
    return total
