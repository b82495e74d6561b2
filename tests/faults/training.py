"""A short real training as a process of its own, its actors, and the conditions that hold when it has ended.

Whatever is done to a training, it shall end with the very files of one that nothing was done to: then no sample was
lost or counted twice.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

SHORT = (
    "minutes=none",
    "traversals=96",
    "chunk=24",
    "reservoir=20000",
    "circular=8000",
    "advantage_training.minibatches=20",
    "advantage_training.batch=64",
    "baseline_training.minibatches=5",
    "baseline_training.batch=64",
    "evaluation.every=0",
    "checkpoint_every=3",
)
"""Settings of `geister-quick` with which an iteration takes half a second."""

TRAVERSER, LEARNER, BUFFER = "DreamTraverser", "LearnerServer", "BufferServer"
CLOCK = ("time/", "elapsed", "seconds", "per_second", "waited", "workers/", "queue/")
"""Parts of the names of metrics that differ from run to run."""


class Training:
    """`dancfr train geister-quick` in a process of its own, on a terminal if one is given."""

    def __init__(self, path: Path, *more: str, terminal: int | None = None) -> None:
        self.path = path
        command = [sys.executable, "-m", "dancfr", "train", "geister-quick", *SHORT, *more]
        command += ["--run-dir", str(path), "--wandb", "off"]
        self.log = path.with_name(path.name + ".log")
        with self.log.open("ab") as log:
            output = log if terminal is None else terminal
            self.process = subprocess.Popen(
                command, stdin=terminal, stderr=output, stdout=output, start_new_session=terminal is not None
            )

    def rows(self, kind: str = "train") -> list[dict[str, Any]]:
        return rows(self.path, kind)

    def iteration(self) -> int:
        return max((row["iteration"] for row in self.rows()), default=0)

    def wait_for(self, what: Callable[[], Any], seconds: float) -> Any:
        """Waits for a value that is not empty, and returns it."""
        deadline = time.monotonic() + seconds
        while not (found := what()):
            assert self.process.poll() is None, f"the training has ended:\n{self.told()}"
            assert time.monotonic() < deadline, f"not within {seconds} s:\n{self.told()}"
            time.sleep(0.05)
        return found

    def reach(self, iteration: int, seconds: float = 120) -> None:
        self.wait_for(lambda: self.iteration() >= iteration, seconds)

    def family(self) -> set[str]:
        """Names of the processes below it."""
        try:
            return {process.name() for process in psutil.Process(self.process.pid).children(recursive=True)}
        except psutil.NoSuchProcess:
            return set()

    def actors(self, kind: str) -> list[psutil.Process]:
        """Its actors whose class is named so, by age."""
        own = []
        for process in psutil.Process(self.process.pid).children(recursive=True):
            try:
                if f"ray::{kind}" in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                    own.append(process)
            except psutil.Error:
                continue
        return sorted(own, key=lambda process: process.pid)

    def kill(self, kind: str, which: int = 0) -> int:
        """Kills an actor; its process id."""
        victim = self.wait_for(lambda: self.actors(kind), 60)[which]
        victim.kill()
        return int(victim.pid)

    def end(self, seconds: float = 180) -> int:
        """Waits for its end; the exit code."""
        return self.process.wait(seconds)

    def told(self) -> str:
        """Its output so far."""
        return self.log.read_text(errors="replace")


@contextmanager
def training(path: Path, *more: str, terminal: int | None = None) -> Iterator[Training]:
    """A training that is over, one way or another, at the end of the block; so are Ray's processes that it started."""
    started = Training(path, *more, terminal=terminal)
    try:
        yield started
    finally:
        family = [psutil.Process(started.process.pid)] if started.process.poll() is None else []
        family += family[0].children(recursive=True) if family else []
        if family:
            started.process.send_signal(signal.SIGTERM)
            try:
                started.process.wait(30)
            except subprocess.TimeoutExpired:
                started.process.kill()
        for process in psutil.wait_procs(family, 5)[1]:
            process.kill()


def rows(path: Path, kind: str | None = None) -> list[dict[str, Any]]:
    """Rows of the record, of one kind or of all; a line that is still being written is left out."""
    try:
        lines = (path / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    found = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return [row for row in found if kind is None or row["kind"] == kind]


def strategies(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted((path / "strategies").iterdir())}


def timeless(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if not any(word in key for word in CLOCK)}


def assert_as_if_undisturbed(path: Path, calm: Path) -> None:
    """Every row of the record once and in order, a strategy for each; as far as the calm run goes, all of them its own,
    byte for byte."""
    done = [row["iteration"] for row in rows(path, "train")]
    assert done == list(range(1, len(done) + 1)), "a row of the record is lost or doubled"
    calm_rows = rows(calm, "train")
    both = min(len(done), len(calm_rows))
    found = [timeless(row) for row in rows(path, "train")[:both]]
    assert found == [timeless(row) for row in calm_rows[:both]], "other samples were trained on"
    stored, wanted = strategies(path), strategies(calm)
    assert [int(name[3:9]) for name in sorted(stored, key=lambda name: name[3:9])] == done, "a strategy is lost"
    early = [name for name in stored if int(name[3:9]) <= both]
    assert {name: stored[name] for name in early} == {name: wanted[name] for name in early}, "a strategy is another one"


def calm_run(path: Path, iterations: int, *more: str) -> Path:
    """An undisturbed training in one process, which all others are compared with."""
    ended = Training(path, f"iterations={iterations}", "--inline", *more)
    assert ended.end(600) == 0, ended.told()
    return path


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
