"""Runs of one setting with several seeds: trained by one call, told as means with intervals, drawn with bands.

In shapes, `N` is the number of positions of a curve.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from actors.cores import available_cpus
from dancfr.agents.by_name import make_agent
from dancfr.agents.run_curves import X_KEYS, Row, axes_of_curves, chosen_key, curves_of
from dancfr.agents.trained import TrainedRun, settings_texts
from dancfr.arguments import checked
from dancfr.errors import RunError, UsageError, names_options, warn
from dancfr.evaluation.statistics import Band, Curve, over_iterations, over_time, summarise
from dancfr.methods import find_preset
from dancfr.methods.launch import check_options, note_other_game
from dancfr.methods.options import TrainOptions, joins_cluster
from dancfr.notebooks import BAND, frame, percent
from dancfr.report.history import NOT_A_SETTING, History, by_setting
from dancfr.runs.config import apply_overrides, differences
from dancfr.runs.folder import default_run_dir, is_run, recorded_below
from dancfr.runs.run import Run
from dancfr.trainings import Planned, Stopped, is_complete, train_runs
from dancfr.values import show, split_settings
from dancfr.watch.tracking import choose_mode
from learners.html import html_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

NO_ARGUMENTS = {
    "run_dir": "name the folder of all runs by folder",
    "resume": "the same call again continues",
    "allow_changes": "change settings in another folder",
    "dashboard": "train one run for it",
}
"""Arguments of `dancfr.train` that `train_seeds` does not have, each with the cure."""


LIMITS = {"nash_conv": (0.0, np.inf), "exploitability": (0.0, np.inf), "win_rate": (0.0, 1.0)}
"""Least and largest value that can be, which Student's t interval does not know."""


