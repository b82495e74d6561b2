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
        by_player: Draw a line for each player whose rows there are, instead of one for all.
        total: Sum the rows of one iteration, instead of averaging them.
        log: Use a logarithmic axis if all values are positive.
        percent: Whether values are fractions, shown in percent.
        setting: Key of the setting that turns the metric on; the figure is drawn only for runs in which it is neither
            false nor ``none``. Empty: for all runs.
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
    setting: str = ""

    def applies_to(self, config: Mapping[str, Any]) -> bool:
        """Returns whether the figure applies to runs with this configuration."""
        value: Any = config
        for key in filter(None, self.setting.split(".")):
            value = value.get(key, False) if isinstance(value, Mapping) else False
        return not self.setting or value not in (False, None, "none")


READABILITY = Metric(
    name="readability",
    title="What can be read from the play",
    y_label="read right",
    unit="%",
    keys={f"After {ply} plies": f"read/{ply}" for ply in (2, 4, 10, 24, 40)},
    note=(
        "Share of the secrets that a reader names right, in games of the average or only policy against the "
        "last of the opponents of evaluations."
    ),
    percent=True,
    setting="evaluation.readable",
)


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


def losses(
    keys: dict[str, str], title: str = "Training losses", label: str = "mean squared error", by_player: bool = False
) -> Metric:
    """The figure of squared errors."""
    return Metric("losses", title, label, "squared error", keys, by_player=by_player, log=True)


def losses_of_nets(*nets: str, label: str = "mean squared error", by_player: bool = False) -> Metric:
    """The figure of the losses of several nets, with keys such as ``loss/advantage``."""
    return losses({f"Loss of the {net} network": f"loss/{net}" for net in nets}, label=label, by_player=by_player)


def buffers(keys: dict[str, str], by_player: bool = False) -> Metric:
    """The figure of how full buffers are."""
    title, label = "Fill of the buffers", "fill (% of capacity)"
    return Metric("buffers", title, label, "% of capacity", keys, by_player=by_player, percent=True)


def game_length(key: str, unit: str) -> Metric:
    """The figure of the length of games, in decisions or plies."""
    title = "Length of the games of self-play"
    return Metric("game-length", title, f"{unit} per game", unit, {title: key})


def throughput(of: str, keys: dict[str, str]) -> Metric:
    """The figure of speeds."""
    return Metric("throughput", f"Throughput of {of}", "per second", "1/s", keys)


def rows_of_nets(*nets: str) -> dict[str, str]:
    """Keys of the speeds of fits, by their titles."""
    return {f"Rows in fits of the {net} network": f"learner/{net}_rows_per_second" for net in nets}


def entropy(title: str, panel: str) -> Metric:
    """The figure of the entropy of policies."""
    return Metric("entropy", title, "nats", "nats", {panel: "learner/entropy"})


def explained(title: str) -> Metric:
    """The figure of the variance that values explain."""
    return Metric("values", title, "explained (%)", "%", {"Explained variance": "learner/explained"}, percent=True)


def divergence(keys: dict[str, str]) -> Metric:
    """The figure of the divergence of a policy from others."""
    return Metric("divergence", "Divergence of the policy", "nats", "nats", keys)


def clipped(name: str, what: str, title: str, note: str) -> Metric:
    """The figure of samples or decisions that are clipped."""
    keys = {f"{what.capitalize()} without gradient": "learner/clipped"}
    return Metric(name, title, f"clipped (% of {what})", f"% of {what}", keys, note, percent=True)


CLIPPED = clipped(
    "clipped",
    "decisions",
    "Decisions without gradient of the policy",
    "A decision is clipped where the learner's policy has moved away from the one that played.",
)
AGE = Metric(
    "age",
    "Age of the weights that generated the samples",
    "updates of the weights",
    "updates",
    {"Age of the weights that generated the samples": "learner/age_updates"},
)
WAITING = Metric(
    "waiting",
    "Waiting times of actors and learner",
    "seconds per iteration",
    "s per iteration",
    {"Actors wait for the fit": "time/actors_waited_s", "The learner waits for samples": "learner/waited_s"},
    "Whichever finishes an iteration first waits for the other one.",
    total=True,
)
SELF_PLAY_LENGTH = game_length("selfplay/decisions_per_game", "decisions")
LISTED = (
    AGE,
    WAITING,
    throughput(
        "self-play and fits",
        {
            "Decisions in self-play": "selfplay/decisions_per_second",
            "Samples in self-play": "selfplay/samples_per_second",
            "Rows in fits": "learner/rows_per_second",
        },
    ),
    SELF_PLAY_LENGTH,
)
"""Figures of all methods with listed actions."""
