"""Defines experiments of papers and trains their runs.

Complete runs in the output folder are reused, interrupted runs are resumed, and only missing runs are started.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dancfr.errors import UsageError
from dancfr.methods import find_preset
from dancfr.methods.options import TrainOptions
from dancfr.report.history import History, Settings
from dancfr.report.plots import Plot
from dancfr.report.report import Table
from dancfr.runs.config import apply_overrides, flatten
from dancfr.trainings import train_runs
from dancfr.values import show, split_settings

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
    chosen = split_settings(overrides)
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
    train_runs(plan, options, scale.parallel)
    return {setting.name: [History.read(setting.path(out, seed)) for seed in seeds] for setting in scale.settings}
