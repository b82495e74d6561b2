"""How a run stands, read from its folder alone: nothing is written, and no lock taken, so it may be training."""

import json
import os
import re
import shutil
import socket
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dancfr.errors import UsageError, reason, warn
from dancfr.runs import checkpoints
from dancfr.runs.run import Run
from dancfr.watch.following import Following
from dancfr.watch.progress import time_left

Status = dict[str, Any]

SILENT_S = 120.0
"""A running training without a new row for so long, and for many times its pace, is told of."""

_HOLDER = re.compile(r"process (\d+) on (\S+)")
_OURS = re.compile(
    r"config\.json|metrics\.jsonl|run\.lock|wandb\.json|report\.html?|checkpoints|strategies|data|wandb|figures|.*\.png"
)
_STRATEGY = re.compile(r"(average-)?p\d+-\d{6,}\.safetensors")
_CHECKPOINT = re.compile(r"\d{6,}(\.replaced)?(\.partial)?")
_PICKLES = frozenset({".pkl", ".pickle", ".pt", ".pth", ".ckpt", ".joblib", ".dill", ".bin", ".npy", ".npz"})
_FREE_CHECKPOINTS = 3


class Watched:
    """One run that is looked at, once or again and again.

    Args:
        path: Its folder.

    Raises:
        UsageError: it holds no run, or its config.json is damaged.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        Run.open(path)
        self._record = Following(self.path / "metrics.jsonl")
        self._sound: dict[tuple[int, int], str | None] = {}  # what is wrong with a checkpoint, by iteration and time

    def look(self, thorough: bool = True) -> Status:
        """How the run stands now.

        Args:
            thorough: Also read every file of the newest checkpoint, once each.

        Returns:
            What `dancfr status --json` prints: ``run_dir``, ``name``, ``preset``, ``method``, ``state`` (``running``,
            ``elsewhere`` when another machine holds or held the lock, ``finished``, ``stopped``), ``holder``,
            ``iteration``, ``iterations``, ``minutes``, ``elapsed_s``, ``seconds_each``, ``eta_s``, ``row_age_s``,
            ``evaluations``, ``nash_conv``, ``checkpoint``, ``strategies``, ``workers``, ``events``, ``samples``,
            ``buffers``, ``queue_depth``, ``weights_age``, ``speed`` (the newest row), ``disk``, ``wandb``,
            ``warnings``.

        Raises:
            UsageError: it is no run any more, or cannot be read.
        """
        run = Run.open(self.path)
        try:
            self._record.update()
        except OSError as error:
            raise UsageError(f"cannot read {run.metrics.path}: {reason(error)}") from None
        record, config = self._record, run.info["config"]
        minutes, iterations = config.get("minutes"), config.get("iterations", 0)
        if type(iterations) is not int or not (minutes is None or (isinstance(minutes, int | float) and minutes > 0)):
            raise UsageError(f"{self.path / 'config.json'} is no configuration of a run of dancfr")
        limit = None if minutes is None else 60.0 * minutes
        done = record.iteration >= iterations or (limit is not None and record.elapsed_s >= limit)
        holder = find_holder(self.path / "run.lock")
        state = _state(holder, done)
        left, _ = time_left(record.seconds_each, iterations - record.iteration, limit, record.elapsed_s)
        status: Status = {
            "run_dir": str(self.path),
            "name": run.name,
            "preset": run.preset,
            "method": run.method,
            "state": state,
            "holder": holder,
            "resumed": len(run.info.get("resumed", [])),
            "iteration": record.iteration,
            "iterations": iterations,
            "minutes": minutes,
            "elapsed_s": record.elapsed_s,
            "seconds_each": record.seconds_each,
            "eta_s": left if state in ("running", "elsewhere") else None,
            "row_age_s": _age(self.path / "metrics.jsonl"),
            "evaluations": [_evaluation(row) for row in record.evaluations.values()],
            "nash_conv": {
                policy: {"iteration": row["iteration"], "nash_conv": row["nash_conv"]}
                for policy, row in record.exact.items()
            },
            "checkpoint": self._checkpoint(run, thorough),
            "strategies": _strategies(run, min(record.iteration, iterations)),
            "workers": record.workers(),
            "events": {
                "counts": dict(Counter(str(row.get("event")) for row in record.events)),
                "lost_iterations": sum(int(row.get("lost_iterations") or 0) for row in record.events),
                "newest": record.events[-1] if record.events else None,
            },
            "samples": record.numbers("samples/"),
            "buffers": record.buffers,
            "queue_depth": record.newest.get("queue/depth"),
            "weights_age": record.newest.get("weights/age", record.newest.get("selfplay/age")),
            "speed": {key: value for key, value in record.newest.items() if key.endswith("s_per_second")},
            "disk": _disk(self.path),
            "wandb": _wandb(self.path),
        }
        return status | {"warnings": self._warnings(run, status)}

    def _checkpoint(self, run: Run, thorough: bool) -> dict[str, Any] | None:
        """The newest checkpoint: ``iteration``, ``age_s``, ``damage`` (None: sound), ``checked``; None without one."""
        for _ in range(3):  # the run may remove one while it is being read
            known = checkpoints.listed(run)
            if not known:
                return None
            newest = known[-1]
            manifest = newest.folder / "manifest.json"
            try:
                changed = manifest.stat().st_mtime_ns
            except OSError:
                changed = 0
            key = newest.iteration, changed
            if thorough and key not in self._sound:
                self._sound = {key: checkpoints.find_damage(newest)}
            if newest.folder.is_dir():
                break
        return {
            "iteration": newest.iteration,
            "age_s": _written_ago(manifest),
            "count": len(known),
            "checked": key in self._sound,
            "damage": self._sound.get(key),
        }

    def _warnings(self, run: Run, status: Status) -> list[str]:
        found = []
        record, checkpoint, strategies = self._record, status["checkpoint"], status["strategies"]
        torn = record.torn + (record.unfinished and status["state"] != "running")
        if torn:
            found.append(f"metrics.jsonl has {_count(torn, 'torn line')}, passed over")
        if checkpoint is not None and checkpoint["damage"] is not None:
            other = " (--resume takes the one before it)" if checkpoint["count"] > 1 else ""
            found.append(f"{checkpoint['damage']}{other}")
        saved = 0 if checkpoint is None else checkpoint["iteration"]
        if status["state"] in ("stopped", "finished") and record.iteration > saved:
            after = f"the checkpoint of {saved}" if saved else "the beginning, as there is no checkpoint"
            found.append(
                f"{_count(record.iteration - saved, 'iteration')} will be trained again: --resume goes on from {after}"
            )
        if strategies["missing"]:
            first, *others = strategies["missing"]
            found.append(f"strategies/ lacks {first}" + (f" and {len(others)} more" if others else ""))
        quiet, each = status["row_age_s"], status["seconds_each"] or 0.0
        if status["state"] == "running" and quiet is not None and quiet > max(SILENT_S, 20 * each):
            found.append(f"no new row for {quiet:.0f} s, though its process holds the lock")
        disk = status["disk"]
        if disk["free_bytes"] is not None and disk["free_bytes"] < _FREE_CHECKPOINTS * disk["checkpoint_bytes"]:
            found.append(f"{disk['free_bytes'] / 2**20:,.0f} MiB are free on the disk: too little for more checkpoints")
        return found + list(_foreign(run, status["state"]))


def find_watched(paths: Sequence[str | os.PathLike[str]]) -> tuple[list[Watched], bool]:
    """The runs in the folders, and whether that is to be a list: several were named, or a folder of runs.

    Raises:
        UsageError: a folder is neither a run nor holds runs.
    """
    found: list[Watched] = []
    several = len(paths) > 1
    for path in map(Path, paths):
        if (path / "config.json").exists():
            found.append(Watched(path))
            continue
        inner = sorted(config.parent for config in path.glob("*/config.json")) if path.is_dir() else []
        runs = [run for run in map(_readable, inner) if run is not None]
        if not runs:
            raise UsageError(f"{path} holds no run (there is no {path / 'config.json'}), nor do its folders")
        found += runs
        several = True
    return found, several


def _readable(path: Path) -> Watched | None:
    """One of the runs in a folder; None, with a warning, if it cannot be read."""
    try:
        return Watched(path)
    except UsageError as error:
        warn(f"warning: {error}")
        return None


def find_holder(lock: Path) -> dict[str, Any] | None:
    """Who holds a run's lock: ``process``, ``host`` and whether it is ``here``, on this machine; None if nobody.

    The lock is looked up in the system's list, not tried: a probe might be in the way of a training that starts. Of
    another machine nobody here can tell whether its process still lives.
    """
    try:
        noted = _HOLDER.match(lock.read_text(errors="replace"))
        inode = lock.stat().st_ino
    except OSError:
        return None
    process, host = (int(noted[1]), noted[2]) if noted else (None, None)
    held_by = _lock_holders(inode)
    if held_by is None:  # no such list in this system
        return None if process is None else {"process": process, "host": host, "here": host == socket.gethostname()}
    if held_by:
        return {"process": process if process in held_by else held_by[0], "host": socket.gethostname(), "here": True}
    if process is None or host == socket.gethostname():
        return None
    return {"process": process, "host": host, "here": False}


def _lock_holders(inode: int) -> list[int] | None:
    """Processes of this machine that hold a lock on a file of that number; None where Linux's list is not there."""
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except OSError:
        return None
    fields = [line.split() for line in lines if "->" not in line]  # those with an arrow wait
    return [int(field[4]) for field in fields if len(field) > 5 and field[5].rpartition(":")[2] == str(inode)]