@dataclass(frozen=True, repr=False)
class SeedRuns:
    """Runs of one setting, which differ in seed and length only.

    Attributes:
        runs: The runs, at least one.
    """

    runs: tuple[TrainedRun, ...]

    @property
    def seeds(self) -> list[int]:
        """Their seeds."""
        return [int(run.config.seed) for run in self.runs]

    @checked
    def bands(self, key: str | None = None, x: str = "iterations") -> dict[str, Band]:
        """Returns the mean of a key over the runs, with its interval, at the positions that all of them have.

        Args:
            key: Key of the rows, such as ``loss/advantage``; None: ``nash_conv``, or ``win_rate`` where no exact
                evaluation was recorded.
            x: What it is told over: ``iterations``, or ``decisions`` or ``seconds`` of the training, between which
                curves are interpolated.

        Returns:
            A band for each player, policy and opponent: positions, mean and the bounds of Student's t interval over
            the runs, within `LIMITS`, `float64[N]` each. Of two runs the bounds are their range, and of one its own
            values.

        Raises:
            UsageError: a run has no number under this key, or has not counted what it is to be told over, or the runs
                have no position in common.
        """
        return self._bands(key, x)[1]

    def _bands(self, key: str | None, x: str) -> tuple[str, dict[str, Band]]:
        records = [run.counted_rows() for run in self.runs]
        rows = [row for record in records for row in record]
        key = chosen_key(rows, key)
        groups = curves_of(rows, key, x)  # of all runs, since labels name what differs, and a run may lack a policy yet
        whose = {id(row): number for number, record in enumerate(records) for row in record}
        curves: dict[str, list[dict[int, Row]]] = {label: [{} for _ in records] for label in groups}
        for label, points in groups.items():
            for row in points:
                curves[label][whose[id(row)]][row["iteration"]] = row  # the newest counts, as in a report
        for run, of_run in zip(self.runs, zip(*curves.values(), strict=True), strict=True):
            if not any(of_run):
                raise UsageError(f"{run.path} has recorded no {key} with {x} yet: name another key, or train further")
        shared = {label: own for label, own in curves.items() if all(own)}
        if not shared:
            raise UsageError(f"no player, policy and opponent has {key} in all {len(self.runs)} runs")
        join = over_iterations if x == "iterations" else over_time
        found = {}
        for label, own in shared.items():
            try:
                band = join([_curve(points, key, X_KEYS[x]) for points in own])
            except ValueError:
                cure = "tell it over iterations, or train further" if x != "iterations" else "tell it over seconds"
                where = f"{key}{label and ' '}{label}"
                raise UsageError(f"{where}: the runs have no {x} in common: {cure}") from None
            limits = LIMITS.get(key.rsplit("/", 1)[-1], (-np.inf, np.inf))
            found[label] = replace(band, low=np.clip(band.low, *limits), high=np.clip(band.high, *limits))
        return key, found

    @checked
    def frame(self, key: str | None = None, x: str = "iterations") -> "DataFrame":
        """Returns the bands as a frame of pandas, with the columns ``curve`` (player, policy, opponent), the name of
        `x`, ``mean``, ``low``, ``high`` and ``runs``.

        Raises:
            UsageError: see `bands`.
        """
        return frame(
            {"curve": label, x: at, "mean": mean, "low": low, "high": high, "runs": band.runs}
            for label, band in self._bands(key, x)[1].items()
            for at, mean, low, high in zip(band.x, band.mean, band.low, band.high, strict=True)
        )

    def plot(self, key: str | None = None, ax: "Axes | None" = None, x: str = "iterations") -> "Axes":
        """Draws the bands of `bands` on axes of Matplotlib, and returns these. Labels begin with the name of the runs'
        folder.

        Args:
            key: As for `bands`.
            ax: Axes to draw on, for example of other runs, whose title is dropped then; None makes a figure.
            x: As for `bands`.

        Raises:
            UsageError: see `bands`.
        """
        key, found = self._bands(key, x)
        alone, preset = ax is None, self.runs[0].preset
        folders = {run.path.resolve().parent for run in self.runs}
        name = folders.pop().name if len(folders) == 1 else preset
        ax = axes_of_curves(ax, key, x, f"{preset}, {next(iter(found.values())).means}")
        for label, band in found.items():
            words = (name, label or key) if alone else (name, label, key)
            (line,) = ax.plot(band.x, band.mean, label=" ".join(filter(None, words)))
            if band.runs > 1:
                ax.fill_between(band.x, band.low, band.high, color=line.get_color(), alpha=BAND)
        ax.legend()
        return ax

    def final(self) -> list[dict[str, Any]]:
        """Returns the last exact NashConv of each policy, and the last win rate of each policy against each opponent.

        Each row has ``key`` (``nash_conv`` or ``win_rate``), ``policy``, ``opponent`` (None for NashConv), ``mean``,
        ``ci95`` (Student's t over the runs, within what can be; None for one or two runs, and for equal values, which
        do not say how others vary), ``sd`` (None for one run), ``values`` by run and ``iterations`` by run. Only what
        all runs have is told.
        """
        rows = []
        last = [_last(History.read(run.path)) for run in self.runs]
        for key, policy, opponent in last[0]:
            if not all((key, policy, opponent) in each for each in last):
                continue
            ends = [each[key, policy, opponent] for each in last]
            values = [end[1] for end in ends]
            found = summarise(values)
            low, high = (float(np.clip(bound, *LIMITS[key])) for bound in (found.low, found.high))
            rows.append(
                {
                    "key": key,
                    "policy": policy,
                    "opponent": opponent,
                    "mean": found.mean,
                    "ci95": [low, high] if found.n > 2 and min(values) < max(values) else None,
                    "sd": found.sd,
                    "values": values,
                    "iterations": [end[0] for end in ends],
                }
            )
        return rows

    def as_dict(self) -> dict[str, Any]:
        """Returns the object that `dancfr train --seeds --json` prints: ``preset``, ``runs`` and ``final``."""
        runs = [
            {"seed": seed, "run_dir": str(run.path), "iterations": run.iterations}
            for seed, run in zip(self.seeds, self.runs, strict=True)
        ]
        return {"preset": self.runs[0].preset, "runs": runs, "final": self.final()}

    def __repr__(self) -> str:
        return f"SeedRuns({self.runs[0].preset}, seeds {', '.join(map(str, self.seeds))})"

    def _repr_html_(self) -> str:
        cells = [[row["policy"], row["opponent"] or "", *described(row)] for row in self.final()]
        columns = ("policy", "opponent", "measure", "iteration", "mean", "95 % interval", "lowest, highest")
        return html_table(columns, cells, repr(self))


