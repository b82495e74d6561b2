"""Trained best responses in reports: the learning curve of one, and those that lie in the folders of runs."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, FiniteFloat

from dancfr.errors import DancfrError, RunError, reason
from dancfr.evaluation.effort import count, describe_curve, describe_effort
from dancfr.evaluation.statistics import Band
from dancfr.methods.agent_name import parse_name
from dancfr.methods.best_response.config import RESULT
from dancfr.report.history import History
from dancfr.report.plots import Line, Panel, Plot, draw_lines

FIGURE = "exploit.png"


def write_figure(folder: Path, result: Mapping[str, Any]) -> str:
    """Draws the curve of a result of `dancfr exploit` to a file in a folder; returns its path.

    Raises:
        RunError: the file cannot be written.
    """
    path = folder / FIGURE
    try:
        path.write_bytes(draw(result).png)
    except OSError as error:
        raise RunError(f"cannot write {path}: {reason(error)}") from None
    return str(path)


def draw(result: Mapping[str, Any]) -> Plot:
    """Draws the mean return of the response from each start over its own decisions."""
    lines, names = [], [each["start"] for each in result["start_curves"]]
    for number, each in enumerate(result["start_curves"]):
        if each["curve"]:
            x, _, y = np.array(each["curve"], np.float64).T
            copy = names[:number].count(each["start"])
            label = f"from {each['start']}{f' ({copy + 1})' if copy else ''}"
            lines.append(Line(label, Band(x, y, np.zeros_like(y), y, y, 1, known=False), number, number))
    title = f"A best response to {result['agent']} in {result['game']}"
    low, high = result["value_ci95"]
    note = (
        f"In {result['eval_games']:,} new games the chosen nets have a mean return of {result['value']:+.3f} "
        f"(95 % interval {low:+.3f} to {high:+.3f}), by "
        f"{describe_effort(result['cpu_seconds'] / 60, result['decisions'])}."
    )
    panel = Panel(title, "decisions of the response", "mean return", lines, reference=(result["value"], "the result"))
    return draw_lines("exploit", title, note, [panel], "return", note)


class StartCurve(BaseModel):
    """The curve of a start: decisions, CPU seconds and mean return of each point."""

    start: str
    curve: tuple[tuple[FiniteFloat, FiniteFloat, FiniteFloat], ...]


class Budget(BaseModel):
    """The limits of a training: minutes, which are CPU minutes but for teams, and games."""

    minutes: FiniteFloat | None = None
    games: int | None = None

    def describe(self, minutes: str) -> str:
        """Formats the limits; `minutes` says which ones are counted."""
        limits = [] if self.minutes is None else [f"{self.minutes:g} {minutes}"]
        limits += [] if self.games is None else [f"{self.games:,} games"]
        return " or ".join(limits)


class Response(BaseModel):
    """The part of a result of `dancfr exploit` that reports show; those before 0.4 lack the last four.

    Only that of a team has a `win_rate`.
    """

    agent: str
    value: FiniteFloat
    value_ci95: tuple[FiniteFloat, FiniteFloat]
    games: int
    seconds: FiniteFloat
    starts: tuple[str, ...]
    eval_games: int
    bound_by: str = "response"
    win_rate: FiniteFloat | None = None
    cpu_seconds: FiniteFloat | None = None
    decisions: int | None = None
    budget: Budget = Budget()
    start_curves: tuple[StartCurve, ...] = ()


def read_responses(run: Path, first_name: str) -> list[tuple[Path, Response]]:
    """The results of best responses to the agent of a run that are stored in folders of the run, as
    ``dancfr exploit RUN --out RUN/response`` does; those of other agents and damaged files are left out.

    Args:
        run: Folder of the run.
        first_name: Name of the folder when the run was started; it may have been renamed after the response.
    """
    found, names = [], (os.path.basename(os.path.realpath(run)), first_name)
    for file in sorted(run.glob(f"*/{RESULT}")):
        try:
            response = Response.model_validate_json(file.read_bytes())
            base = parse_name(response.agent).base
            own = Path(base).name in names or os.path.realpath(base) == os.path.realpath(run)  # by way of a link
        except (OSError, ValueError, DancfrError):  # pydantic's ValidationError is a ValueError
            continue
        if own:
            found.append((file.parent, response))
    return found


Cells = tuple[str, str, tuple[str, ...], tuple[tuple[str, ...], ...]]
"""Title, caption, columns and rows of a table."""


def response_tables(runs: Sequence[History]) -> list[Cells]:
    """Returns tables of the best responses that lie in the folders of runs; none if there is none.

    A bound rises with the budget of the response, so each budget has a table of its own.
    """
    found = [(run, folder, each) for run in runs for folder, each in read_responses(run.path, run.info["name"])]
    tables: list[Cells] = []
    for budget in sorted({_budget(each) for _, _, each in found}):
        rows = tuple(_row(run.name, folder.name, each) for run, folder, each in found if _budget(each) == budget)
        caption = (
            "What a best response, trained against the frozen agent, wins a game on average: a lower bound of how much "
            "the agent can lose to an opponent who knows it. Win rates against bots say nothing of this. The bound "
            "rises with the budget, so only agents in one table are compared."
        )
        columns = "run", "response", "return of the response", "95 % interval", "games", "bound by", "cost", "training"
        tables.append((f"Exploitability: responses of {budget}", caption, columns, rows))
    curves = tuple(
        (run.name, folder.name, each.start, count(int(each.curve[-1][0])), f"{each.curve[-1][1]:.0f}", shown)
        for run, folder, response in found
        for each in response.start_curves
        if (shown := describe_curve(each.curve))
    )
    if curves:
        caption = "A curve that still rises at its end shows that the bound is loose."
        heads = "run", "response", "start", "decisions", "CPU s", "mean return (after decisions)"
        tables.append(("Curves of the responses", caption, heads, curves))
    return tables


def _budget(found: Response) -> str:
    """The budget of a response; before 0.4 the record has the CPU time of the training alone."""
    minutes = "CPU minutes" if found.win_rate is None else "minutes of training"
    return found.budget.describe(minutes) or f"{found.seconds:.0f} s of training"


def _row(run: str, folder: str, found: Response) -> tuple[str, ...]:
    low, high = found.value_ci95
    seconds = found.cpu_seconds
    cost = describe_effort(None if seconds is None else seconds / 60, found.decisions)
    trained = f"{found.games:,} games from {', '.join(found.starts)}"
    bound = f"{found.value:+.3f}", f"{low:+.3f} to {high:+.3f}", f"{found.eval_games:,}"
    return run, folder, *bound, found.bound_by, cost, trained