def _state(holder: dict[str, Any] | None, done: bool) -> str:
    if holder is None or (done and not holder["here"]):
        return "finished" if done else "stopped"
    return "running" if holder["here"] else "elsewhere"


def _evaluation(row: dict[str, Any]) -> dict[str, Any]:
    return {key: row.get(key) for key in ("policy", "opponent", "iteration", "win_rate", "ci95", "games")}


def _strategies(run: Run, iteration: int) -> dict[str, Any]:
    """How many are stored, of which the newest, and which are missing of those that the average needs."""
    stored = run.list_strategies()
    missing: list[str] = []
    config = _updating(run)
    if config is not None:
        have = {(file.iteration, file.player) for file in stored}
        for t in range(1, iteration + 1):
            missing += [f"p{p}-{t:06d}.safetensors" for p in config.updated_players(t) if (t, p) not in have]
    newest = stored[-1].iteration if stored else None
    return {"stored": len(stored), "newest": newest, "missing": missing}


def _updating(run: Run) -> Any:
    """The configuration of a method that stores the nets of every iteration; None for other methods."""
    if run.method != "dream":
        return None
    from dancfr.methods.dream.config import DreamConfig

    try:
        return run.config_as(DreamConfig)
    except UsageError:  # of another version
        return None


def _disk(path: Path) -> dict[str, Any]:
    """Bytes of the folder, of its largest checkpoint, and those that are free."""
    total, each = 0, Counter[str]()
    for folder, _, files in os.walk(path):
        inner = Path(folder).relative_to(path).parts
        for name in files:
            try:
                size = os.lstat(os.path.join(folder, name)).st_size
            except OSError:  # removed meanwhile
                continue
            total += size
            if len(inner) > 1 and inner[0] == "checkpoints":
                each[inner[1]] += size
    try:
        free = shutil.disk_usage(path).free
    except OSError:
        free = None
    return {"bytes": total, "checkpoint_bytes": max(each.values(), default=0), "free_bytes": free}


