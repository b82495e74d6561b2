"""Saves a report in a project of Weights & Biases that shows its runs by subject:

    python -m dancfr.watch.wandb_report ENTITY/PROJECT [TITLE]

Panels choose their metrics by patterns, so runs of all methods and games share a report, and runs to come are in it.
Needs `wandb-workspaces`.
"""

import sys
from typing import Any, NamedTuple

from dancfr.errors import DancfrError, RunError, UsageError, nearest, warn
from dancfr.watch.wandb_reader import explained


class Section(NamedTuple):
    """A heading with panels below.

    Attributes:
        title: The heading.
        about: What the panels show.
        x: The metric on the x axes.
        panels: Pattern of the metrics of each panel, by its title.
    """

    title: str
    about: str
    x: str
    panels: dict[str, str]


STRENGTH = {
    "Share of games won": r"evaluation/.+/win_rate",
    "Mean return": r"evaluation/.+/mean_return",
    "NashConv": r"evaluation/.+/nash_conv",
}
"""Panels of learning curves."""

SECTIONS = (
    Section(
        "How good the policies are",
        "Win rates and, where it is computed exactly, NashConv, over the decisions played in training.",
        "evaluation/decisions",
        STRENGTH,
    ),
    Section(
        "How long it takes",
        "The same over seconds of training.",
        "evaluation/elapsed_s",
        STRENGTH,
    ),
    Section(
        "Throughput", "What workers and learners do in a second.", "iteration", {"Speeds": r".+_per_second(_each)?"}
    ),
    Section(
        "Learning",
        "Losses of the nets, and how full the buffers are.",
        "iteration",
        {"Losses": r"loss/.+", "Buffers": r"buffer/.+_fill", "Samples": r"samples/.+"},
    ),
    Section(
        "Workers and faults",
        "Workers that are alive, chunks in the queue, and what was lost and recovered.",
        "iteration",
        {"Workers": r"workers/(alive|died|late|raised|replaced)", "Queue": r"queue/.+", "Recoveries": r"events/.+"},
    ),
)
"""The sections of the report, in their order."""

TABLES = {
    "tables/evaluations": "Win rates with 95 % intervals",
    "tables/exploitability": "Exact evaluations",
    "tables/best_responses": "Trained best responses",
}
"""Titles of the tables that runs send at their end."""


def save_report(project: str, title: str = "Runs of dancfr") -> str:
    """Saves a new report of a project.

    Args:
        project: ``ENTITY/PROJECT``.
        title: Title of the report.

    Returns:
        The address of the report.

    Raises:
        UsageError: there is no such project, or a package is missing.
        RunError: the server does not take the report.
    """
    entity, _, name = project.partition("/")
    if not entity or not name or "/" in name:
        raise UsageError(f"write the project as ENTITY/PROJECT, got {project!r}")
    if not 0 < len(title) <= 128:
        raise UsageError("a title has 1 to 128 characters")
    try:
        import wandb
        from wandb_workspaces.reports import v2
    except ModuleNotFoundError:
        raise UsageError("a report needs wandb-workspaces: pip install wandb-workspaces") from None
    try:
        known = sorted(each.name for each in wandb.Api().projects(entity))
        if name in known:  # W&B would make a project that does not exist
            report = v2.Report(entity=entity, project=name, title=title, width="fluid")
            report.blocks = _blocks(v2, v2.Runset(entity=entity, project=name))
            return str(report.save().url)
    except Exception as error:
        raise RunError(explained(error)) from None
    raise UsageError(nearest(name, known, f"project of {entity}"))


def _blocks(v2: Any, runs: Any) -> list[Any]:
    """Returns the headings and panels of a report of runs."""
    found = []
    for section in SECTIONS:
        panels = [
            v2.LinePlot(title=title, x=section.x, metric_regex=pattern, layout=v2.Layout(x=12 * i, w=12, h=9))
            for i, (title, pattern) in enumerate(section.panels.items())
        ]
        found += [v2.H2(section.title), v2.P(section.about), v2.PanelGrid(runsets=[runs], panels=panels)]
    shown = [
        v2.WeavePanelSummaryTable(table_name=table, layout=v2.Layout(y=9 * i, w=24, h=9))
        for i, table in enumerate(TABLES)
    ]
    found += [v2.H2("Tables"), v2.P("; ".join(TABLES.values()) + "."), v2.PanelGrid(runsets=[runs], panels=shown)]
    return found


if __name__ == "__main__":
    try:
        if not 2 <= len(sys.argv) <= 3 or sys.argv[1].startswith("-"):
            raise UsageError("write ENTITY/PROJECT, and a title if you like")
        print(save_report(*sys.argv[1:]))
    except DancfrError as failure:
        warn(f"dancfr: {failure}")
        sys.exit(failure.exit_code)
