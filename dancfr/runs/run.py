"""The folder of a run: configuration, metrics, strategies and lock.

    runs/<name>/config.json              the configuration, and the code that trained it
                metrics.jsonl            the record, one row a line
                checkpoints/000040/      see dancfr.runs.checkpoints
                strategies/p0-000040.safetensors, and average-p0-000040.safetensors where a net plays the average
                run.lock                 locked by the process that trains the run
                step.json                see dancfr.runs.step

Only JSON and safetensors files with these names are ever read.
"""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from dancfr.errors import RunError, UsageError, cannot_write, reason, warn
from dancfr.runs.config import AnyConfig, Config, describe_differences, refuse_changes
from dancfr.runs.folder import (
    FOLDERS,
    now,
    read_info,
    refuse_content,
    refuse_old,
    refuse_other_game,
    refuse_packed,
    version_of_game,
    write_json,
)
from dancfr.runs.identity import copied, home_of, new_identity
from dancfr.runs.lock import LOCK, Lock, take_lock
from dancfr.runs.metrics import MetricsLog
from dancfr.runs.provenance import provenance
from learners.storage import DamagedFile, is_incomplete, load_state, save_state, widened

_STRATEGY = re.compile(r"(average-)?p(\d+)-(\d{6,})\.safetensors")


@dataclass(frozen=True, order=True)
class StrategyFile:
    """The file of a stored strategy: that of `player` after `iteration`.

    Attributes:
        average: Whether it is the average over all iterations instead of the strategy of that iteration.
    """

    iteration: int
    player: int
    path: Path
    average: bool = False


