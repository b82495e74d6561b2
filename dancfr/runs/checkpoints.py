"""Checkpoints: written aside, checksummed and renamed. A run resumes from the newest intact one.

checkpoints/000040/manifest.json     size and CRC-32 of every other file, the configuration, and the CRC-32 of all this
                   ...               the files of the driver
checkpoints/000060.partial/          was being written when the process was killed: ignored, later removed
checkpoints/000060.damaged/          was skipped when the run was resumed; removed with the next checkpoint
"""

import json
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dancfr.errors import RunError, UsageError, reason, warn
from dancfr.runs.config import AnyConfig, describe_differences, differences
from dancfr.runs.folder import now
from dancfr.runs.renamed import with_current_names
from dancfr.runs.run import Run
from learners.storage import sync

_NAME = re.compile(r"\d{6,}")
_BLOCK = 4 << 20

KEPT = 2
"""Number of checkpoints of a run."""

_UNSEALED = {"iteration", "written", "config", "resumed", "files"}
"""Entries of the manifests of dancfr 0.2, which have no checksum of their own."""


class CheckpointFailed(RunError):
    """A checkpoint could not be written. Earlier ones are intact; training may continue and try again later."""


@dataclass(frozen=True, order=True)
class Checkpoint:
    """The folder that holds the state of a run after an iteration."""

    iteration: int
    folder: Path


@contextmanager
def writing(run: Run, iteration: int) -> Iterator[Path]:
    """A folder for the files of the state after `iteration`; it becomes a checkpoint when the block ends.

    Args:
        run: The run, locked by this process.
        iteration: Iterations done.

    Raises:
        CheckpointFailed: a file could not be written, on a full disk for instance. Earlier checkpoints are unchanged,
            and the incomplete one is removed.
    """
    root = run.path / "checkpoints"
    final = root / f"{iteration:06d}"
    partial = root / f"{final.name}.partial"
    run.require_lock()
    try:
        root.mkdir(exist_ok=True)
        remove_partial(run)
        partial.mkdir()
        yield partial
        _seal(run, partial, iteration)
        _move(partial, final)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        kept = listed(run)
        state = f"the one of iteration {kept[-1].iteration} is intact" if kept else "no earlier one exists"
        gone = ": the run's folder was removed, or a machine with actors does not share it"
        cause = f"{reason(error)}{gone if isinstance(error, FileNotFoundError) else ''}"
        raise CheckpointFailed(
            f"cannot write the checkpoint of iteration {iteration} in {root}: {cause}; {state}"
        ) from None
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    _prune(run, iteration)


def were_removed(run: Run) -> bool:
    """Returns whether the run has no place for checkpoints, as complete runs of a plan (`dancfr.trainings`)."""
    return not (run.path / "checkpoints").is_dir()


def listed(run: Run) -> list[Checkpoint]:
    """All complete checkpoints, oldest first, without comparing checksums."""
    root = run.path / "checkpoints"
    folders = root.iterdir() if root.is_dir() else iter(())
    return sorted(Checkpoint(int(f.name), f) for f in folders if _NAME.fullmatch(f.name) and f.is_dir())


def latest(run: Run) -> Checkpoint | None:
    """The newest intact checkpoint; None if the run has no checkpoint at all.

    A damaged checkpoint is skipped with a warning on standard error, and renamed, so that it does not count as one of
    those that are kept. The caller must have locked the run.

    Raises:
        UsageError: every checkpoint is damaged; to start over would lose the run.
    """
    problems: list[str] = []
    damaged: list[Checkpoint] = []
    for checkpoint in reversed(listed(run)):
        problem = find_damage(checkpoint)
        if problem is None:
            _set_aside(damaged)
            return checkpoint
        problems.append(problem)
        damaged.append(checkpoint)
        warn(f"WARNING: {problem}; falling back to the checkpoint before it")
    if problems:
        raise UsageError(
            f"every checkpoint of {run.path} is damaged ({problems[0]}); not starting over: restore "
            f"{run.path / 'checkpoints'} from a copy, or train into another folder"
        )
    return None


def _set_aside(damaged: list[Checkpoint]) -> None:
    for checkpoint in damaged:
        try:
            checkpoint.folder.rename(checkpoint.folder.with_name(f"{checkpoint.folder.name}.damaged"))
        except OSError as error:
            warn(f"warning: cannot set {checkpoint.folder} aside: {reason(error)}")


def find_damage(checkpoint: Checkpoint) -> str | None:
    """The damage of a checkpoint in one line, None if it is intact. Reads each of its files once."""
    folder = checkpoint.folder
    try:
        manifest = _read_manifest(folder)
        if manifest["iteration"] != checkpoint.iteration:
            return f"{folder} is damaged: its manifest says iteration {manifest['iteration']}"
        for name, wanted in manifest["files"].items():
            path = folder / name
            if path.stat().st_size != wanted["size"]:
                return f"{path} is damaged: {path.stat().st_size} bytes instead of {wanted['size']}"
            if _checksum(path) != wanted["crc32"]:
                return f"{path} is damaged: its content has changed since it was written"
    except FileNotFoundError as error:
        return f"{error.filename} is missing"
    except OSError as error:
        return f"{error.filename or folder} cannot be read: {reason(error)}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"{folder / 'manifest.json'} is damaged"
    return None