def _wandb(path: Path) -> dict[str, Any] | None:
    """The W&B run's id, its offline pieces and those that have not been synced; None without W&B."""
    try:
        stored = json.loads((path / "wandb.json").read_text())["id"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    pieces = sorted((path / "wandb").glob("offline-run-*"))
    unsynced = [piece for piece in pieces if not any(piece.glob("*.wandb.synced"))]
    return {"id": stored, "offline_pieces": len(pieces), "unsynced": len(unsynced)}


def _foreign(run: Run, state: str) -> Iterator[str]:
    """What lies in the folder and is none of a run's files: it is never read, least of all a pickle."""
    strange: list[Path] = []
    for inner in run.path.iterdir():
        if not _OURS.fullmatch(inner.name):
            strange.append(inner)
    for folder, pattern in (("strategies", _STRATEGY), ("checkpoints", _CHECKPOINT)):
        root = run.path / folder
        strange += [inner for inner in root.iterdir() if not pattern.fullmatch(inner.name)] if root.is_dir() else []
    for checkpoint in checkpoints.listed(run):
        try:
            named = set(json.loads((checkpoint.folder / "manifest.json").read_bytes())["files"]) | {"manifest.json"}
            inside = [file for file in checkpoint.folder.rglob("*") if file.is_file()]
        except (OSError, ValueError, KeyError, TypeError):
            continue  # damaged, or removed meanwhile
        strange += [file for file in inside if file.relative_to(checkpoint.folder).as_posix() not in named]
    for file in sorted(strange):
        kind = "a pickle, or may hold one" if file.suffix in _PICKLES else "no file of a run"
        if file.name.startswith(".") and file.name.endswith(".partial"):
            continue  # is, or was, being written aside
        yield f"{file.relative_to(run.path)} is {kind}: it is ignored"
    if state == "stopped" and any((run.path / "checkpoints").glob("*.partial")):
        yield "a checkpoint was left half written: it is ignored, and removed at --resume"


def _written_ago(manifest: Path) -> float | None:
    """Seconds since a checkpoint was written, by its manifest."""
    try:
        written = datetime.fromisoformat(json.loads(manifest.read_bytes())["written"])
        return max(0.0, (datetime.now(UTC) - written).total_seconds())
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _age(path: Path) -> float | None:
    try:
        return max(0.0, time.time() - path.stat().st_mtime)
    except OSError:
        return None


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
