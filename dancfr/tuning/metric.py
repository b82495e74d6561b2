"""The metric of a search, as the evaluations of a run record it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from dancfr.errors import UsageError
from dancfr.methods.method import Method
from dancfr.methods.settings import RunConfig
from dancfr.report.history import History

EXPLOITABILITY = "exploitability"
WINS = "wins:"


@dataclass(frozen=True)
class Metric:
    """A metric: NashConv, which is minimised, or the win rate against a bot, which is maximised.

    It is that of the average policy; where a method evaluates others only, that of the first one.

    Attributes:
        name: ``exploitability``, or ``wins:`` and the name of a bot.
    """

    name: str

    @classmethod
    def named(cls, name: str | None, method: Method, config: RunConfig) -> Self:
        """Returns the metric with a name.

        Args:
            name: The name; None: ``exploitability`` if the evaluation is exact, else the win rate against the bot, if
                there is only one.
            method: The method of the runs.
            config: Their configuration.

        Raises:
            UsageError: the evaluation of this configuration does not produce the metric.
        """
        produced = metrics_of(method, config)
        if not config.evaluation.every:
            raise UsageError("evaluation.every=0: the runs would not be evaluated; set evaluation.every")
        if not produced:
            raise UsageError(f"runs of {method.name} have no evaluation that trials could be compared by")
        if name is None:
            if produced[0] != EXPLOITABILITY and len(produced) > 1:
                raise UsageError(f"choose a metric, as there is no exact evaluation: --metric {' or '.join(produced)}")
            return cls(produced[0])
        if name not in produced:
            raise UsageError(
                f"the evaluation of this preset does not produce the metric {name!r}; it produces "
                f"{', '.join(produced)} (evaluation.exploitability and evaluation.opponents change this)"
            )
        return cls(name)

    @property
    def maximised(self) -> bool:
        """Whether higher is better."""
        return self.name != EXPLOITABILITY

    @property
    def label(self) -> str:
        """The metric in words."""
        return f"games won against {self.name.removeprefix(WINS)}" if self.maximised else "NashConv"

    def format(self, value: float) -> str:
        """Formats a value."""
        return f"{100 * value:.1f} %" if self.maximised else f"{value:.4g}"

    def of(self, row: Mapping[str, Any]) -> float | None:
        """Returns the value of a row of a record; None if the row is about something else."""
        if not self.maximised:
            return float(row["nash_conv"]) if row.get("kind") == "exploitability" else None
        against = row.get("kind") == "evaluation" and row.get("opponent") == self.name.removeprefix(WINS)
        return float(row["win_rate"]) if against else None

    def values(self, history: History) -> list[tuple[int, float]]:
        """Returns the values of a run with their iterations, in this order."""
        rows = history.evaluations if self.maximised else history.exact
        found = [(row, value) for row in rows if (value := self.of(row)) is not None]
        return [(row["iteration"], value) for row, value in found if row["policy"] == found[0][0]["policy"]]


def metrics_of(method: Method, config: RunConfig) -> list[str]:
    """Returns the names of the metrics that the evaluation of a configuration produces."""
    # Methods that store strategies with exact evaluations make them without being asked.
    exact = getattr(config.evaluation, EXPLOITABILITY, False) or method.stored_with == EXPLOITABILITY
    return [*([EXPLOITABILITY] if exact else []), *(f"{WINS}{name}" for name in config.evaluation.opponents)]