def edits(run: Run, config: AnyConfig) -> dict[str, str]:
    """The keys of config.json that were edited by hand since the newest checkpoint, each with a line of its values.

    Args:
        run: The run.
        config: The configuration in config.json.
    """
    for checkpoint in reversed(listed(run)):
        file = checkpoint.folder / "manifest.json"
        try:
            manifest = _read_manifest(checkpoint.folder)
            then = with_current_names({**run.info, "config": manifest["config"]})["config"]
            known = type(config).from_json(then, str(file), ignore_unknown=True)
            later = run.info.get("resumed", [])[manifest["resumed"] :]
            noted = _noted(later)
        except (OSError, ValueError, KeyError, TypeError, UsageError):  # damaged, or of a version that stored none
            continue
        lines = zip(differences(known, config), describe_differences(known, config), strict=True)
        return {key: line for key, line in lines if key not in noted}
    return {}


def changed(run: Run, config: AnyConfig) -> set[str]:
    """The keys that have changed since the run was started: whenever it was resumed, and by hand, see `edits`."""
    return _noted(run.info.get("resumed", [])) | edits(run, config).keys()


def _noted(entries: Iterable[Mapping[str, Any]]) -> set[str]:
    """The keys in the notes of changes that a resumed run keeps."""
    return {line.partition(":")[0] for entry in entries for line in entry.get("changes", ())}


def seal(manifest: dict[str, Any]) -> dict[str, Any]:
    """A manifest with the CRC-32 of its other entries, as JSON with sorted keys."""
    content = {key: value for key, value in manifest.items() if key != "crc32"}
    return {**content, "crc32": f"{zlib.crc32(json.dumps(content, sort_keys=True).encode()):08x}"}


def _read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a checkpoint.

    Raises:
        OSError: It cannot be read.
        ValueError: It is damaged.
    """
    manifest = json.loads((folder / "manifest.json").read_bytes())
    if not isinstance(manifest, dict) or (seal(manifest) != manifest and not _UNSEALED.issuperset(manifest)):
        raise ValueError("its content has changed since it was written")
    return manifest


def remove_partial(run: Run) -> None:
    """Removes incomplete checkpoints of killed processes. The caller must have locked the run."""
    root = run.path / "checkpoints"
    for leftover in root.glob("*.partial") if root.is_dir() else ():
        shutil.rmtree(leftover, ignore_errors=True)


def _remove_damaged(root: Path) -> None:
    for folder in root.glob("*.damaged"):
        shutil.rmtree(folder, ignore_errors=True)


def _seal(run: Run, folder: Path, iteration: int) -> None:
    """Writes the manifest, and waits until every byte is on the disk."""
    files: dict[str, Any] = {}
    folders = [folder]
    for path in sorted(folder.rglob("*")):
        if path.is_dir():
            folders.append(path)
            continue
        files[path.relative_to(folder).as_posix()] = {"size": path.stat().st_size, "crc32": _checksum(path)}
        sync(path)
    manifest = folder / "manifest.json"
    under = {"config": run.info["config"], "resumed": len(run.info.get("resumed", []))}
    content = {"iteration": iteration, "written": now(), **under, "files": files}
    manifest.write_text(json.dumps(seal(content), indent=1) + "\n")
    sync(manifest)
    for inner in folders:
        sync(inner)


def _move(partial: Path, final: Path) -> None:
    """Renames the folder, in exchange for a checkpoint of the same iteration, which a resumed run may write again."""
    if final.exists():
        replaced = final.with_name(f"{final.name}.replaced.partial")
        final.rename(replaced)
        try:
            partial.rename(final)
        except OSError:
            replaced.rename(final)
            raise
        shutil.rmtree(replaced, ignore_errors=True)
    else:
        partial.rename(final)
    sync(final.parent)


def _prune(run: Run, iteration: int) -> None:
    """Removes all but the newest `KEPT` checkpoints, and those after `iteration`, which the run has skipped."""
    _remove_damaged(run.path / "checkpoints")
    checkpoints = listed(run)
    past = [checkpoint for checkpoint in checkpoints if checkpoint.iteration <= iteration]
    future = [checkpoint for checkpoint in checkpoints if checkpoint.iteration > iteration]
    for checkpoint in [*past[:-KEPT], *future]:
        try:
            shutil.rmtree(checkpoint.folder)
        except OSError as error:
            warn(f"warning: cannot remove {checkpoint.folder}: {reason(error)}")


def _checksum(path: Path) -> str:
    """CRC-32 of a file, read in blocks: several times as fast as a cryptographic digest."""
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            checksum = zlib.crc32(block, checksum)
    return f"{checksum:08x}"


@contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Converts errors of the block, which reads the saved state of a driver, into a UsageError."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        cause = f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}"
        raise UsageError(
            f"{folder / 'driver.json'} is damaged ({cause}): restore {folder} from a copy, or move it away to resume "
            "from the checkpoint before it"
        ) from error
