"""Experiments of papers: what they train, at which scale, and the trainings that are not there yet.

A run that is complete in the output folder is used, an interrupted one is gone on with, and only what is missing is
trained.
"""

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from actors.pool import ChunkFailed, WorkerPool
from dancfr.errors import RunError, UsageError
from dancfr.methods import find_preset
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
    """One of the settings that an experiment trains.

    Attributes:
        name: As the paper and the figures call it.
        preset: What is trained.
        overrides: Settings in which it differs from the preset.
        folder: Beginning of the names of its runs' folders; empty: the preset's name.
    """

    name: str
    preset: str
    overrides: tuple[str, ...] = ()
    folder: str = ""

    def path(self, out: Path, seed: int) -> Path:
        """Folder of the run with that seed."""
        return out / f"{self.folder or self.preset}-seed{seed}"


@dataclass(frozen=True)
class Scale:
    """How large an experiment is repeated.

    Attributes:
        settings: What is trained.
        seeds: Seeds of each setting.
        overrides: Settings for every one of them.
        note: What differs from the paper, for every row.
        games: Games of each pair, where agents meet after their training.
        fixed: Settings, or groups of them, that are part of what is shown, so that nobody may choose them.
        parallel: Each run needs one core and little time: as many are trained side by side as there are workers.
        game: The one that was chosen, where an experiment is of several.
        shared: A setting of the name of a folder, in the output folder, that all runs share.
        checkpoints: How many states of a training play such games, where its course is shown.
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
    """What an experiment shows.

    Attributes:
        rows: The paper's figures and ours: ``cell``, ``paper``, ``ours``, ``sd``, ``note``.
        figures: Drawn from the runs.
        left_out: A sentence for each thing that the runs do not allow.
        tables: Further ones of its page.
        unit: What the numbers of the rows are.
    """

    rows: list[Row]
    figures: list[Plot]
    left_out: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    unit: str = "Win rates are shares of games."


@dataclass(frozen=True)
class Experiment:
    """A figure or a table of a paper.

    Attributes:
        description: A line for people.
        folder: Beginning of the name of the default output folder, which the experiments of a paper share.
        scales: By name; of the first game, where there are several.
        compare: Makes of the trained runs what is to be shown.
        games: Scales of each game, where an experiment is of several.
    """

    description: str
    folder: str
    scales: Mapping[str, Scale]
    compare: Callable[[Settings, Scale], Comparison]
    games: Mapping[str, Mapping[str, Scale]] = field(default_factory=dict)


def row(cell: str, paper: float | None, ours: float | None, sd: float | None, note: str) -> Row:
    """A row of `Comparison.rows`."""
    return {"cell": cell, "paper": paper, "ours": ours, "sd": sd, "note": note}


def count_runs(count: int) -> str:
    """So many runs, in words."""
    return "1 run" if count == 1 else f"{count} runs"


def configuration(setting: Setting, scale: Scale, overrides: Sequence[str], seed: int | None = None) -> tuple[str, ...]:
    """Everything in which a run differs from its preset."""
    own = () if seed is None else (f"seed={seed}",)
    return (*setting.overrides, *scale.overrides, *own, *overrides)


def check_overrides(scale: Scale, overrides: Sequence[str]) -> None:
    """Checks the configuration of every setting, before anything is made.

    Raises:
        UsageError: a setting that does not exist or does not fit, or one that would undo what the runs differ in.
    """
    if overrides and not scale.settings:
        raise UsageError(f"{overrides[0]}: this experiment trains nothing that it could be a setting of: leave it out")
    own, changed = {}, {}
    for setting in scale.settings:
        base = find_preset(setting.preset).config
        own[setting.name] = apply_overrides(base, configuration(setting, scale, ()))
        changed[setting.name] = apply_overrides(base, configuration(setting, scale, overrides))
    chosen = [text.partition("=")[0].strip() for text in overrides]
    if "seed" in chosen:
        raise UsageError("seed sets the runs of a setting apart: leave it out and give all of them with --seeds")
    for key in chosen:
        if any(key == fixed or key.startswith(f"{fixed}.") for fixed in scale.fixed):
            raise UsageError(f"{key} is part of what this experiment shows: leave it out")
    before = {name: dict(flatten(config)) for name, config in own.items()}
    after = {name: dict(flatten(config)) for name, config in changed.items()}
    if any(
        values.get("evaluation.every") and not after[name].get("evaluation.every") for name, values in before.items()
    ):
        raise UsageError("evaluation.every=0 leaves nothing to show: choose another number of iterations")
    first, *others = before.values() or [{}]
    for key, value in first.items():
        compared = any(other.get(key) != value for other in others)
        if compared and any(after[name].get(key) != values.get(key) for name, values in before.items()):
            told = ", ".join(f"{name}: {show(values.get(key))}" for name, values in before.items())
            raise UsageError(f"{key} is what this experiment compares ({told}): leave it out")
    for config in changed.values():
        config.check()


def train_settings(
    out: Path, scale: Scale, seeds: Sequence[int], overrides: Sequence[str], options: TrainOptions
) -> Settings:
    """The runs of every setting and seed below `out`, trained where they are missing or incomplete."""
    shared = (f"{scale.shared}={out / scale.shared}",) if scale.shared else ()
    plan = [
        (setting.path(out, seed), setting.preset, (*configuration(setting, scale, overrides, seed), *shared))
        for seed in seeds
        for setting in scale.settings  # all settings early, then further seeds
    ]
    if scale.parallel and not options.inline:
        _train_side_by_side(plan, options)
    for i, (path, preset, changes) in enumerate(plan):
        if not scale.parallel:
            print(f"{path.name} (run {i + 1} of {len(plan)})", file=sys.stderr)
        train_run(path, preset, changes, options)
    return {setting.name: [History.read(setting.path(out, seed)) for seed in seeds] for setting in scale.settings}


class RunTrainer:
    """Trains whole runs in a process of its own."""

    def train(self, path: str, preset: str, overrides: Sequence[str]) -> tuple[str, None]:
        """Brings one run to its end, see `train_run`."""
        train_run(Path(path), preset, overrides, TrainOptions(inline=True, progress=False))
        return path, None


def _train_side_by_side(plan: Sequence[tuple[Path, str, tuple[str, ...]]], options: TrainOptions) -> None:
    """Trains what is missing of a plan, a run a worker at a time.

    Raises:
        RunError: a training failed; the same command goes on from there.
    """
    missing = [each for each in plan if not ((each[0] / "config.json").exists() and is_complete(*each))]
    if len(missing) < 2:
        return
    runtime = make_runtime(options)
    try:
        pool = WorkerPool(runtime, RunTrainer, size=min(runtime.workers, len(missing)), deadline_s=None, max_failures=1)
        tasks = [(str(path.resolve()), preset, changes) for path, preset, changes in missing]
        for i, (task, _, _) in enumerate(pool.run("train", tasks)):
            print(f"{Path(task[0]).name} (run {i + 1} of {len(missing)})", file=sys.stderr)
    except ChunkFailed as error:
        raise RunError(f"a training failed: {error}") from error
    finally:
        runtime.shutdown()


def train_run(path: Path, preset: str, overrides: Sequence[str], options: TrainOptions) -> None:
    """Brings the run at `path` to its end, from wherever it is.

    The checkpoints of a complete run go: at the papers' sizes each holds some gigabytes of buffers. Strategies and
    the record stay.

    Raises:
        UsageError: another run lies there.
        RunError: the training failed or was stopped.
    """
    resume = (path / "config.json").exists()
    if not (resume and is_complete(path, preset, overrides)):
        result = train(TrainRequest(preset, overrides, path, None, replace(options, resume=resume)))
        if result["stopped"]:
            raise RunError(f"stopped in {path}; the same command goes on from its last checkpoint")
    shutil.rmtree(path / "checkpoints", ignore_errors=True)


def is_complete(path: Path, preset: str, overrides: Sequence[str]) -> bool:
    """Whether the run at `path` has all its iterations, or as many as its time allowed.

    Raises:
        UsageError: it is a run of another preset or of other settings.
    """
    run = Run.open(path)
    if run.preset != preset:
        raise UsageError(f"{path} holds a run of {run.preset}, not of {preset}: choose another folder")
    wanted: Any = apply_overrides(find_preset(preset).config, overrides)
    refuse_changes(run.config_as(type(wanted)), wanted)
    if (path / "checkpoints").exists():
        return False  # they go when all is done
    history = History.read(path)
    done, out_of_time = history.iterations, wanted.minutes is not None and history.seconds >= 60 * wanted.minutes
    if done < wanted.iterations and not out_of_time:
        raise UsageError(f"{path} ended after {done} iterations, as then wanted: choose another folder for more")
    return True
