"""Starts and resumes training runs: validates a request completely, then runs the method's driver."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dancfr.errors import DancfrError, RunError, UsageError, naming_extras, warn
from dancfr.games.registry import make_game
from dancfr.methods import Method, Preset, find_preset, method_of
from dancfr.methods.options import TrainOptions, check_place, joins_cluster, resolve_device
from dancfr.methods.settings import RunConfig, obstacle_to_tree
from dancfr.methods.stopping import catching
from dancfr.runs import checkpoints
from dancfr.runs.config import Config, apply_overrides, is_among, more
from dancfr.runs.folder import default_run_dir, find_runs
from dancfr.runs.run import Run
from dancfr.values import split_settings
from dancfr.watch.tracking import Tracker, choose_mode

EXACT = "evaluation.exploitability"


@dataclass(frozen=True)
class TrainRequest:
    """Arguments of a training, as given to `dancfr train`.

    Attributes:
        preset: Name of a preset.
        overrides: ``key=value`` settings that differ from the preset.
        run_dir: Folder of the run; None creates ``runs/<preset>-<time>``, with another game
            ``runs/<preset>-<game>-<time>``.
        wandb: W&B mode: ``online``, ``offline`` or ``off``; None: ``online`` if a key is configured.
        options: Options outside the configuration; `device` may be ``auto``.
        allow_changes: Allow a resumed run to continue with settings that differ from those it was started with.
        base: Configuration that replaces the preset's.
    """

    preset: str
    overrides: Sequence[str] = ()
    run_dir: Path | None = None
    wandb: str | None = None
    options: TrainOptions = TrainOptions()  # noqa: RUF009 (frozen)
    allow_changes: bool = False
    base: RunConfig | None = None


def train(request: TrainRequest) -> dict[str, Any]:
    """Starts or resumes a training; returns the driver's result together with `run_dir` and `stopped`.

    Raises:
        UsageError: the request is not valid; no run was created or changed.
        RunError: the training failed; its last checkpoint is intact.
    """
    preset = find_preset(request.preset)
    method = method_of(preset)
    if request.allow_changes and not request.options.resume:
        raise UsageError("--allow-changes applies to resumed runs only: add --resume or leave out --allow-changes")
    # Validate the configuration first, since checking the options imports torch.
    fresh = None if request.options.resume else _configured(request.base or preset.config, request)
    options = check_options(request.options)
    mode = choose_mode(request.wandb)
    if options.tensorboard:
        with naming_extras():
            import tensorboard  # noqa: F401 (a process of its own uses it)
    if fresh is not None and options.notes:
        note_other_game(request.base or preset.config, fresh, request.overrides)
    with catching() as stop:
        run, config = _resume(request, preset, method) if fresh is None else _start(request, preset, method, fresh)
        with (
            _aborting(run),
            run,
            one_line_errors(),
            _fresh_start(run, options.resume),
            Tracker(run, mode, method.speed, options.tensorboard, options.on_row, method.plies) as tracker,
        ):
            result = method.train(run, config, tracker, options)
    return {"run_dir": str(run.path), **result, "stopped": stop.requested}


def check_options(options: TrainOptions) -> TrainOptions:
    """Validates the options, and resolves the device ``auto`` unless each machine of a cluster chooses its own.

    Raises:
        UsageError: see `check_place`, or the device is not available.
    """
    check_place(options)
    return options if joins_cluster(options) else replace(options, device=resolve_device(options.device))


def _configured(base: Config, request: TrainRequest) -> Config:
    config = apply_overrides(base, request.overrides)
    config.check()
    return config


def note_other_game(base: Config, config: Config, overrides: Sequence[str]) -> None:
    """Reports the settings that a configuration loses where `game=` names another game than its own."""
    if not isinstance(base, RunConfig) or not isinstance(config, RunConfig) or base.game == config.game:
        return
    left_out = f"game={config.game}: options, curriculum and opponents of {base.game} are left out"
    chosen = EXACT in split_settings(overrides)
    exact = None if chosen else getattr(base.evaluation, "exploitability", None)
    obstacle = "" if exact is None else obstacle_to_tree(make_game(config.game, **config.game_options))
    if exact:
        why = f"since {obstacle}" if obstacle else f"which may take long in another game; {EXACT}=true asks for it"
        left_out = f"{left_out}, and so is {EXACT}, {why}"
    elif exact is False and not obstacle:
        left_out = f"{left_out}; for exact NashConv along the run, add {EXACT}=true"
    warn(left_out)


def _start(request: TrainRequest, preset: Preset, method: Method, config: Config) -> tuple[Run, Config]:
    path = request.run_dir or default_run_dir(preset.name, request.overrides)
    return Run.create(path, preset.name, method.name, config), config


def _resume(request: TrainRequest, preset: Preset, method: Method) -> tuple[Run, Config]:
    """Opens a run and applies the overrides of the request to the configuration that it was started with."""
    if request.run_dir is None:
        known = find_runs(preset.name)
        newest = f"; the newest run of {preset.name} is {known[-1]}" if known else ""
        raise UsageError(f"--resume requires --run-dir{newest}")
    run = Run.open(request.run_dir, writing=True)
    try:
        run.require(preset.name, method.name)
        stored = run.config_as(method.config)
        edits = checkpoints.edits(run, stored)
        if not request.allow_changes:
            _refuse_edits(run, edits, stored.resumable)
        config = _configured(stored, request)
        run.resume_as(preset.name, method.name, config, request.allow_changes, list(edits.values()))
    except BaseException:
        run.close()
        raise
    return run, config


def _refuse_edits(run: Run, edits: Mapping[str, str], allowed: frozenset[str]) -> None:
    """Raises UsageError if config.json was edited where a resumed run must not change."""
    edited = [line for key, line in edits.items() if not is_among(key, allowed)]
    if edited:
        raise UsageError(
            f"{run.path / 'config.json'} has been edited since the newest checkpoint: {edited[0]}"
            f"{more(len(edited) - 1)}; undo this, start a new run, or add --allow-changes"
        )


@contextmanager
def _aborting(run: Run) -> Iterator[None]:
    """Reports where a run can be resumed after a second signal has aborted it."""
    try:
        yield
    except KeyboardInterrupt:
        saved = checkpoints.listed(run)
        where = f"after iteration {saved[-1].iteration}" if saved else "from its start: it has no checkpoint yet"
        warn(f"{run.path} can be resumed {where}")
        raise


@contextmanager
def _fresh_start(run: Run, resumed: bool) -> Iterator[None]:
    """Removes the folder of a new run that fails before it has stored a row, a strategy or a sample."""
    try:
        yield
    except Exception:
        if not (resumed or run.is_taken() or run.read_metrics() or run.list_strategies() or run.has_samples()):
            run.close()
            shutil.rmtree(os.path.realpath(run.path), ignore_errors=True)  # not a link to it
        raise


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Converts errors of `actors` and `learners` that the user can act on into one-line errors of the command line."""
    from actors.cluster import RayUnavailable
    from actors.explained import Explained
    from actors.pool import ChunkFailed, StartFailed
    from actors.runtime import BlockLost, RayLost, RemoteError, ResourcesMissing, WorkerDied
    from envs.game import ReturnTooLarge
    from learners.devices import DeviceMissing
    from learners.storage import DamagedFile, ForeignState
    from learners.training import TrainingDiverged

    try:
        yield
    except ForeignState as error:
        raise UsageError(
            f"the checkpoint does not match the settings: {error}; leave out the changes, or restore the original of "
            "config.json or of the checkpoint"
        ) from error
    except MemoryError as error:
        raise RunError(f"not enough memory ({error}): lower the capacities of buffers or the batch sizes") from error
    except (ResourcesMissing, DeviceMissing) as error:
        raise UsageError(str(error)) from error
    except (Explained, ChunkFailed, StartFailed) as error:
        cause = error if isinstance(error, Explained) else error.__cause__
        if isinstance(cause, DancfrError):  # such as an illegal action of an agent
            raise cause from None
        known = isinstance(cause, Explained | TrainingDiverged | ReturnTooLarge)
        kind = UsageError if isinstance(cause, Explained) and cause.wrong_use else RunError
        raise kind(str(cause if known else error)) from error
    except (RayUnavailable, RayLost, WorkerDied, BlockLost, RemoteError) as error:
        raise RunError(str(error)) from error
    except (DamagedFile, TrainingDiverged, ReturnTooLarge) as error:
        raise RunError(str(error)) from error
