"""The report on one or more runs: one HTML file that needs nothing beside it, and each figure as a PNG."""

import base64
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from dancfr import __version__
from dancfr.errors import RunError, UsageError, reason
from dancfr.evaluation.figures import all_figures
from dancfr.evaluation.history import History, Row, Settings, by_setting
from dancfr.evaluation.plots import Plot, number, shown
from dancfr.evaluation.statistics import summarise, wilson
from learners.storage import replacing

TEMPLATE = "report.html.j2"
FIGURES = "figures"
"""Folder of the PNG files beside the page."""


@dataclass(frozen=True)
class Table:
    """A table of the page; the first cell of a row is its heading."""

    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def read_histories(paths: Sequence[str | os.PathLike[str]]) -> list[History]:
    """The records of runs, each once.

    Raises:
        UsageError: no path, a path that is no run, or a run without a row in its record.
    """
    if not paths:
        raise UsageError("name at least one run, e.g. runs/geister-quick")
    once = {Path(path).resolve(): path for path in paths}
    histories = [History.read(path) for path in once.values()]
    for history in histories:
        if not history.train and not history.evaluations:
            raise UsageError(f"{history.path} has no metrics yet: train at least one iteration")
    return histories


def report(paths: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Writes the report on runs.

    Args:
        paths: Folders of the runs.
        out: Folder of the report, or the name of its HTML file. None: the folder of the first run.

    Returns:
        ``report`` (the page), ``files`` (the page and the PNGs), ``runs``, ``settings``, ``figures``, ``warnings``.

    Raises:
        UsageError: see `read_histories`.
        RunError: the report could not be written.
    """
    histories = read_histories(paths)
    if out is None:
        out = histories[0].path
    settings = by_setting(histories)
    figures, left_out = all_figures(settings)
    title = f"Report on {histories[0].name}" if len(histories) == 1 else f"Report on {len(histories)} runs"
    tables = [runs_table(settings), *evaluation_tables(settings)]
    files = write_page(page_path(out), title, [], tables, figures, left_out, settings)
    return {
        "report": files[0],
        "files": files,
        "runs": [str(history.path) for history in histories],
        "settings": {setting: [run.name for run in runs] for setting, runs in settings.items()},
        "figures": [figure.name for figure in figures],
        "warnings": left_out,
    }


def page_path(out: str | os.PathLike[str]) -> Path:
    """The HTML file for `out`, which is that file or its folder."""
    path = Path(out)
    return path if path.suffix in (".html", ".htm") else path / "report.html"


def runs_table(settings: Settings) -> Table:
    """Length, time and samples of each run."""
    rows = []
    for setting, runs in settings.items():
        for run in runs:
            config = run.info.get("config", {})
            samples, rate = run.last("samples/advantage"), run.last("traversal/decisions_per_second")
            rows.append(
                (
                    run.name,
                    setting,
                    str(config.get("seed", "")),
                    str(run.iterations),
                    duration(run.seconds),
                    number(run.seconds / run.iterations) if run.iterations else "",
                    f"{samples:,}" if samples is not None else "",
                    number(rate) if rate is not None else "",
                    f"{run.info.get('version', '')} {str(run.info.get('git_revision') or '')[:10]}".strip(),
                )
            )
    columns = ("run", "setting", "seed", "iterations", "training", "s an iteration", "advantage samples")
    caption = "Training time leaves evaluations and checkpoints out."
    return Table("Runs", caption, (*columns, "decisions/s", "dancfr"), tuple(rows))


def evaluation_tables(settings: Settings) -> list[Table]:
    """Final evaluations with Wilson intervals, and their means over the runs of each setting of several."""
    rows = [_evaluation_row(run, row) for runs in settings.values() for run in runs for row in run.final()]
    if not rows:
        return []
    columns: tuple[str, ...] = ("run", "iteration", "policy", "opponent", "games")
    columns += ("win", "95 % interval", "draw", "loss", "endings")
    caption = "Last evaluation of each run. Intervals of the win rate: Wilson, over games."
    tables = [Table("Final evaluations", caption, columns, tuple(rows))]
    means = [row for setting, runs in settings.items() if len(runs) > 1 for row in _mean_rows(setting, runs)]
    if means:
        caption = "Mean win rate of the last evaluation over independent runs. Intervals: Student's t, over runs."
        columns = ("setting", "policy", "opponent", "runs", "win", "95 % interval", "sd", "worst", "best")
        tables.append(Table("Final evaluations by setting", caption, columns, tuple(means)))
    return tables


def _evaluation_row(run: History, row: Row) -> tuple[str, ...]:
    games = int(row.get("games", 0))
    low, high = row.get("ci95") or wilson(int(row.get("wins", 0)), games)
    categories = row.get("categories") or {}
    return (
        run.name,
        str(row["iteration"]),
        str(row["policy"]),
        str(row["opponent"]),
        f"{games:,}",
        shown(row["win_rate"], True),
        f"{100 * low:.1f} – {100 * high:.1f} %",  # noqa: RUF001 (an en dash between numbers)
        shown(row.get("draws", 0) / games, True) if games else "",
        shown(row.get("losses", 0) / games, True) if games else "",
        ", ".join(f"{name} {count:,}" for name, count in categories.items()),
    )


def _mean_rows(setting: str, runs: Sequence[History]) -> list[tuple[str, ...]]:
    finals: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        for row in run.final():
            finals.setdefault((row["policy"], row["opponent"]), []).append(row["win_rate"])
    rows = []
    for (policy, opponent), values in finals.items():
        found = summarise(values)
        interval = f"{100 * max(0.0, found.low):.1f} – {100 * min(1.0, found.high):.1f} %"  # noqa: RUF001
        numbers = (shown(value, True) for value in (found.sd or 0.0, min(values), max(values)))
        spread = interval if found.n > 1 else ""
        rows.append((setting, policy, opponent, str(found.n), shown(found.mean, True), spread, *numbers))
    return rows


def write_page(
    page: Path,
    title: str,
    introduction: Sequence[str],
    tables: Sequence[Table],
    figures: Sequence[Plot],
    left_out: Sequence[str],
    settings: Settings,
) -> list[str]:
    """Writes the page and its PNGs; the paths, the page first.

    Raises:
        RunError: the disk refused.
    """
    runs = [
        {"name": run.name, "setting": setting, "config": json.dumps(run.info, indent=2)}
        for setting, members in settings.items()
        for run in members
    ]
    html = render(
        title=title,
        written=f"{datetime.now():%Y-%m-%d %H:%M}",
        version=__version__,
        introduction=introduction,
        tables=tables,
        figures=[_embedded(figure) for figure in figures],
        left_out=left_out,
        runs=runs,
    )
    try:
        folder = page.parent / FIGURES
        folder.mkdir(parents=True, exist_ok=True)
        images = [folder / f"{figure.name}.png" for figure in figures]
        for path, figure in zip(images, figures, strict=True):
            with replacing(path) as file:
                file.write(figure.png)
        with replacing(page) as file:
            file.write(html.encode())
    except OSError as error:
        raise RunError(f"cannot write the report {page}: {reason(error)}") from None
    return [str(page), *map(str, images)]


def render(**values: Any) -> str:
    """The page as text; everything put into it is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("dancfr.evaluation", "."), autoescape=True, undefined=StrictUndefined
    )
    environment.tests["looks_numeric"] = lambda cell: str(cell)[:1].isdecimal()
    return environment.get_template(TEMPLATE).render(values)


def _embedded(figure: Plot) -> dict[str, Any]:
    return {
        "name": figure.name,
        "title": figure.title,
        "caption": figure.caption,
        "alt": figure.alt,
        "uri": "data:image/png;base64," + base64.b64encode(figure.png).decode(),
        "columns": figure.columns,
        "rows": figure.rows,
    }


def duration(seconds: float) -> str:
    """Seconds as ``1 h 05 min``, ``4 min 10 s`` or ``12.3 s``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
