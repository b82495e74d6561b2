"""Trains whole runs, one after the other or in parallel: complete runs are reused, interrupted runs are resumed."""

import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Concatenate, TypeVar

from actors.pool import ChunkFailed, WorkerPool
from dancfr.agents.by_name import make_agent
from dancfr.errors import RunError, UsageError, names_options, naming_extras, warn
from dancfr.methods import find_preset, method_named
from dancfr.methods.launch import TrainRequest, one_line_errors, train
from dancfr.methods.options import TrainOptions
from dancfr.methods.run_actors import make_runtime
from dancfr.report.history import History
from dancfr.runs import checkpoints
from dancfr.runs.config import apply_overrides, differences, refuse_changes
from dancfr.runs.folder import is_run, refuse_content
from dancfr.runs.keys import settings_of
from dancfr.runs.run import Run

Planned = tuple[Path, str, tuple[str, ...]]
"""A run: its folder, its preset, and the settings in which it differs from the preset."""

W = TypeVar("W")
S = TypeVar("S")


class Stopped(RunError):
    """A training was stopped by a signal; it can be resumed."""


def train_runs(
    plan: Sequence[Planned], options: TrainOptions, parallel: bool = False, wandb: str | None = None
) -> None:
    """Trains the missing and incomplete runs of a plan. Wrong runs are refused before any is trained, which may take
    hours.

    Args:
        plan: The runs.
        options: Where and how to train.
        parallel: Train whole runs in parallel, one per worker; without Ray there is only one worker.
        wandb: Mode of W&B, see `dancfr.methods.launch.TrainRequest`.

    Raises:
        UsageError: a folder holds another run or is not empty, or a setting of a run is wrong.
        RunError: a training failed or was stopped; the same call resumes it.
    """
    check_plan(plan)
    if parallel and not options.inline:
        _train_in_parallel(plan, options, wandb)
    for i, (path, preset, changes) in enumerate(plan):
        if options.progress and not parallel:
            warn(f"{path.name} (run {i + 1} of {len(plan)})")
        train_run(path, preset, changes, options, wandb)


def check_plan(plan: Sequence[Planned]) -> None:
    """Raises UsageError if a run of a plan can be neither started nor continued, as far as that shows before."""
    for path, preset, changes in plan:
        apply_overrides(find_preset(preset).config, changes)
        if is_run(path):
            is_complete(path, preset, changes)
        elif os.path.isdir(path):
            refuse_content(path)
        elif os.path.exists(path):
            raise UsageError(f"{path} is a file: choose another folder")


class RunTrainer:
    """Trains whole runs, their nets on a device; an actor of the worker pool."""

    def __init__(self, device: str) -> None:
        self._device = device

    def train(
        self, path: str, preset: str, overrides: Sequence[str], wandb: str | None, tensorboard: bool
    ) -> tuple[str, None]:
        """Trains a run to its end, see `train_run`."""
        options = TrainOptions(
            device=self._device,
            inline=True,
            progress=False,
            notes=False,
            tensorboard=tensorboard,
            make_agent=make_agent,
        )
        train_run(Path(path), preset, overrides, options, wandb)
        return path, None


def _train_in_parallel(plan: Sequence[Planned], options: TrainOptions, wandb: str | None) -> None:
    """Trains the incomplete runs of a plan in parallel, one run per worker at a time.

    Raises:
        RunError: a training failed; the same command resumes it.
    """
    missing = [each for each in plan if not (is_run(each[0]) and is_complete(*each))]
    if len(missing) < 2:
        return
    more = wandb, options.tensorboard
    if options.progress:
        folder = os.path.commonpath([path.parent for path, _, _ in missing])
        told = f"`dancfr status {shlex.quote(folder)} --watch 5` shows how far they are"
        warn(f"{len(missing)} runs to train, {options.workers or 'as many as CPUs'} at the same time: {told}")
    tasks = [(str(path.resolve()), preset, changes, *more) for path, preset, changes in missing]
    for i, path in enumerate(in_parallel(RunTrainer, RunTrainer.train, tasks, len(tasks), options)):
        if options.progress:
            warn(f"{Path(path).name} (run {i + 1} of {len(missing)})")


