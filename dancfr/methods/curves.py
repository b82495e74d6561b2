"""What a report draws of the runs of a method: the phases of an iteration, and figures of plain metrics."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

APART = ("evaluation", "checkpoint")
"""Phases that the training time leaves out."""

APART_KEYS = {phase: f"time/{phase}_s" for phase in APART}
"""Name of such a phase to the key of its seconds in a training row."""


@dataclass(frozen=True)
class Metric:
    """A figure of plain metrics over iterations.

    Attributes:
        name: Name of the figure and of its file.
        title: Heading.
        y_label: Label of the vertical axis.
        unit: Unit of the values, for the headings of the table.
        keys: Title of a panel to key of a training row.
        note: Text below the figure.
        by_player: Draw a line for each player, instead of one for all.
        total: Sum the rows of one iteration, instead of averaging them.
        log: Use a logarithmic axis where all values are positive.
        percent: Values are shares.
        weighted: Draw it only for runs that weigh their samples by importance.
    """

    name: str
    title: str
    y_label: str
    unit: str
    keys: dict[str, str]
    note: str = ""
    by_player: bool = False
    total: bool = False
    log: bool = False
    percent: bool = False
    weighted: bool = False

    def applies_to(self, config: Mapping[str, Any]) -> bool:
        """Whether the figure says something about a run with this configuration."""
        return not self.weighted or config.get("importance", "none") != "none"


@dataclass(frozen=True)
class Curves:
    """What a report draws of the runs of a method.

    Attributes:
        phases: Name of a phase to the key of its seconds in a training row.
        overlap: Why phases do not add up to the training time.
        counted: When the seconds of a phase that runs beside others are counted.
        metrics: Figures of plain metrics.
    """

    phases: dict[str, str]
    overlap: str
    counted: str
    metrics: tuple[Metric, ...]

    def overlapping(self, apart: str = "") -> str:
        """A sentence on phases that overlap.

        Args:
            apart: How the figure shows evaluations and checkpoints.
        """
        return (
            f"Phases overlap, since {self.overlap}: they do not add up to the training time, of which evaluations and "
            f"checkpoints{apart} are no part."
        )

    @property
    def phase_times(self) -> Metric:
        """Seconds of each phase in each iteration."""
        titles = {
            f"{phase.capitalize()} (no part of the training time)" if phase in APART else phase.capitalize(): key
            for phase, key in self.phases.items()
        }
        note = f"{self.overlapping()} {self.counted}"
        title = "Time of each phase by iteration"
        return Metric(
            "phase-times", title, "seconds per iteration", "s per iteration", titles, note, total=True, log=True
        )
