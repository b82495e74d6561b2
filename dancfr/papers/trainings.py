"""Defines experiments of papers and trains their runs.

Complete runs in the output folder are reused, interrupted runs are resumed, and only missing runs are started.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from actors.pool import ChunkFailed, WorkerPool
from dancfr.errors import RunError, UsageError, warn
from dancfr.methods import find_preset, method_named
from dancfr.methods.launch import TrainRequest, train
from dancfr.methods.options import TrainOptions
from dancfr.methods.run_actors import make_runtime
from dancfr.report.history import History, Settings
from dancfr.report.plots import Plot
from dancfr.report.report import Table
from dancfr.runs.config import apply_overrides, flatten, refuse_changes
from dancfr.runs.run import Run
from dancfr.values import show

Row = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """One of the settings that an experiment trains and compares.

    Attributes:
        name: Name in the paper and in figures.
        preset: Name of the preset to train.
        overrides: ``key=value`` settings that differ from the preset.
        folder: Prefix of the folders of its runs; empty: the name of the preset.
    """

    name: str
    preset: str
    overrides: tuple[str, ...] = ()
    folder: str = ""

    def path(self, out: Path, seed: int) -> Path:
        """Returns the folder of the run with a seed."""
        return out / f"{self.folder or self.preset}-seed{seed}"


@dataclass(frozen=True)
class Scale:
    """The size at which an experiment is repeated.

    Attributes:
        settings: Settings to train.
        seeds: Seeds of the runs of each setting.
        overrides: ``key=value`` settings of all runs.
        note: Differences from the paper, added to every row of the comparison.
        games: Games per match between trained agents, for experiments with matches.
        checkpoints: Number of checkpoints of a run that play such matches, for learning curves.
        fixed: Keys, or prefixes of keys, that define the experiment and cannot be overridden.
        parallel: Train whole runs in parallel, one per worker, since each needs one core and little time.
        game: Name of the chosen game, for experiments on several games.
        shared: Key of a setting that names a folder shared by all runs, which is made in the output folder.
    """

    settings: tuple[Setting, ...]
    seeds: tuple[int, ...]
    overrides: tuple[str, ...] = ()
    note: str = ""
    games: int = 0
    checkpoints: int = 0
    fixed: tuple[str, ...] = ()
    parallel: bool = False
    game: str = ""
    shared: str = ""


@dataclass(frozen=True)
class Comparison:
    """The results of an experiment.

    Attributes:
        rows: The paper's results and ours: ``cell``, ``paper``, ``ours``, ``sd``, ``note``.
        figures: Figures drawn from the runs.
        left_out: A sentence for each omitted result, for which the runs lack data.
        tables: Further tables of the report.
        unit: Unit of the numbers in the rows, in a sentence.
    """

    rows: list[Row]
    figures: list[Plot]
    left_out: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    unit: str = "Win rates are shares of games."


@dataclass(frozen=True)
class Experiment:
    """An experiment that repeats a figure or a table of a paper.

    Attributes:
        description: Description in one line.
        folder: Prefix of the default output folder, which the experiments of a paper share.
        scales: Scales by name; of the first game, for experiments on several games.
        compare: Function that computes the results from the trained runs.
        games: Scales of each game, for experiments on several games.
        partial: Whether `compare` takes some of the settings alone, where the others have no runs.
    """

    description: str
    folder: str
    scales: Mapping[str, Scale]
    compare: Callable[[Settings, Scale], Comparison]
    games: Mapping[str, Mapping[str, Scale]] = field(default_factory=dict)
    partial: bool = False


def row(cell: str, paper: float | None, ours: float | None, sd: float | None, note: str) -> Row:
    """Returns a row of `Comparison.rows`."""
    return {"cell": cell, "paper": paper, "ours": ours, "sd": sd, "note": note}


def count_runs(count: int) -> str:
    """Formats a number of runs."""
    return "1 run" if count == 1 else f"{count} runs"


def configuration(setting: Setting, scale: Scale, overrides: Sequence[str], seed: int | None = None) -> tuple[str, ...]:
    """Returns all settings in which a run differs from its preset."""
    own = () if seed is None else (f"seed={seed}",)
    return (*setting.overrides, *scale.overrides, *own, *overrides)


def check_overrides(scale: Scale, overrides: Sequence[str]) -> None:
    """Checks the configurations of all settings before any folder is made.

    Raises:
        UsageError: a key does not exist, a value is not valid, or an override changes what the experiment compares.
    """
    if overrides and not scale.settings:
        raise UsageError(f"this experiment trains nothing and has no settings: leave out {overrides[0]}")
    own, changed = {}, {}
    for setting in scale.settings:
        base = find_preset(setting.preset).config
        own[setting.name] = apply_overrides(base, configuration(setting, scale, ()))
        changed[setting.name] = apply_overrides(base, configuration(setting, scale, overrides))
    chosen = [text.partition("=")[0].strip() for text in overrides]
    if "seed" in chosen:
        raise UsageError("seed differs between the runs of a setting: leave it out and give --seeds")
    for key in chosen:
        if any(key == fixed or key.startswith(f"{fixed}.") for fixed in scale.fixed):
            raise UsageError(f"{key} defines this experiment and cannot be changed: leave it out")
    before = {name: dict(flatten(config)) for name, config in own.items()}
    after = {name: dict(flatten(config)) for name, config in changed.items()}
    if any(
        values.get("evaluation.every") and not after[name].get("evaluation.every") for name, values in before.items()
    ):
        raise UsageError("evaluation.every must be at least 1 for this experiment, got 0")
    first, *others = before.values() or [{}]
    for key, value in first.items():
        compared = any(other.get(key) != value for other in others)
        if compared and any(after[name].get(key) != values.get(key) for name, values in before.items()):
            compared_values = ", ".join(f"{name}: {show(values.get(key))}" for name, values in before.items())
            raise UsageError(f"{key} is what this experiment compares ({compared_values}): leave it out")
    for config in changed.values():
        config.check()


def train_settings(
    out: Path, scale: Scale, seeds: Sequence[int], overrides: Sequence[str], options: TrainOptions
) -> Settings:
    """Trains the missing and incomplete runs of every setting and seed below `out`; returns all runs."""
    shared = (f"{scale.shared}={out / scale.shared}",) if scale.shared else ()
    plan = [
        (setting.path(out, seed), setting.preset, (*configuration(setting, scale, overrides, seed), *shared))
        for seed in seeds
        for setting in scale.settings  # every setting with the first seed, then with further seeds
    ]
    if scale.parallel and not options.inline:
        _train_side_by_side(plan, options)
    for i, (path, preset, changes) in enumerate(plan):
        if not scale.parallel:
            warn(f"{path.name} (run {i + 1} of {len(plan)})")
        train_run(path, preset, changes, options)
    return {setting.name: [History.read(setting.path(out, seed)) for seed in seeds] for setting in scale.settings}


class RunTrainer:
    """Trains whole runs, their nets on a device; an actor of the worker pool."""

    def __init__(self, device: str) -> None:
        self._device = device

    def train(self, path: str, preset: str, overrides: Sequence[str]) -> tuple[str, None]:
        """Trains a run to its end, see `train_run`."""
        train_run(Path(path), preset, overrides, TrainOptions(device=self._device, inline=True, progress=False))
        return path, None


def _train_side_by_side(plan: Sequence[tuple[Path, str, tuple[str, ...]]], options: TrainOptions) -> None:
    """Trains the incomplete runs of a plan in parallel, one run per worker at a time, which share the GPUs there are.

    Raises:
        RunError: a training failed; the same command resumes it.
    """
    missing = [each for each in plan if not ((each[0] / "config.json").exists() and is_complete(*each))]
    if len(missing) < 2:
        return
    runtime = make_runtime(options)
    try:
        size = min(runtime.workers, len(missing))
        gpus = 0.0 if options.device == "cpu" else min(runtime.gpus / size, 1.0)
        device = "cuda" if gpus else "cpu"
        pool = WorkerPool(runtime, RunTrainer, (device,), size, gpus=gpus, deadline_s=None, max_failures=1)
        tasks = [(str(path.resolve()), preset, changes) for path, preset, changes in missing]
        for i, (task, _, _) in enumerate(pool.run(RunTrainer.train, tasks)):
            warn(f"{Path(task[0]).name} (run {i + 1} of {len(missing)})")
    except ChunkFailed as error:
        raise RunError(f"a training failed: {error}") from error
    finally:
        runtime.shutdown()


def train_run(path: Path, preset: str, overrides: Sequence[str], options: TrainOptions) -> None:
    """Trains the run at `path` to its end; starts or resumes it if it is not complete.

    Deletes the checkpoints of the complete run, each of which holds gigabytes of buffers at the papers' sizes.
    Strategies and the record are kept.

    Raises:
        UsageError: the folder holds another run.
        RunError: the training failed or was stopped.
    """
    resume = (path / "config.json").exists()
    if not (resume and is_complete(path, preset, overrides)):
        result = train(TrainRequest(preset, overrides, path, None, replace(options, resume=resume)))
        if result["stopped"]:
            raise RunError(f"stopped in {path}; the same command continues from its last checkpoint")
    shutil.rmtree(path / "checkpoints", ignore_errors=True)


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
    refuse_changes(run.config_as(type(wanted)), wanted)
    if (path / "checkpoints").exists():
        return False  # checkpoints are deleted when the run is complete
    history = History.read(path)
    done, over = history.iterations, wanted.minutes is not None and history.seconds >= 60 * wanted.minutes
    if wanted.samples is not None:
        _, samples = history.metric(method_named(run.method).samples)
        over = over or (len(samples) > 0 and samples[-1] >= wanted.samples)
    if done < wanted.iterations and not over:
        raise UsageError(f"{path} ended after {done} iterations, as configured: choose another folder for more")
    return True