def in_parallel(
    kind: Callable[[str], W],
    method: Callable[Concatenate[W, ...], tuple[S, Any]],
    tasks: Iterable[tuple[Any, ...]],
    most: int,
    options: TrainOptions,
) -> Iterator[S]:
    """Yields the results of whole trainings, one per worker at a time; the workers share the GPUs there are.

    Args:
        kind: Makes a worker from the device of its nets.
        method: Method of the workers that trains.
        tasks: Its arguments, drawn as workers become free.
        most: Number of tasks at most.
        options: Where to train.

    Raises:
        UsageError: there are fewer CPUs than workers, or no GPU although the options ask for one.
        RunError: a training failed, no worker could be started, or there is no Ray.
    """
    with naming_extras(), one_line_errors():
        runtime = make_runtime(options)
        try:
            if options.device == "cuda" and not runtime.gpus:
                raise UsageError("Ray has no GPU for --device cuda: add a machine that has one, or use --device cpu")
            size = min(runtime.workers, most)
            gpus = 0.0 if options.device == "cpu" else min(runtime.gpus / size, 1.0)
            device = "cuda" if gpus else "cpu"
            pool = WorkerPool(runtime, kind, (device,), size, gpus=gpus, depth=1, deadline_s=None, max_failures=1)
            for _, result, _ in pool.run(method, tasks):
                yield result
        except ChunkFailed as error:
            raise RunError(f"a training failed: {error}") from error
        finally:
            runtime.shutdown()


def train_run(
    path: Path, preset: str, overrides: Sequence[str], options: TrainOptions, wandb: str | None = None
) -> None:
    """Trains the run at `path` to its end; starts or resumes it if it is not complete.

    Deletes the checkpoints of the complete run, each of which holds gigabytes of buffers at the papers' sizes.
    Strategies and the record are kept.

    Raises:
        UsageError: the folder holds another run.
        RunError: the training failed or was stopped.
    """
    resume = is_run(path)
    if not (resume and is_complete(path, preset, overrides)):
        # A run keeps what it was started with, such as its iterations, unless it is told otherwise.
        told = (*overrides, *_resumed_with(path, preset, overrides)) if resume else overrides
        result = train(TrainRequest(preset, told, path, wandb, replace(options, resume=resume)))
        if result["stopped"]:
            again = "the same command" if names_options() else "the same call"
            raise Stopped(f"stopped in {path}; {again} continues from its last checkpoint")
    _remove_checkpoints(path)


def _resumed_with(path: Path, preset: str, overrides: Sequence[str]) -> list[str]:
    """The settings that a run has from its start and that differ from those wanted, as wanted."""
    wanted: Any = apply_overrides(find_preset(preset).config, overrides)
    stored = Run.open(path).config_as(type(wanted))
    return [text for key, (_, now) in differences(stored, wanted).items() for text in settings_of(key, now)]


def _remove_checkpoints(path: Path) -> None:
    """Deletes the checkpoints of a complete run.

    They leave their place in one step, since with a part of them, after an interruption, the run would start over or
    could not be continued.
    """
    removed = path / "checkpoints-removed"
    shutil.rmtree(removed, ignore_errors=True)
    with suppress(OSError):
        (path / "checkpoints").rename(removed)
    shutil.rmtree(removed, ignore_errors=True)


def is_complete(path: Path, preset: str, overrides: Sequence[str]) -> bool:
    """Returns whether the run at `path` has reached its number of iterations, its time limit or its samples.

    Raises:
        UsageError: the run has another preset or other settings.
    """
    run = Run.open(path)
    if run.preset != preset:
        raise UsageError(f"{path} holds a run of {run.preset}, not of {preset}: choose another folder")
    run.require_game()
    wanted: Any = apply_overrides(find_preset(preset).config, overrides)
    stored = run.config_as(type(wanted))
    refuse_changes(stored, wanted, allowing=False)
    if not checkpoints.were_removed(run):
        return False
    history = History.read(path)
    done, over = history.iterations, wanted.minutes is not None and history.seconds >= 60 * wanted.minutes
    if wanted.samples is not None:
        _, samples = history.metric(method_named(run.method).samples)
        over = over or (len(samples) > 0 and samples[-1] >= wanted.samples)
    if done < wanted.iterations and not over:
        ended = f"{path} ended after {done} iterations"
        if done < stored.iterations and stored.minutes is None and stored.samples is None:  # a part was removed
            raise UsageError(
                f"{ended} of {stored.iterations} by its record, and has no checkpoints to continue from: restore them "
                "from a copy, remove the folder to train it again, or choose another folder"
            )
        raise UsageError(f"{ended}, as configured: choose another folder for more")
    return True
