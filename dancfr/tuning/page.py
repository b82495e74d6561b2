"""The page of a search: the comparison, the best settings, all trials, and their values over the search."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dancfr.report.history import History, Settings
from dancfr.report.plots import COLOURS, Plot, finish, frame, grid, number, plain_ticks, png_of
from dancfr.report.report import Table, duration, write_page
from dancfr.tuning.comparison import SETTINGS
from dancfr.tuning.study import Plan
from dancfr.values import show

NAMES = {"best": "best settings", "preset": "preset's own settings"}


def write_tuning(page: Path, plan: Plan, result: Mapping[str, Any], comparison: Mapping[str, Any] | None) -> list[str]:
    """Writes the page of a search and its figure; returns the paths, the page first.

    Args:
        page: The HTML file.
        plan: The plan of the search.
        result: The result of `dancfr.tuning.results.summary`, with a best trial.
        comparison: The result of `dancfr.tuning.comparison.compare`; None if there is none.

    Raises:
        RunError: a file could not be written.
    """
    seeds = result["seeds"]
    text = [
        f"Search over {', '.join(plan.space)} of {' '.join((plan.preset, *plan.overrides))}: {len(result['trials'])} "
        f"trials, {_metric(plan)}, {result['direction']}; mean of {_count(len(seeds))}, seed {seeds[0]}"
        f"{f' to {seeds[-1]}' if len(seeds) > 1 else ''}.",
        f"Best settings (trial {result['best']['number']}): {result['best']['command']}",
        "The best value of a search is the best of many, and therefore better than what its settings reach again.",
    ]
    runs: Settings = {}
    tables = []
    if comparison is not None:
        runs = {NAMES[each]: [History.read(path) for path in comparison[each]["runs"]] for each in SETTINGS}
        tables.append(_comparison_table(plan, comparison))
    tables.append(_trials_table(plan, result))
    if result["importance"]:
        rows = tuple((key, f"{100 * share:.0f} %") for key, share in result["importance"].items())
        caption = "Share of each setting in the differences between complete trials (PED-ANOVA)."
        tables.append(Table("Importance of the settings", caption, ("setting", "share"), rows))
    return write_page(page, f"Search for {plan.preset}", text, tables, [draw(plan, result)], [], runs)


def _metric(plan: Plan) -> str:
    return f"{plan.metric_of_runs().label} of the last evaluation"


def _count(runs: int) -> str:
    return "1 run per trial" if runs == 1 else f"{runs} runs per trial"


def _comparison_table(plan: Plan, comparison: Mapping[str, Any]) -> Table:
    metric, rows = plan.metric_of_runs(), []
    for each in SETTINGS:
        found = comparison[each]
        interval = "" if found["ci95"] is None else " to ".join(metric.format(end) for end in found["ci95"])
        values = ", ".join(metric.format(value) for value in found["values"])
        rows.append((NAMES[each], str(len(found["values"])), metric.format(found["mean"]), interval, values))
    caption = f"{_metric(plan)}, with seeds that the search has not used and the same budget. Intervals: Student's t."
    columns = ("settings", "runs", "mean", "95 % interval", "values by seed")
    return Table("Best settings and the preset's own", caption, columns, tuple(rows))


def _trials_table(plan: Plan, result: Mapping[str, Any]) -> Table:
    metric, rows = plan.metric_of_runs(), []
    for trial in result["trials"]:
        value = "" if trial["value"] is None else metric.format(trial["value"])
        settings = [show(trial["settings"].get(key, "")) for key in plan.space]
        seconds = "" if trial["seconds"] is None else duration(trial["seconds"])
        rows.append((str(trial["number"]), trial["cause"] or trial["state"], value, *settings, seconds))
    caption = f"{_metric(plan)}; for a pruned trial the last one before it was ended. Times are those of the clock."
    return Table("Trials", caption, ("trial", "state", metric.label, *plan.space, "time"), tuple(rows))


def draw(plan: Plan, result: Mapping[str, Any]) -> Plot:
    """Draws the values of the trials in the order of the search, and the best one so far."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    metric = plan.metric_of_runs()
    scale = 100.0 if metric.maximised else 1.0
    figure, (axis, *_) = grid(1)
    for place, (state, marker) in enumerate({"complete": "o", "pruned": "x"}.items()):
        found = [each for each in result["trials"] if each["state"] == state and each["value"] is not None]
        if found:
            x, y = [each["number"] for each in found], [scale * each["value"] for each in found]
            axis.plot(x, y, marker, color=COLOURS[place], ms=5, label=state)
    complete = [each for each in result["trials"] if each["state"] == "complete"]
    join = np.maximum if metric.maximised else np.minimum
    best = scale * join.accumulate([each["value"] for each in complete])
    x = [*(each["number"] for each in complete), max(each["number"] for each in result["trials"])]
    axis.step(x, [*best, best[-1]], where="post", color=COLOURS[2], lw=1.5, label="best so far")
    finish(axis, "", "trial", f"{metric.label}{' (%)' if metric.maximised else ''}")
    axis.xaxis.set_major_locator(MaxNLocator(9, integer=True))
    if not metric.maximised and all(each["value"] > 0 for each in result["trials"] if each["value"] is not None):
        axis.set_yscale("log")
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        plain_ticks(axis.yaxis)
    title = "Values of the trials"
    note = f"{_metric(plan)}; a pruned trial has the last one before it was ended."
    frame(figure, [axis], title, note)
    rows = tuple((str(each["number"]), number(each["value"])) for each in complete)
    alt = f"{title}. The best of {len(complete)} complete trials has {metric.format(result['best']['value'])}."
    return Plot("trials", title, note, alt, png_of(figure), ("trial", metric.label), rows)
