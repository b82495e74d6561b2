"""`dancfr.best_response`: how much an agent can lose, from Python."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dancfr.agents.by_name import named_game
from dancfr.agents.exact_response import exploit_beside_exact, exploit_exactly
from dancfr.agents.exploit import ExploitRequest, exploit
from dancfr.agents.given import AsAgent, as_agents
from dancfr.arguments import checked
from dancfr.errors import UsageError
from dancfr.evaluation.arena import name_of
from dancfr.evaluation.effort import describe_effort
from dancfr.methods.options import TrainOptions
from dancfr.notebooks import BAND, axes_for, frame
from dancfr.runs.keys import settings_of
from envs.agent import Agent
from learners.html import html_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


@dataclass(frozen=True, repr=False)
class Response:
    """A best response to an agent, trained or exact.

    Attributes:
        found: What is known of it, as `dancfr exploit --json` prints it.
    """

    found: dict[str, Any]

    @property
    def value(self) -> float:
        """Mean return of the response per game, over both seats, in the game's unit."""
        return float(self.found["value"])

    @property
    def ci95(self) -> tuple[float, float]:
        """95 % interval of `value`; of an exact response, bounds of its numerical error."""
        low, high = self.found["value_ci95"]
        return float(low), float(high)

    @property
    def exploitability(self) -> float:
        """Exploitability of the agent if the response is exact, or else a lower bound with 97.5 % confidence."""
        return float(self.found["exploitability" if self.found["exact"] else "exploitability_at_least"])

    def frame(self) -> "DataFrame":
        """Returns the curves as a frame of pandas: the mean return of the response of each start over its training.

        The columns are ``start``, ``decisions``, ``cpu_seconds`` and ``value``; an exact response has no rows.
        """
        return frame(
            (
                dict(zip(_POINT, (each["start"], *point), strict=True))
                for each in self.found.get("start_curves", ())
                for point in each["curve"]
            ),
            _POINT,
        )

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draws the curves of `frame` over decisions, and the 95 % interval of `value` as a grey band.

        Args:
            ax: Axes of Matplotlib to draw on; None makes a figure.

        Returns:
            The axes.

        Raises:
            UsageError: the response is exact, so it has no curve.
        """
        if self.found["exact"]:
            raise UsageError("an exact response has no curve: leave out exact=True to train one")
        ax = axes_for(ax, "decisions", "mean return of the response", f"Best response to {self.found['agent']}")
        for each in self.found["start_curves"]:
            decisions, _, values = zip(*each["curve"], strict=True) if each["curve"] else ((), (), ())
            ax.plot(decisions, values, marker="o", label=f"start: {each['start']}")
        ax.axhspan(*self.ci95, color="grey", alpha=BAND, label="result")
        ax.legend()
        return ax

    def as_dict(self) -> dict[str, Any]:
        """Returns the object that `dancfr exploit --json` prints."""
        return dict(self.found)

    def __repr__(self) -> str:
        low, high = self.ci95
        bound, effort = "exploitability", ""
        if not self.found["exact"]:
            bound = "exploitability at least"
            effort = f"; {describe_effort(self.found['cpu_seconds'] / 60, self.found['decisions'])}"
        return (
            f"Response(to {self.found['agent']}: wins {self.value:+.4f} a game, 95 % interval {low:+.4f} to "
            f"{high:+.4f}; {bound} {self.exploitability:.4f}{effort})"
        )

    def _repr_html_(self) -> str:
        seats = self.found["seats"]
        return html_table(
            ("moving", "value"), [(seat, f"{part['value']:+.4f}") for seat, part in seats.items()], repr(self)
        )


_POINT = ("start", "decisions", "cpu_seconds", "value")
"""Columns of the frame of a response."""


@checked
def best_response(
    agent: str | Agent | AsAgent,
    game: str | None = None,
    minutes: float | None = None,
    *,
    games: int | None = None,
    exact: bool = False,
    beside_exact: bool = False,
    starts: Sequence[str] = (),
    seed: int | None = None,
    eval_games: int | None = None,
    options: Mapping[str, Any] | Sequence[str] = (),
    known: Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Response:
    """Trains a best response against a frozen agent and measures its winnings: a lower bound of exploitability.

    Args:
        agent: The frozen agent: its name, see `dancfr.agents.by_name`; an object with the methods of
            `envs.agent.Agent`, such as that of `policy_agent`, which is not changed; or a solution or a run.
        game: Name of the game; None: that of the agent, which must have its own.
        minutes: CPU minutes of training and measurement together, in games of teams minutes of the training alone, by
            the clock; None: 5, unless `games` is given.
        games: Games of training.
        exact: Compute an exact response to a memoryless agent of Mini Geister instead.
        beside_exact: Compute the exact exploitability, too: ``found["exact_exploitability"]``.
        starts: What the responses begin with, ``fresh`` or names of agents; empty: as `dancfr exploit` does.
        seed: Seed of all random draws.
        eval_games: Games of the final measurement.
        options: Options of the game, by name or as ``key=value``.
        known: Agents that are measured beside the responses; the bound is that of the best of all, lowered to allow for
            the choice among them.
        out: Folder for the run with result, figure and nets; None stores nothing. For agents with a name.
        progress: Show progress on standard error.

    Raises:
        UsageError: a name is unknown, no game is named, the game is not two-player zero-sum, or a number is out of
            range.
        RunError: the training failed.
    """
    (frozen,) = as_agents((agent,))
    by_name = options.items() if isinstance(options, Mapping) else ()
    settings = [text for key, value in by_name for text in settings_of(key, value)] or list(options)
    name = frozen if isinstance(frozen, str) else name_of(frozen)
    if not isinstance(frozen, str) and name in (*known, *starts):
        name = f"{name} (object)"
    request = ExploitRequest(
        name,
        named_game((frozen,), game),
        settings,
        exact=exact,
        beside_exact=beside_exact,
        starts=tuple(starts),
        minutes=minutes,
        games=games,
        seed=seed,
        eval_games=eval_games,
        known=tuple(known),
        out=None if out is None else Path(out),
        options=TrainOptions(inline=True, progress=progress),
        objects={} if isinstance(frozen, str) else {name: frozen},
    )
    respond = exploit_exactly if exact else exploit_beside_exact if beside_exact else exploit
    return Response(respond(request))
