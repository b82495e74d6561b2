"""Runs of one setting with several seeds: trained by one call, told as means with intervals, drawn with bands.

In shapes, `N` is the number of positions of a curve.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dancfr.agents.by_name import make_agent
from dancfr.agents.run_curves import X_KEYS, axes_of_curves, chosen_key, curves_of
from dancfr.agents.trained import TrainedRun, settings_texts
from dancfr.arguments import checked
from dancfr.errors import UsageError
from dancfr.evaluation.statistics import Band, over_iterations, over_time, summarise
from dancfr.methods import find_preset
from dancfr.methods.launch import note_other_game
from dancfr.methods.options import TrainOptions
from dancfr.notebooks import BAND, frame, percent
from dancfr.report.history import History, by_setting
from dancfr.runs.config import apply_overrides
from dancfr.runs.folder import default_run_dir
from dancfr.runs.run import Run
from dancfr.trainings import train_runs
from learners.html import html_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

FINAL = ("nash_conv", "win_rate")
"""Keys of evaluations whose last values are told."""


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
            the runs, `float64[N]` each. Of two runs the bounds are their range, and of one its own values.

        Raises:
            UsageError: a run has no number under this key, or has not counted what it is to be told over.
        """
        return self._bands(key, x)[1]

    def _bands(self, key: str | None, x: str) -> tuple[str, dict[str, Band]]:
        records = [run.counted_rows() for run in self.runs]
        key = chosen_key(records[0], key)
        curves = [curves_of(rows, key, x) for rows in records]
        join = over_iterations if x == "iterations" else over_time
        found = {}
        for label in [label for label in curves[0] if all(label in other for other in curves)]:
            own = [(_column(other[label], X_KEYS[x]), _column(other[label], key)) for other in curves]
            try:
                found[label] = join(own)
            except ValueError as error:
                raise UsageError(f"{key}{label and ' '}{label}: {error}") from None
        if not found:
            raise UsageError(f"no player, policy and opponent has {key} in all {len(self.runs)} runs")
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
        """Draws the bands of `bands` on axes of Matplotlib, and returns these.

        Args:
            key: As for `bands`.
            ax: Axes to draw on, for example of other runs, whose title is dropped then; None makes a figure.
            x: As for `bands`.

        Raises:
            UsageError: see `bands`.
        """
        key, found = self._bands(key, x)
        alone, preset = ax is None, self.runs[0].preset
        ax = axes_of_curves(ax, key, x, f"{preset}, {next(iter(found.values())).means}")
        for label, band in found.items():
            words = (label or key,) if alone else (preset, label, key)
            (line,) = ax.plot(band.x, band.mean, label=" ".join(filter(None, words)))
            if band.runs > 1:
                ax.fill_between(band.x, band.low, band.high, color=line.get_color(), alpha=BAND)
        ax.legend()
        return ax

    def final(self) -> list[dict[str, Any]]:
        """Returns the last exact NashConv of each policy, and the last win rate of each policy against each opponent.

        Each row has ``key`` (``nash_conv`` or ``win_rate``), ``policy``, ``opponent`` (None for NashConv), ``mean``,
        ``ci95`` (Student's t over the runs, within what can be; None for one or two runs), ``sd`` (None for one run),
        ``values`` by run and ``iterations`` by run. Only what all runs have is told.
        """
        rows = []
        last = [_last(History.read(run.path)) for run in self.runs]
        for key, policy, opponent in last[0]:
            if not all((key, policy, opponent) in each for each in last):
                continue
            ends = [each[key, policy, opponent] for each in last]
            found = summarise([end[1] for end in ends])
            low, high = max(found.low, 0.0), min(found.high, 1.0) if key == "win_rate" else found.high
            rows.append(
                {
                    "key": key,
                    "policy": policy,
                    "opponent": opponent,
                    "mean": found.mean,
                    "ci95": [low, high] if found.n > 2 else None,
                    "sd": found.sd,
                    "values": [end[1] for end in ends],
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
        return html_table(
            ("policy", "opponent", "measure", "mean", "95 % interval", "lowest, highest"), cells, repr(self)
        )


def described(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Returns the measure of a row of `SeedRuns.final`, its mean, interval and range as text."""
    shown = percent if row["key"] == "win_rate" else "{:.4g}".format
    interval = "" if row["ci95"] is None else f"{shown(row['ci95'][0])} to {shown(row['ci95'][1])}"
    measure = {"win_rate": "games won", "nash_conv": "NashConv"}[row["key"]]
    return measure, shown(row["mean"]), interval, f"{shown(min(row['values']))}, {shown(max(row['values']))}"


def _column(rows: Sequence[Mapping[str, Any]], key: str) -> NDArray[np.float64]:
    return np.array([row[key] for row in rows], np.float64)


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

    The runs are ``seed-1`` and so on in a folder. The same call again leaves those alone that are complete, and
    continues those that were interrupted; the checkpoints of complete runs are removed.

    Args:
        preset: Name of a preset, such as ``leduc-dream-quick``.
        settings: Settings that differ from the preset, as for `dancfr.train`.
        seeds: Seeds of the runs.
        folder: Folder of the runs; None: ``runs/<preset>-<time>``.
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
        UsageError: a name, a setting or a seed is wrong, or the folder has other runs.
        RunError: a training failed or was stopped; the same call continues it.
    """
    overrides = (*settings_texts(settings), *settings_texts(more))
    if not seeds or len(set(seeds)) < len(seeds) or min(seeds) < 0:
        raise UsageError(f"--seeds must be different integers of at least 0, such as 1,2,3, got {list(seeds)}")
    if any(text.partition("=")[0].strip() == "seed" for text in overrides):
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
    path = default_run_dir(preset) if folder is None else Path(folder)
    plan = [(path / f"seed-{seed}", preset, (*overrides, f"seed={seed}")) for seed in seeds]
    train_runs(plan, replace(options, notes=False), parallel > 1, wandb)
    return SeedRuns(tuple(TrainedRun(run) for run, _, _ in plan))


@checked
def load_seeds(path: str | os.PathLike[str]) -> SeedRuns:
    """Returns the runs in a folder, such as that of `train_seeds`, finished or not.

    Raises:
        UsageError: there are no runs with a record in it, or runs of several settings.
    """
    folders = sorted(each.parent for each in Path(path).glob("*/config.json"))
    if not folders:
        raise UsageError(f"{path} has no folders of runs: give the folder of dancfr train --seeds")
    histories = sorted((History.read(each) for each in folders), key=lambda run: run.config.get("seed", 0))
    settings = by_setting(histories)
    if len(settings) > 1:
        raise UsageError(f"{path} has runs of several settings: {', '.join(settings)}")
    return SeedRuns(tuple(TrainedRun(Run.open(history.path).path) for history in histories))
