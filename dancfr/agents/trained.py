"""`dancfr.train` and `dancfr.load_run`: trainings from Python, and the runs that they leave."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dancfr.agents.by_name import make_agent
from dancfr.agents.given import AsAgent
from dancfr.agents.match import Match, play
from dancfr.agents.match_rules import match_rules
from dancfr.agents.run_curves import draw, series, with_decisions
from dancfr.arguments import OWN_GAMES, checked
from dancfr.errors import UsageError, nearest, shortened
from dancfr.methods import method_named
from dancfr.methods.launch import TrainRequest
from dancfr.methods.launch import train as launch
from dancfr.methods.options import TrainOptions
from dancfr.methods.settings import RunConfig
from dancfr.notebooks import frame, percent
from dancfr.runs.keys import settings_of
from dancfr.runs.run import Run
from envs.agent import Agent
from envs.game import GameBase
from learners.html import html_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

SHOWN = 10
"""Evaluations that a run shows of itself in a notebook: the newest."""


@dataclass(frozen=True, repr=False)
class TrainedRun:
    """A run: its configuration, its record and its agents.

    Attributes:
        path: The folder.
        result: What the training returned, as `dancfr train --json` prints it; empty for a run that was loaded.
    """

    path: Path
    result: dict[str, Any] = field(default_factory=dict)

    @property
    def preset(self) -> str:
        """Name of its preset."""
        return Run.open(self.path).preset

    @property
    def method(self) -> str:
        """Name of its method."""
        return Run.open(self.path).method

    @property
    def config(self) -> RunConfig:
        """Its settings."""
        run = Run.open(self.path)
        return run.config_as(method_named(run.method).config)

    @property
    def iterations(self) -> int:
        """Number of recorded iterations."""
        return max((int(row["iteration"]) for row in self.rows("train")), default=0)

    @checked
    def rows(self, kind: str | None = None) -> list[dict[str, Any]]:
        """Returns the rows of `metrics.jsonl`, or those of one kind.

        Kinds are ``train``, ``evaluation`` (a match of a policy against an opponent), ``exploitability`` (an exact
        evaluation of a policy) and ``event`` (a recovery after a loss).

        Raises:
            UsageError: the kind is none of these, and none of the record.
        """
        return _of_kind(Run.open(self.path).read_metrics(), kind)

    @checked
    def metric(self, key: str, **where: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Returns the iterations whose rows have a key, `int64[N]`, and its values there, `float64[N]`.

        Args:
            key: Key of the rows, such as ``loss/advantage``.
            where: Other entries that the rows must have, such as ``policy="average"`` or ``opponent="random"``.

        Raises:
            UsageError: no row has a number under this key, or several rows of an iteration have.
        """
        return series(self.rows(), key, where)

    @checked
    def frame(self, kind: str | None = None) -> "DataFrame":
        """Returns the rows as a frame of pandas, see `rows`; a mapping in a row becomes columns.

        For example ``seats``, an entry of evaluations, becomes ``seats/first/win_rate`` and so on. Rows of the kinds
        ``evaluation`` and ``exploitability`` have the ``decisions`` of the training so far, if its method counts them.

        Raises:
            UsageError: see `rows`.
        """
        return frame(_of_kind(self.counted_rows(("evaluation", "exploitability")), kind))

    def counted_rows(self, kinds: Sequence[str] = ("train", "evaluation", "exploitability")) -> list[dict[str, Any]]:
        """Returns all rows, those of some kinds with the ``decisions`` of the training so far, if its method counts
        them."""
        return with_decisions(self.rows(), method_named(self.method).plies, kinds)

    def plot(self, key: str | None = None, ax: "Axes | None" = None, x: str = "iterations") -> "Axes":
        """Draws the values of a key, a line for each player, policy and opponent.

        Args:
            key: Key of the rows, such as ``loss/advantage``; None: ``nash_conv``, or ``win_rate`` where no exact
                evaluation was recorded.
            ax: Axes of Matplotlib to draw on, for example of another run, whose title is dropped then; None makes a
                figure. Labels begin with the name of the run.
            x: What it is drawn over: ``iterations``, ``decisions`` of the training so far, or ``seconds`` of it.

        Returns:
            The axes.

        Raises:
            UsageError: no row has a number under this key, or the run has not counted what it is to be drawn over.
        """
        return draw(self.counted_rows(), key, f"{self.path.name}: {self.preset}", self.path.name, ax, x)

    @checked
    def name(self, iteration: int | None = None, **options: Any) -> str:
        """Returns the name of an agent of the run, such as ``runs/x@40?average=exact``."""
        at = "" if iteration is None else f"@{iteration}"
        return f"{self.path}{at}" + "".join(f"{'&' if i else '?'}{k}={v}" for i, (k, v) in enumerate(options.items()))

    @checked
    def agent(self, game: GameBase | None = None, iteration: int | None = None, **options: Any) -> Agent:
        """Returns an agent of the run.

        Args:
            game: The game that it is to play; None: that of its training, as long as in evaluations.
            iteration: Iteration of its strategy; None: the newest.
            options: Options of the run's method, such as ``average="exact"`` or ``ms=50``.

        Raises:
            UsageError: the run has no such strategy, or belongs to another game.
        """
        name = self.name(iteration, **options)
        return make_agent(name, game or match_rules(self.config.game, (name,))[0])

    def as_agent(self) -> str:
        """Returns the name of the newest agent, which plays wherever the run is given as an agent."""
        return self.name()

    @checked
    def play(self, against: str | Agent | AsAgent = "random", games: int = 1000, seed: int = 0, **more: Any) -> Match:
        """Plays a match of the newest agent, see `dancfr.play`."""
        return play(self.name(), against, None, games, seed, **more)

    def __repr__(self) -> str:
        return f"TrainedRun({str(self.path)!r}: {self.preset}, {self.iterations} iterations)"

    def _repr_html_(self) -> str:
        keys = ("iteration", "policy", "opponent", "games", "win_rate", "nash_conv")
        rows = [row for row in self.rows() if row.get("kind") in ("evaluation", "exploitability")]
        cells = [[_cell(key, row.get(key)) for key in keys] for row in rows[-SHOWN:]]
        newest = f", its newest {SHOWN} evaluations" if len(rows) > SHOWN else ""
        return html_table(keys, cells, f"{self!r}{newest}")


