"""Writes reports on runs: a self-contained HTML file, and each figure as a PNG file."""

import base64
import errno
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from dancfr import __version__
from dancfr.errors import RunError, UsageError, reason
from dancfr.evaluation.statistics import summarise, wilson
from dancfr.methods import method_named
from dancfr.report.figures import all_figures
from dancfr.report.games import games_of
from dancfr.report.history import History, Row, Settings, by_setting, told_apart
from dancfr.report.plots import Plot, number, shown
from dancfr.report.response import response_tables
from dancfr.runs.folder import is_run, recorded_below, refuse_packed
from dancfr.runs.run import Run
from learners.storage import replacing

TEMPLATE = "report.html.j2"
_NUMERIC = re.compile(r"\d(?!.*[A-Za-z]{4}).*")
"""Matches numbers with an optional unit, but not texts that begin with a number."""

FIGURES = "figures"
"""Folder of the PNG files beside the page."""


@dataclass(frozen=True)
class Table:
    """A table of the report; the first cell of each row is a heading."""

    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def read_histories(paths: Sequence[str | os.PathLike[str]]) -> list[History]:
    """Reads the records of runs, skipping repeated paths.

    Raises:
        UsageError: there are no paths, a path is not a run, or a run has an empty record or none.
    """
    if not paths:
        raise UsageError("give at least one run, e.g. runs/geister-quick")
    once = {os.path.realpath(run): run for path in paths for run in _runs_of(Path(path))}
    for path in once.values():
        refuse_packed(path)
    histories = [History.read(path) for path in once.values()]
    for history in histories:
        if not history.train and not history.evaluations:
            if Run.open(history.path).list_strategies():
                lost = history.path / "metrics.jsonl"
                raise UsageError(f"{history.path} has been trained, but its record is gone: restore {lost} from a copy")
            raise UsageError(f"{history.path} has no metrics yet: train it for at least one iteration")
    return told_apart(histories)


def _runs_of(path: Path) -> list[Path]:
    """The run in a folder, or the runs directly below it, such as those of several seeds."""
    return [path] if is_run(path) else recorded_below(path) or [path]


def report(paths: Sequence[str | os.PathLike[str]], out: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """Writes a report on runs.

    Args:
        paths: Folders of runs, or folders directly below which runs are, such as those of several seeds.
        out: Folder of the report, or path of its HTML file; None: the first of these folders.

    Returns:
        ``report`` (the page), ``files`` (the page and the PNGs), ``runs``, ``settings``, ``figures``, ``warnings``.

    Raises:
        UsageError: see `read_histories` and `prepare`.
        RunError: the report could not be written.
    """
    histories = read_histories(paths)
    page = page_path(paths[0] if out is None else out)
    prepare(page)
    damaged = {h.path / "metrics.jsonl": Run.open(h.path).metrics.unreadable() for h in histories}
    unreadable = [f"{path}: {n} lines cannot be read, and are left out" for path, n in damaged.items() if n]
    settings = by_setting(histories)
    figures, left_out = all_figures(settings)
    title = f"Report on {histories[0].name}" if len(histories) == 1 else f"Report on {len(histories)} runs"
    tables = [runs_table(settings), *evaluation_tables(settings), *filter(None, [exact_table(settings)])]
    tables += [Table(*each) for each in response_tables([run for runs in settings.values() for run in runs])]
    tables += games_tables(histories)
    files = write_page(page, title, [], tables, figures, left_out, settings)
    return {
        "report": files[0],
        "files": files,
        "runs": [str(history.path) for history in histories],
        "settings": {setting: [run.name for run in runs] for setting, runs in settings.items()},
        "figures": [figure.name for figure in figures],
        "warnings": [*unreadable, *left_out],
    }


def games_tables(histories: Sequence[History]) -> list[Table]:
    """Returns a table of the recorded games in which the agents of these runs have played; no table without any."""
    rows = tuple(row for history in histories for row in games_of(history.path))
    caption = "The newest ones. The command shows a game in the browser, move by move, with what the agents thought."
    return [Table("Recorded games", caption, ("game", "players", "result", "moves", "watch"), rows)] if rows else []


def page_path(out: str | os.PathLike[str]) -> Path:
    """Returns the path of the HTML file, given this path or its folder."""
    path = Path(out)
    return path if path.suffix in (".html", ".htm") else path / "report.html"


def prepare(page: Path) -> None:
    """Makes the folders of a report, so that problems are reported before its runs are trained.

    Raises:
        UsageError: a folder cannot be made or written.
    """
    folder = page.parent / FIGURES
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if page.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(page))
        for place in (page.parent, folder):
            if not os.access(place, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))
    except OSError as error:
        taken = next((place for place in (folder, *folder.parents) if place.exists() and not place.is_dir()), None)
        cause = f"{taken} is a file" if taken else f"{error.filename or folder}: {reason(error)}"
        raise UsageError(f"cannot write the report {page}: {cause}; choose another --out") from None


def runs_table(settings: Settings) -> Table:
    """Returns a table of the length, time and samples of each run."""
    rows = []
    for setting, runs in settings.items():
        for run in runs:
            config, method = run.config, method_named(run.method)
            samples, speed = run.last(method.samples), run.last(method.speed.key)
            rows.append(
                (
                    run.name,
                    setting,
                    str(config.get("seed", "")),
                    str(run.iterations),
                    duration(run.seconds),
                    number(run.seconds / run.iterations) if run.iterations else "",
                    f"{samples:,}" if samples is not None else "",
                    method.speed.describe(speed) if speed is not None else "",
                    f"{run.info.get('version', '')} {str(run.info.get('git_revision') or '')[:10]}".strip(),
                )
            )
    columns = ("run", "setting", "seed", "iterations", "training", "s per iteration", "samples")
    caption = (
        "Training time does not include evaluations and checkpoints. The speed is that of the newest iteration, in the "
        "part of it that is named."
    )
    return Table("Runs", caption, (*columns, "speed", "dancfr"), tuple(rows))


