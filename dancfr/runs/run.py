"""A run's folder: its configuration, metrics, strategies and lock.

    runs/<name>/config.json              what was trained, by which code
                metrics.jsonl            the record, one row a line
                checkpoints/000040/      see dancfr.runs.checkpoints
                strategies/p0-000040.safetensors, and average-p0-000040.safetensors where a net plays the average
                run.lock                 held by the process that trains it

Only JSON and safetensors files with these names are ever read.
"""

import fcntl
import json
import os
import re
import socket
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from numpy.typing import NDArray

from dancfr.errors import RunError, UsageError, reason
from dancfr.runs.config import AnyConfig, Config, describe_differences, refuse_changes
from dancfr.runs.metrics import MetricsLog
from dancfr.runs.provenance import provenance
from learners.storage import DamagedFile, load_state, replacing, save_state

_STRATEGY = re.compile(r"(average-)?p(\d+)-(\d{6,})\.safetensors")


@dataclass(frozen=True, order=True)
class StrategyFile:
    """One stored network: that of `player` after `iteration`.

    Attributes:
        average: Whether it plays the average over all iterations, not what that iteration plays.
    """

    iteration: int
    player: int
    path: Path
    average: bool = False


class Run:
    """One run's folder. `create` and `open(writing=True)` hold its lock until `close`; use it in a `with`.

    Attributes:
        path: The folder.
        info: Content of config.json: name, preset, method, config, created, and what `provenance` says.
        metrics: The record.
    """

    def __init__(self, path: Path, info: dict[str, Any], lock: int | None) -> None:
        self.path = path
        self.info = info
        self.metrics = MetricsLog(path / "metrics.jsonl")
        self._confirmed: dict[str, Any] | None = None
        self._lock = lock

    @classmethod
    def create(cls, path: str | os.PathLike[str], preset: str, method: str, config: Config) -> Self:
        """Starts a run in a new or empty folder and takes its lock.

        Raises:
            UsageError: the folder holds something, or is in use, or cannot be written.
        """
        path = Path(path)
        try:
            if path.exists() and not path.is_dir():
                raise UsageError(f"{path} is a file: choose another --run-dir")
            path.mkdir(parents=True, exist_ok=True)
            if not (path / "run.lock").exists():
                _refuse_content(path)
            lock = _take_lock(path)
        except OSError as error:
            raise UsageError(f"cannot write to the run folder {path}: {reason(error)}") from None
        try:
            _refuse_content(path)
            info = {
                "name": path.resolve().name,
                "preset": preset,
                "method": method,
                "created": now(),
                **provenance(),
                "config": config.model_dump(mode="json"),
            }
            _write_json(path / "config.json", info)
            for folder in ("checkpoints", "strategies"):
                (path / folder).mkdir()
        except BaseException as error:
            os.close(lock)
            if isinstance(error, OSError):
                raise RunError(f"cannot start a run in {path}: {reason(error)}") from None
            raise
        return cls(path, info, lock)

    @classmethod
    def open(cls, path: str | os.PathLike[str], writing: bool = False) -> Self:
        """Opens an existing run, to read it or (`writing`, which takes its lock) to continue it.

        Raises:
            UsageError: no run there, its config.json is damaged, or another process trains it.
        """
        path = Path(path)
        info = _read_info(path)
        lock = None
        if writing:
            for folder in ("checkpoints", "strategies"):
                if (path / folder).exists() and not (path / folder).is_dir():
                    raise UsageError(f"{path / folder} is a file where a folder belongs: move it away")
            try:
                lock = _take_lock(path)
            except OSError as error:
                raise UsageError(f"cannot write to the run folder {path}: {reason(error)}") from None
        return cls(path, info, lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Writes what waits and gives the lock back."""
        if self._lock is not None:
            self.metrics.flush()
            os.close(self._lock)
            self._lock = None

    @property
    def name(self) -> str:
        return str(self.info["name"])

    @property
    def preset(self) -> str:
        return str(self.info["preset"])

    @property
    def method(self) -> str:
        return str(self.info["method"])

    def config_as(self, kind: type[AnyConfig]) -> AnyConfig:
        """The run's configuration as an instance of `kind`.

        Raises:
            UsageError: it does not fit (another method, or another version of dancfr).
        """
        return kind.from_json(self.info.get("config"), str(self.path / "config.json"))

    def require(self, preset: str, method: str) -> None:
        """Raises UsageError unless the run is of that preset and method."""
        if (preset, method) != (self.preset, self.method):
            raise UsageError(
                f"{self.path} holds a run of {self.preset} ({self.method}), not of {preset} ({method}): "
                f"resume it as {self.preset}, or choose another --run-dir"
            )

    def resume_as(self, preset: str, method: str, config: Config, allow_changes: bool = False) -> None:
        """The run is to go on under `config`, which may differ only in what does not matter, unless changes are
        allowed. Nothing is written before `confirm_resume`.

        Raises:
            UsageError: the run is of another preset or method, or another setting differs; nothing changes.
        """
        self.require(preset, method)
        old = self.config_as(type(config))
        if not allow_changes:
            refuse_changes(old, config)
        entry = {"time": now(), "changes": describe_differences(old, config), **provenance()}
        self._confirmed = {
            **self.info,
            "config": config.model_dump(mode="json"),
            "resumed": [*self.info.get("resumed", []), entry],
        }

    def confirm_resume(self) -> None:
        """What the run was saved with fits the configuration that it is to go on under: config.json now has that one,
        and tells what has changed."""
        if self._confirmed is None:
            return
        self.info, self._confirmed = self._confirmed, None
        try:
            _write_json(self.path / "config.json", self.info)
        except OSError as error:
            raise RunError(f"cannot write {self.path / 'config.json'}: {reason(error)}") from None

    # Metrics

    def append_metrics(self, row: Mapping[str, Any]) -> None:
        """Adds a row to the record; a full disk only delays it. See `MetricsLog.append`."""
        self.metrics.append(row)

    def read_metrics(self, kind: str | None = None) -> list[dict[str, Any]]:
        """All rows of the record, or those of one `kind`; a torn last line is skipped.

        Raises:
            UsageError: the record cannot be read.
        """
        try:
            return self.metrics.rows(kind)
        except OSError as error:
            raise UsageError(f"cannot read {self.metrics.path}: {reason(error)}") from None

    def truncate_metrics(self, iteration: int, finals: bool = True) -> int:
        """Drops rows after `iteration`; the number of them. See `MetricsLog.truncate`."""
        try:
            return self.metrics.truncate(iteration, finals)
        except OSError as error:
            raise RunError(f"cannot rewrite {self.metrics.path}: {reason(error)}") from None

    # Strategies

    def save_strategy(
        self,
        player: int,
        iteration: int,
        arrays: Mapping[str, NDArray[Any]],
        meta: Mapping[str, Any],
        average: bool = False,
    ) -> Path:
        """Stores the network that `player` has after `iteration`: one of those that are averaged, or of the `average`.

        Raises:
            RunError: the disk refused; an earlier file of that name is untouched.
        """
        path = self._strategy_path(player, iteration, average)
        try:
            path.parent.mkdir(exist_ok=True)
            save_state(path, arrays, {**meta, "player": player, "iteration": iteration})
        except OSError as error:
            raise RunError(f"cannot write {path}: {reason(error)}; make room and go on with --resume") from None
        return path

    def _strategy_path(self, player: int, iteration: int, average: bool) -> Path:
        return self.path / "strategies" / f"{'average-' if average else ''}p{player}-{iteration:06d}.safetensors"

    def list_strategies(self, player: int | None = None, average: bool = False) -> list[StrategyFile]:
        """Stored strategies by iteration, of one player or of all: those that are averaged, or of the `average`."""
        found = self._every_strategy()
        return [file for file in found if file.average == average and player in (None, file.player)]

    def _every_strategy(self) -> list[StrategyFile]:
        found = []
        folder = self.path / "strategies"
        for path in folder.iterdir() if folder.is_dir() else ():
            match = _STRATEGY.fullmatch(path.name)
            if match:
                found.append(StrategyFile(int(match[3]), int(match[2]), path, match[1] is not None))
        return sorted(found)

    def has_samples(self) -> bool:
        """Whether there are solved samples, which a resumed run goes on with, see `dancfr.methods.value_net.data`."""
        return any((self.path / "data").glob("shard-*"))

    def load_strategy(
        self, player: int, iteration: int, average: bool = False
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and metadata of one stored strategy.

        Raises:
            UsageError: there is none of that player and iteration, or its file is damaged or of another one.
        """
        path = self._strategy_path(player, iteration, average)
        cure = f"restore it from a copy, or play as of an earlier iteration, {self.path}@N"
        try:
            arrays, meta = load_state(path)
        except FileNotFoundError:
            have = [entry.iteration for entry in self.list_strategies(player, average)]
            known = f"it has {have[0]} to {have[-1]}" if have else "it has none yet"
            raise UsageError(
                f"{self.path} has no strategy of player {player} at iteration {iteration}; {known}"
            ) from None
        except DamagedFile as error:
            raise UsageError(f"{error}; {cure}") from None
        if (meta.get("player"), meta.get("iteration")) != (player, iteration):
            raise UsageError(f"{path} is of player {meta.get('player')} at iteration {meta.get('iteration')}; {cure}")
        return arrays, meta

    def require_strategies(self, wanted: Collection[tuple[int, int]]) -> None:
        """Raises UsageError unless there is a strategy for each (iteration, player): averages need all of them."""
        have = {(file.iteration, file.player) for file in self.list_strategies()}
        missing = sorted(set(wanted) - have)
        if missing:
            iteration, player = missing[0]
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise UsageError(
                f"{self.path / 'strategies'} lacks p{player}-{iteration:06d}.safetensors{more}, which the average "
                f"needs: restore it from a copy" + (f", or play {self.path}@{iteration - 1}" if iteration > 1 else "")
            )

    def discard_final_strategy_before(self, iteration: int) -> bool:
        """Removes the last strategy before `iteration` if it was stored only because the run ended there, now that it
        has gone on. Whether it did."""
        earlier = [entry for entry in self.list_strategies() if entry.iteration < iteration]
        if not earlier or not self.load_strategy(earlier[-1].player, earlier[-1].iteration)[1].get("final"):
            return False
        earlier[-1].path.unlink()
        return True

    def discard_strategies_after(self, iteration: int) -> int:
        """Removes strategies later than the checkpoint the run goes on from; the number of them."""
        later = [entry for entry in self._every_strategy() if entry.iteration > iteration]
        for entry in later:
            entry.path.unlink()
        return len(later)


def default_run_dir(preset: str) -> Path:
    """``runs/<preset>-<time>``, not in use yet. In a job of a cluster below ``~/dancfr-runs`` instead: the folder that
    a job is started in goes when it ends."""
    root = Path.home() / "dancfr-runs" if "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ else Path("runs")
    base = root / f"{preset}-{datetime.now():%Y%m%d-%H%M%S}"
    path, number = base, 2
    while path.exists():
        path, number = base.with_name(f"{base.name}-{number}"), number + 1
    return path


def find_runs(preset: str, root: str | os.PathLike[str] = "runs") -> Sequence[Path]:
    """Folders of the runs of `preset` below `root`, oldest first."""
    found = []
    for path in Path(root).glob("*/config.json"):
        try:
            info = _read_info(path.parent)
        except UsageError:
            continue
        if info["preset"] == preset:
            found.append((str(info.get("created", "")), path.parent))
    return [path for _, path in sorted(found)]


def now() -> str:
    """Time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _refuse_content(path: Path) -> None:
    if (path / "config.json").exists():
        raise UsageError(f"{path} already holds a run: go on with --resume, or choose another --run-dir")
    if any(entry.name != "run.lock" for entry in path.iterdir()):
        raise UsageError(f"{path} is not empty: choose another --run-dir")


def _read_info(path: Path) -> dict[str, Any]:
    file = path / "config.json"
    try:
        info = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise UsageError(f"{path} holds no run (there is no {file})") from None
    except OSError as error:
        raise UsageError(f"cannot read {file}: {reason(error)}") from None
    except ValueError:
        raise UsageError(f"{file} is damaged: it is no JSON") from None
    kinds = {"name": str, "preset": str, "method": str, "config": dict}
    fits = isinstance(info, dict) and all(isinstance(info.get(key), kind) for key, kind in kinds.items())
    if not fits or not isinstance(info.get("resumed", []), list):
        raise UsageError(f"{file} is no configuration of a run of dancfr")
    return info


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    with replacing(path) as file:
        file.write(json.dumps(content, indent=2).encode() + b"\n")


def _take_lock(path: Path) -> int:
    """Descriptor that holds the lock; the system gives it back when the process ends, however it ends.

    Raises:
        UsageError: another process holds it.
        OSError: the folder cannot be written.
    """
    descriptor = os.open(path / "run.lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "another process"
        os.close(descriptor)
        raise UsageError(f"{path} is in use by {holder}: wait for it, stop it, or choose another --run-dir") from None
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
    except OSError:  # a full disk: the lock holds all the same, only its note is missing
        pass
    return descriptor