class Run:
    """A run. `create` and `open(writing=True)` lock its folder until `close`, or the end of a `with` block.

    Attributes:
        path: The folder.
        info: Content of config.json: name, id, home, preset, method, config, created, and the result of `provenance`;
            the version of its game; the origin of a copy.
        metrics: The record.
    """

    def __init__(self, path: Path, info: dict[str, Any], lock: Lock | None) -> None:
        self.path = path
        self.info = info
        self.metrics = MetricsLog(path / "metrics.jsonl")
        self._confirmed: dict[str, Any] | None = None
        self._lock = lock

    @classmethod
    def create(cls, path: str | os.PathLike[str], preset: str, method: str, config: Config) -> Self:
        """Starts a run in a new or empty folder and locks it.

        Raises:
            UsageError: the folder is not empty, is in use, or cannot be written.
        """
        path = Path(path)
        try:
            if path.exists() and not path.is_dir():
                raise UsageError(f"{path} is a file: choose another folder")
            Path(os.path.realpath(path)).mkdir(parents=True, exist_ok=True)  # a link may lead to a folder still to be
            if not (path / LOCK).exists():
                refuse_content(path)
            lock = take_lock(path)
        except OSError as error:
            raise UsageError(f"cannot write to the run folder {path}: {reason(error)}") from error
        try:
            refuse_content(path)
            settings = config.model_dump(mode="json")
            version = version_of_game(settings)
            info = {
                **new_identity(path),
                "preset": preset,
                "method": method,
                "created": now(),
                **provenance(),
                **({} if version is None else {"game_version": version}),
                "config": settings,
            }
            for entry in [each for each in path.iterdir() if is_incomplete(each.name)]:  # of a start that was killed
                entry.unlink()
            for folder in FOLDERS:  # before config.json, which makes the folder a run: one without them was complete
                (path / folder).mkdir(exist_ok=True)
            write_json(path / "config.json", info)
        except BaseException as error:
            lock.release()
            if isinstance(error, OSError):
                raise RunError(f"cannot start a run in {path}: {reason(error)}") from None
            raise
        return cls(path, info, lock)

    @classmethod
    def open(cls, path: str | os.PathLike[str], writing: bool = False) -> Self:
        """Opens an existing run, to read it or (`writing`, which locks it) to resume it.

        Raises:
            UsageError: there is no run, its config.json is damaged, another process trains it, or it is to be resumed
                and is a packed agent, or was started by a version of dancfr that is too old, or on another version of
                its game.
        """
        path = Path(path)
        info = read_info(path)
        lock = None
        if writing:
            refuse_packed(path)
            refuse_old(path, info)
            refuse_other_game(path, info)
            for folder in FOLDERS:
                if (path / folder).exists() and not (path / folder).is_dir():
                    raise UsageError(f"{path / folder} is a file where a folder belongs: move it away")
            try:
                lock = take_lock(path)
            except OSError as error:
                raise UsageError(f"cannot write to the run folder {path}: {reason(error)}") from error
        return cls(path, info, lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Writes the waiting rows of the record and unlocks the folder."""
        if self._lock is not None:
            self.flush_metrics()
            self._lock.release()
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
        """Returns the run's configuration as an instance of `kind`.

        Raises:
            UsageError: the configuration belongs to another method or to another version of dancfr.
        """
        refuse_old(self.path, self.info)
        return kind.from_json(self.info.get("config"), str(self.path / "config.json"))

    def require_game(self) -> None:
        """Raises UsageError if the run is of another version of its game, and therefore cannot play."""
        refuse_other_game(self.path, self.info)

    def require(self, preset: str, method: str) -> None:
        """Raises UsageError if the run has another preset or method."""
        if (preset, method) != (self.preset, self.method):
            response = self.method == "best-response"
            cure = f"dancfr exploit AGENT --out {self.path} --resume" if response else f"resume it as {self.preset}"
            raise UsageError(
                f"{self.path} holds a run of {self.preset} ({self.method}), not of {preset} ({method}): "
                f"{cure}, or choose another folder"
            )

    def resume_as(
        self, preset: str, method: str, config: Config, allow_changes: bool = False, edits: Sequence[str] = ()
    ) -> None:
        """Checks that the run can be resumed under `config`. Nothing is written before `confirm_resume`, except that a
        copy of a run becomes a run of its own, with a line on standard error.

        Args:
            preset: Name of the preset.
            method: Name of the method.
            config: The configuration to continue with.
            allow_changes: Allow all settings to differ, not only `Config.resumable`.
            edits: Changes that were made in config.json itself, for the note of what has changed.

        Raises:
            UsageError: the run has another preset or method, or a setting differs that must not change.
        """
        self.require(preset, method)
        old = self.config_as(type(config))
        if not allow_changes:
            refuse_changes(old, config)
        self._part_from_origin()
        entry = {"time": now(), "changes": [*edits, *describe_differences(old, config)], **provenance()}
        self._confirmed = {
            **self.info,
            "home": home_of(self.path),
            "config": config.model_dump(mode="json"),
            "resumed": [*self.info.get("resumed", []), entry],
        }

    def _part_from_origin(self) -> None:
        changes = copied(self.path, self.info)
        if changes is None:
            return
        self.info = {**self.info, **changes}
        try:
            write_json(self.path / "config.json", self.info)
            (self.path / "wandb.json").unlink(missing_ok=True)  # the id of the origin's W&B run
        except OSError as error:
            raise UsageError(f"cannot write to the run folder {self.path}: {reason(error)}") from None
        warn(f"{self.path} is a copy of {changes['origin']['path']}: it continues as a run of its own")

    def confirm_resume(self) -> None:
        """Writes the configuration of `resume_as` and its changes to config.json. Call it when the checkpoint has been
        loaded successfully."""
        if self._confirmed is None:
            return
        self.info, self._confirmed = self._confirmed, None
        try:
            write_json(self.path / "config.json", self.info)
        except OSError as error:
            raise RunError(f"cannot write {self.path / 'config.json'}: {reason(error)}") from None

    def is_taken(self) -> bool:
        """Whether another training has locked the folder, since this one's folder or lock was moved or removed."""
        try:
            found = (self.path / LOCK).stat()
        except OSError:
            return False
        return self._lock is not None and not os.path.samestat(found, os.fstat(self._lock.descriptor))

    def require_lock(self) -> None:
        """Raises RunError if another training has locked the folder."""
        if self.is_taken():
            raise RunError(
                f"{self.path} now holds another training: the folder of this one, or its run.lock, was moved or "
                "removed; wherever it is now, it can be resumed with --resume"
            )

    # Metrics

    def append_metrics(self, row: Mapping[str, Any]) -> None:
        """Adds a row to the record; a full disk only delays it, see `MetricsLog.append`."""
        self.require_lock()
        self.metrics.append(row)

    def flush_metrics(self) -> None:
        """Writes the waiting rows, unless another training has locked the folder, whose record it now is."""
        if not self.is_taken():
            self.metrics.flush()

    def read_metrics(self, kind: str | None = None) -> list[dict[str, Any]]:
        """All rows of the record, or those of one `kind`, without torn lines.

        Raises:
            UsageError: the record cannot be read.
        """
        try:
            return self.metrics.rows(kind)
        except OSError as error:
            raise UsageError(f"cannot read {self.metrics.path}: {reason(error)}") from None

    def truncate_metrics(self, iteration: int, finals: bool = True) -> int:
        """Drops the rows after `iteration` and returns their number, see `MetricsLog.truncate`."""
        self.require_lock()
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
        """Stores the strategy of `player` after `iteration`, or the `average` strategy so far.

        Raises:
            RunError: the file could not be written; an earlier file of that name is unchanged.
        """
        path = self._strategy_path(player, iteration, average)
        self.require_lock()
        try:
            path.parent.mkdir(exist_ok=True)
            save_state(path, arrays, {**meta, "player": player, "iteration": iteration})
        except OSError as error:
            raise RunError(cannot_write(path, error)) from None
        return path

    def _strategy_path(self, player: int, iteration: int, average: bool) -> Path:
        return self.path / "strategies" / f"{'average-' if average else ''}p{player}-{iteration:06d}.safetensors"

    def list_strategies(self, player: int | None = None, average: bool | None = False) -> list[StrategyFile]:
        """Stored strategies by iteration, of one player or all: those of iterations, the `average` ones, or (None)
        both."""
        folder = self.path / "strategies"
        names = [(path, _STRATEGY.fullmatch(path.name)) for path in (folder.iterdir() if folder.is_dir() else ())]
        found = [StrategyFile(int(name[3]), int(name[2]), path, name[1] is not None) for path, name in names if name]
        return sorted(each for each in found if average in (None, each.average) and player in (None, each.player))

    def has_samples(self) -> bool:
        """Whether the folder holds solved samples, which a resumed run uses again (shards of `data/`)."""
        return any((self.path / "data").glob("shard-*"))

    def load_strategy(
        self, player: int, iteration: int, average: bool = False
    ) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Arrays and metadata of a stored strategy; half precision, which `dancfr pack` uses, becomes float32.

        Raises:
            UsageError: no strategy of that player and iteration is stored, or its file is damaged or another's.
        """
        path = self._strategy_path(player, iteration, average)
        cure = f"restore it from a copy, or play an earlier iteration as {self.path}@N"
        try:
            arrays, meta = load_state(path)
        except FileNotFoundError:
            have = [entry.iteration for entry in self.list_strategies(player, average)]
            known = f"it has {have[0]} to {have[-1]}" if have else "nothing is stored yet"
            raise UsageError(
                f"{self.path} has no strategy of player {player} at iteration {iteration}; {known}"
            ) from None
        except DamagedFile as error:
            raise UsageError(f"{error}; {cure}") from None
        if (meta.get("player"), meta.get("iteration")) != (player, iteration):
            raise UsageError(
                f"{path} contains player {meta.get('player')} at iteration {meta.get('iteration')}; {cure}"
            )
        return widened(arrays), meta

    def require_strategies(self, wanted: Collection[tuple[int, int]]) -> None:
        """Raises UsageError if a strategy of the (iteration, player) pairs is missing: an average needs all of them."""
        have = {(file.iteration, file.player) for file in self.list_strategies()}
        missing = sorted(set(wanted) - have)
        if missing:
            iteration, player = missing[0]
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise UsageError(
                f"{self.path / 'strategies'} lacks p{player}-{iteration:06d}.safetensors{more}, which the average "
                f"needs: restore it from a copy" + (f", or play {self.path}@{iteration - 1}" if iteration > 1 else "")
            )

    def discard_final_strategy_before(self, iteration: int, player: int | None = None, average: bool = False) -> bool:
        """Removes the last strategy before `iteration` if it was stored only because the run had ended there.

        Args:
            iteration: The iteration.
            player, average: Which strategies count, see `list_strategies`.

        Returns:
            Whether there was one; a file that cannot be read stays, since it does not say what it was stored for.
        """
        earlier = [entry for entry in self.list_strategies(player, average) if entry.iteration < iteration]
        if not earlier:
            return False
        try:
            _, about = self.load_strategy(earlier[-1].player, earlier[-1].iteration, average)
        except (OSError, UsageError):
            return False
        if about.get("final"):
            earlier[-1].path.unlink()
        return bool(about.get("final"))

    def discard_strategies_after(self, iteration: int) -> int:
        """Removes the strategies after `iteration`, where the run continues, and returns their number."""
        later = [entry for entry in self.list_strategies(average=None) if entry.iteration > iteration]
        for entry in later:
            entry.path.unlink()
        return len(later)