def evaluation_tables(settings: Settings) -> list[Table]:
    """Returns tables of the last evaluations with Wilson intervals, and of their means over each setting's runs."""
    rows = [_evaluation_row(run, row) for runs in settings.values() for run in runs for row in run.final()]
    if not rows:
        return []
    columns: tuple[str, ...] = ("run", "iteration", "policy", "opponent", "games")
    columns += ("win", "95 % interval", "draw", "loss", "endings (games)")
    caption = (
        "Last evaluation of each run, policy and opponent, with its iteration and number of games. "
        "Intervals of the win rate: Wilson, over games."
    )
    tables = [Table("Last evaluations", caption, columns, tuple(rows))]
    means = [row for setting, runs in settings.items() if len(runs) > 1 for row in _mean_rows(setting, runs)]
    if means:
        caption = (
            "Mean win rate of the last evaluation over independent runs; the number of games is the sum over runs. "
            "Intervals: Student's t, over runs."
        )
        columns = ("setting", "policy", "opponent", "runs", "iteration", "games")
        columns += ("win", "95 % interval", "sd", "worst", "best")
        tables.append(Table("Last evaluations by setting", caption, columns, tuple(means)))
    return tables


def _evaluation_row(run: History, row: Row) -> tuple[str, ...]:
    counts: tuple[str, ...] = ("", "", "")
    games, interval = row.get("games"), ""
    if games:  # rows have either both the number of games and their outcomes, or neither
        interval = _interval(*wilson(row["wins"], games))
        counts = (f"{games:,}", shown(row["draws"] / games, True), shown(row["losses"] / games, True))
    endings = ", ".join(f"{name} {count:,}" for name, count in (row.get("categories") or {}).items())
    names = (run.name, str(row["iteration"]), row["policy"], row["opponent"])
    return (*names, counts[0], shown(row["win_rate"], True), interval, *counts[1:], endings)


def _mean_rows(setting: str, runs: Sequence[History]) -> list[tuple[str, ...]]:
    finals: dict[tuple[str, str], list[Row]] = {}
    for run in runs:
        for row in run.final():
            finals.setdefault((row["policy"], row["opponent"]), []).append(row)
    rows: list[tuple[str, ...]] = []
    for names, found in finals.items():
        rates = [row["win_rate"] for row in found]
        mean = summarise(rates)
        first, last = min(row["iteration"] for row in found), max(row["iteration"] for row in found)
        at = str(last) if first == last else f"{first} to {last}"
        games = f"{sum(row['games'] for row in found):,}" if all("games" in row for row in found) else ""
        spread = _interval(max(0.0, mean.low), min(1.0, mean.high)) if mean.n > 1 else ""
        sd = shown(mean.sd, True) if mean.sd is not None else ""
        ends = shown(min(rates), True), shown(max(rates), True)
        rows.append((setting, *names, str(mean.n), at, games, shown(mean.mean, True), spread, sd, *ends))
    return rows


def exact_table(settings: Settings) -> Table | None:
    """Returns a table of the last exact evaluations, their means over each setting's runs; None without any."""
    rows: list[tuple[str, ...]] = []
    for setting, runs in settings.items():
        last = [{row["policy"]: row for row in run.exact} for run in runs]
        for policy in dict.fromkeys(name for each in last for name in each):
            found = [each[policy] for each in last if policy in each]
            values = [row["nash_conv"] for row in found]
            mean, at = summarise(values), sorted({row["iteration"] for row in found})
            differ = mean.n > 2 and min(values) < max(values)  # equal values do not say how others vary
            interval = f"{max(mean.low, 0.0):.4g} to {mean.high:.4g}" if differ else ""
            names = (setting, policy, str(mean.n), str(at[0]) if len(at) == 1 else f"{at[0]} to {at[-1]}")
            rows.append((*names, f"{mean.mean:.4g}", interval, f"{min(values):.4g}", f"{max(values):.4g}"))
    if not rows:
        return None
    caption = (
        "NashConv of the last exact evaluation, mean over independent runs. Intervals: Student's t, over three runs or "
        "more that differ."
    )
    columns = ("setting", "policy", "runs", "iteration", "NashConv", "95 % interval", "lowest", "highest")
    return Table("Last exact evaluations", caption, columns, tuple(rows))


def _interval(low: float, high: float) -> str:
    return f"{100 * low:.1f} – {100 * high:.1f} %"  # noqa: RUF001 (an en dash between numbers)


def write_page(
    page: Path,
    title: str,
    introduction: Sequence[str],
    tables: Sequence[Table],
    figures: Sequence[Plot],
    left_out: Sequence[str],
    settings: Settings,
) -> list[str]:
    """Writes the page and its PNG files; returns the paths, the page first.

    Raises:
        RunError: a file could not be written.
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
            file.write(html.encode(errors="replace"))  # the name of a folder may be no UTF-8
    except OSError as error:
        raise RunError(f"cannot write the report {page}: {reason(error)}") from None
    return [str(page), *map(str, images)]


def render(**values: Any) -> str:
    """Renders the page with escaped values."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(loader=PackageLoader("dancfr.report", "."), autoescape=True, undefined=StrictUndefined)
    environment.tests["looks_numeric"] = lambda cell: _NUMERIC.fullmatch(str(cell)) is not None
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
    """Formats seconds as ``1 h 05 min``, ``4 min 10 s`` or ``12.3 s``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
