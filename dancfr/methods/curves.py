"""Describes the figures that reports draw for a method: times of the phases of an iteration, and plain metrics."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

APART = ("evaluation", "checkpoint")
"""Phases that do not count as training time."""

APART_KEYS = {phase: f"time/{phase}_s" for phase in APART}
"""Key of the seconds in training rows for each of these phases."""


@dataclass(frozen=True)
class Metric:
    """A figure that draws metrics of training rows over iterations.

    Attributes:
        name: Name of the figure and of its file.
        title: Heading.
        y_label: Label of the vertical axis.
        unit: Unit of the values, for the headings of the table.
        keys: Key of a training row for each panel, by the panel's title.
        note: Text below the figure.
        by_player: Draw a line for each player, instead of one for all.
        total: Sum the rows of one iteration, instead of averaging them.
        log: Use a logarithmic axis if all values are positive.
        percent: Whether values are fractions, shown in percent.
        weighted: Draw the figure only for runs with importance weights.
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
        """Returns whether the figure applies to runs with this configuration."""
        return not self.weighted or config.get("importance", "none") != "none"


@dataclass(frozen=True)
class Curves:
    """The figures of a method.

    Attributes:
        phases: Key of the seconds in training rows for each phase, by the name of the phase.
        overlap: Reason why the phases do not add up to the training time, as part of a sentence.
        counted: A sentence that says to which iteration the time of a concurrent phase is attributed.
        metrics: Figures of plain metrics.
    """

    phases: dict[str, str]
    overlap: str
    counted: str
    metrics: tuple[Metric, ...]

    def overlapping(self, apart: str = "") -> str:
        """Returns a sentence about overlapping phases.

        Args:
            apart: A parenthesis that says how the figure shows evaluations and checkpoints.
        """
        return (
            f"Phases overlap, since {self.overlap}, so they do not add up to the training time, which excludes "
            f"evaluations and checkpoints{apart}."
        )

    @property
    def phase_times(self) -> Metric:
        """The figure of the seconds of each phase per iteration."""
        titles = {
            f"{phase.capitalize()} (not counted as training)" if phase in APART else phase.capitalize(): key
            for phase, key in self.phases.items()
        }
        note = f"{self.overlapping()} {self.counted}"
        title = "Time of each phase by iteration"
        return Metric(
            "phase-times", title, "seconds per iteration", "s per iteration", titles, note, total=True, log=True
        )