def described(row: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    """Returns the measure of a row of `SeedRuns.final`, its iterations, mean, interval and range as text."""
    shown = percent if row["key"] == "win_rate" else "{:.4g}".format
    interval = "" if row["ci95"] is None else f"{shown(row['ci95'][0])} to {shown(row['ci95'][1])}"
    measure = {"win_rate": "games won", "nash_conv": "NashConv"}[row["key"]]
    first, last = min(row["iterations"]), max(row["iterations"])
    at = str(last) if first == last else f"{first} to {last}"  # runs that time ended differ in length
    return measure, at, shown(row["mean"]), interval, f"{shown(min(row['values']))}, {shown(max(row['values']))}"


def _curve(points: Mapping[int, Row], key: str, at: str) -> Curve:
    rows = sorted(points.values(), key=lambda row: float(row[at]))
    return np.array([row[at] for row in rows], np.float64), np.array([row[key] for row in rows], np.float64)


def _last(history: History) -> dict[tuple[str, str, str | None], tuple[int, float]]:
    """Iteration and value of the last evaluations, by key, policy and opponent."""
    rows = [("nash_conv", row) for row in history.exact] + [("win_rate", row) for row in history.evaluations]
    return {(key, row["policy"], row.get("opponent")): (int(row["iteration"]), float(row[key])) for key, row in rows}


@checked
def train_seeds(
    preset: str,
    settings: Mapping[str, Any] | Sequence[str] = (),
    *,
    seeds: Sequence[int] = (1, 2, 3),
    folder: str | os.PathLike[str] | None = None,
    parallel: int = 1,
    inline: bool = False,
    workers: int | None = None,
    address: str | None = None,
    device: str = "auto",
    wandb: str | None = None,
    tensorboard: bool = False,
    progress: bool = True,
    **more: Any,
) -> SeedRuns:
    """Trains a preset once with each seed, and returns the runs.

    The runs are ``seed-1`` and so on in a folder. The same call again with the same folder leaves those alone that
    are complete, and continues those that were interrupted; the checkpoints of complete runs are removed.

    Args:
        preset: Name of a preset, such as ``leduc-dream-quick``.
        settings: Settings that differ from the preset, as for `dancfr.train`.
        seeds: Seeds of the runs.
        folder: Folder of the runs; None: ``runs/<preset>-<time>``, with another game
            ``runs/<preset>-<game>-<time>``.
        parallel: Runs at the same time, each in one process of Ray. Where time ends a training, it gets further alone.
        inline: Run everything in this process, without Ray.
        workers: Number of workers that play games; None: the number of CPUs.
        address: Address of a Ray cluster to join; None starts Ray here.
        device: ``cpu``, ``cuda`` or ``auto``.
        wandb: Mode of W&B: ``online``, ``offline`` or ``off``; None: ``online`` if a key is configured.
        tensorboard: Write the records for TensorBoard.
        progress: Show progress on standard error.
        more: Settings with plain names, such as ``iterations=5``.

    Raises:
        UsageError: a name, a setting or a seed is wrong, or the folders of the runs have others; nothing was trained.
        RunError: a training failed or was stopped; the same call continues it.
    """
    for name, cure in NO_ARGUMENTS.items():
        if name in more:
            raise UsageError(f"train_seeds has no argument {name}: {cure}")
    overrides = (*settings_texts(settings), *settings_texts(more))
    if not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0:
        raise UsageError(f"--seeds must be different integers of at least 0, such as 1,2,3, got {list(seeds)}")
    if "seed" in split_settings(overrides):
        raise UsageError("seed differs between the runs: leave it out and give --seeds")
    if parallel < 1:
        raise UsageError(f"--parallel must be at least 1, got {parallel}")
    if parallel > 1 and (inline or workers is not None):
        raise UsageError("--parallel trains each run in one process of Ray: leave out --inline and --workers")
    base = find_preset(preset).config
    config = apply_overrides(base, overrides)
    config.check()
    note_other_game(base, config, overrides)
    options = TrainOptions(
        workers=parallel if parallel > 1 else workers,
        address=address,
        device=device,
        inline=inline,
        progress=progress,
        tensorboard=tensorboard,
        make_agent=make_agent,
    )
    choose_mode(wandb)
    if parallel > 1:  # here, since Ray takes seconds to start
        check_options(options)
        if not joins_cluster(options) and parallel > (cpus := available_cpus()):
            raise UsageError(
                f"--parallel {parallel}: this machine has {cpus} CPUs, one for each run: give at most as many, "
                "and the other runs follow"
            )
    path = default_run_dir(preset, overrides) if folder is None else Path(folder)
    if is_run(path):
        raise UsageError(f"{path} is the folder of a run: choose another folder for runs of several seeds")
    plan = [(path / f"seed-{seed}", preset, (*overrides, f"seed={seed}")) for seed in seeds]
    _refuse_other_settings(plan)
    try:
        train_runs(plan, replace(options, notes=False), parallel > 1, wandb)
    except KeyboardInterrupt:  # between two runs, or while others train in parallel
        warn(f"interrupted; {_again(path, named=folder is None)} continues")
        raise
    except RunError as error:
        text = str(error).replace("with --resume", f"with {_again(path)}")  # not with the option, which one run has
        if folder is None and os.path.isdir(path):
            text = f"{'stopped' if isinstance(error, Stopped) else text}; {_again(path, named=True)} continues"
        raise type(error)(text) from error
    return SeedRuns(tuple(TrainedRun(run) for run, _, _ in plan))


def _again(path: Path, named: bool = False) -> str:
    """The call that continues the runs in a folder, which is named where its default name has the time of the start."""
    again, option = ("the same command", "--run-dir ") if names_options() else ("the same call", "folder=")
    return f"{again} with {option}{shlex.quote(str(path))}" if named else again


def _refuse_other_settings(plan: Sequence[Planned]) -> None:
    """Raises UsageError if a complete run was evaluated by other settings, with which runs are not comparable."""
    for path, preset, changes in plan:
        if not is_run(path) or not is_complete(path, preset, changes):
            continue
        wanted = apply_overrides(find_preset(preset).config, changes)
        for key, (was, now) in differences(Run.open(path).config_as(type(wanted)), wanted).items():
            if key.split(".")[0] not in NOT_A_SETTING | {"resources"}:
                raise UsageError(
                    f"{path} is complete with {key}={show(was)}, not {show(now)}: leave the setting as it was, or "
                    "choose another folder"
                )


@checked
def load_seeds(path: str | os.PathLike[str]) -> SeedRuns:
    """Returns the runs in a folder, such as that of `train_seeds`, finished or not.

    Raises:
        UsageError: there are no runs in it, or runs of several settings, or two of one seed.
    """
    folders = recorded_below(Path(path))
    if not folders and is_run(Path(path)):
        raise UsageError(f"{path} is the folder of one run: give the folder above it, or open it by load_run")
    if not folders:
        raise UsageError(f"{path} has no folders of runs: give the folder of dancfr train --seeds")
    settings = by_setting([History.read(each) for each in folders])
    if len(settings) > 1:
        raise UsageError(f"{path} has runs of several settings: {'; '.join(settings)}")
    runs = {each: TrainedRun(each) for each in folders}
    found: dict[int, Path] = {}
    for each, run in runs.items():
        first = found.setdefault(int(run.config.seed), each)
        if first != each:  # a copy, which would make intervals too narrow
            raise UsageError(f"{first} and {each} have the same seed, {run.config.seed}: move one of them away")
    return SeedRuns(tuple(runs[found[seed]] for seed in sorted(found)))