_KINDS = ("train", "evaluation", "exploitability", "event")


def _of_kind(rows: list[dict[str, Any]], kind: str | None) -> list[dict[str, Any]]:
    """Returns the rows of a kind, of which there may be none yet, or all rows."""
    if kind is None:
        return rows
    known = tuple(dict.fromkeys((*_KINDS, *(str(row["kind"]) for row in rows if "kind" in row))))
    if kind not in known:
        raise UsageError(nearest(kind, known, "kind of rows"))
    return [row for row in rows if row.get("kind") == kind]


@checked
def train(
    preset: str,
    settings: Mapping[str, Any] | Sequence[str] = (),
    *,
    run_dir: str | os.PathLike[str] | None = None,
    resume: bool = False,
    allow_changes: bool = False,
    inline: bool = False,
    workers: int | None = None,
    address: str | None = None,
    device: str = "auto",
    wandb: str | None = None,
    tensorboard: bool = False,
    dashboard: bool = False,
    progress: bool = True,
    **more: Any,
) -> TrainedRun:
    """Trains a preset, with Ray or in this process, and returns the run.

    Ctrl-C stops it after an iteration, as on the command line.

    Args:
        preset: Name of a preset, such as ``leduc-dream-quick``.
        settings: Settings that differ from the preset, by dotted name or as ``key=value``:
            ``{"network.width": 64}``.
        run_dir: Folder of the run; None: ``runs/<preset>-<time>``, with another game
            ``runs/<preset>-<game>-<time>``.
        resume: Continue the run in `run_dir` from its newest checkpoint.
        allow_changes: Allow a resumed run to continue with other settings.
        inline: Run everything in this process, without Ray.
        workers: Number of workers that play games; None: the number of CPUs.
        address: Address of a Ray cluster to join; None starts Ray here.
        device: ``cpu``, ``cuda`` or ``auto``.
        wandb: Mode of W&B: ``online``, ``offline`` or ``off``; None: ``online`` if a key is configured.
        tensorboard: Write the record for TensorBoard, into the folder ``tensorboard`` of the run.
        dashboard: Serve the dashboard of a Ray that is started here.
        progress: Show progress on standard error.
        more: Settings with plain names, such as ``iterations=5``.

    Raises:
        UsageError: a name or a setting is wrong; nothing was started.
        RunError: the training failed; its last checkpoint is intact.
    """
    options = TrainOptions(
        workers=workers,
        address=address,
        device=device,
        inline=inline,
        resume=resume,
        progress=progress,
        dashboard=dashboard,
        tensorboard=tensorboard,
        make_agent=make_agent,
    )
    folder = None if run_dir is None else Path(run_dir)
    overrides = [*settings_texts(settings), *settings_texts(more)]
    result = launch(TrainRequest(preset, overrides, folder, wandb, options, allow_changes))
    return TrainedRun(Path(result["run_dir"]), result)


@checked
def load_run(path: str | os.PathLike[str]) -> TrainedRun:
    """Returns the run in a folder.

    Raises:
        UsageError: there is no run, or its configuration is damaged.
    """
    return TrainedRun(Run.open(path).path)


def _cell(key: str, value: Any) -> str:
    """A cell of the table of evaluations."""
    if value is None:
        return ""
    return percent(value) if key == "win_rate" else f"{value:,.4g}" if isinstance(value, float) else str(value)


def settings_texts(settings: Mapping[str, Any] | Sequence[str]) -> Iterator[str]:
    """Yields settings as ``key=value``."""
    if not isinstance(settings, Mapping):
        yield from settings
        return
    for key, value in settings.items():
        if isinstance(value, GameBase):
            raise UsageError(f"train: {key} expects text, got {shortened(value)}: {OWN_GAMES}")
        yield from settings_of(key, value)
