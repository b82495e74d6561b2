"""Repeats the experiments of papers and sets the results beside the published ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from dancfr.errors import UsageError, nearest
from dancfr.methods.launch import check_options
from dancfr.methods.options import TrainOptions
from dancfr.papers import paper000, paper001, paper002, paper003, paper003_nets, paper004, steinberger2020
from dancfr.papers.trainings import Experiment, Row, Scale, check_overrides, train_settings
from dancfr.report.plots import number
from dancfr.report.report import Table, evaluation_tables, prepare, runs_table, write_page

SEEDS = 2**32
"""How many seeds there are: a run takes those below."""

EXPERIMENTS: dict[str, Experiment] = (
    paper000.EXPERIMENTS
    | paper001.EXPERIMENTS
    | paper002.EXPERIMENTS
    | paper003.EXPERIMENTS
    | paper003_nets.EXPERIMENTS
    | paper004.EXPERIMENTS
    | steinberger2020.EXPERIMENTS
)
"""What can be repeated."""


def reproduce(
    name: str,
    scale: str = "quick",
    out_dir: str | Path | None = None,
    seeds: Sequence[int] | None = None,
    workers: int | None = None,
    overrides: Sequence[str] = (),
    inline: bool = False,
    game: str | None = None,
) -> Row:
    """Trains what an experiment needs and is not there yet, and compares it with the paper.

    Args:
        name: One of `EXPERIMENTS`.
        scale: ``quick`` (minutes) or ``paper`` (hours to days).
        out_dir: Folder of the runs and of the report; None: ``runs/<paper>-<scale>``.
        seeds: Of the runs of each setting, each below 2**32; None: as many as the scale says.
        workers: Processes that play; None: one a CPU.
        overrides: Further ``key=value`` settings for all presets, such as ``iterations=20``; none that would undo
            what the experiment compares.
        inline: Train in this process, without Ray.
        game: Which one, of an experiment of several; None: the first.

    Returns:
        ``experiment``, ``rows`` (``cell``, ``paper``, ``ours``, ``sd``, ``note``), ``files`` (page and PNGs),
        ``seconds``, ``scale``, ``runs``, ``warnings``.

    Raises:
        UsageError: unknown experiment, scale or setting, a setting that does not fit or in which the runs are to
            differ, a wrong seed, or a folder that cannot be written or has runs of other settings.
        RunError: a training failed or was stopped; the same command goes on from there.
    """
    if name not in EXPERIMENTS:
        raise UsageError(nearest(name, list(EXPERIMENTS), "experiment"))
    experiment = EXPERIMENTS[name]
    scales = _scales_of(name, experiment, game)
    if scale not in scales:
        raise UsageError(nearest(scale, list(scales), "scale"))
    started = perf_counter()
    chosen = scales[scale]
    seeds = tuple(chosen.seeds if seeds is None else seeds)
    if not seeds or len(set(seeds)) < len(seeds):
        raise UsageError("an experiment needs at least one seed, each once")
    if wrong := [seed for seed in seeds if not 0 <= seed < SEEDS]:
        raise UsageError(f"seeds are integers from 0 to {SEEDS - 1}, not {', '.join(map(str, wrong))}")
    check_overrides(chosen, overrides)  # what is wrong is refused before the first folder is made
    options = check_options(TrainOptions(workers=workers, device="auto", inline=inline))
    folder = "-".join(filter(None, (experiment.folder, chosen.game, scale)))
    out = Path("runs") / folder if out_dir is None else Path(out_dir)
    page = out / f"{name}.html"
    prepare(page)
    settings = train_settings(out, chosen, seeds, overrides, options)

    shown = experiment.compare(settings, chosen)
    note = "; ".join(filter(None, [chosen.note, f"also {', '.join(overrides)}" if overrides else ""]))
    rows = [
        row | {"note": "; ".join(filter(None, [row["note"], note if row["ours"] is not None else ""]))}
        for row in shown.rows
    ]
    tables = [comparison_table(rows, shown.unit)] if rows else []
    tables += [*shown.tables, runs_table(settings), *evaluation_tables(settings)]
    title, text = ", ".join(filter(None, (name, chosen.game, f"{scale} scale"))), experiment.description
    files = write_page(page, title, [text], tables, shown.figures, shown.left_out, settings)
    return {
        "experiment": name,
        "rows": rows,
        "files": files,
        "seconds": perf_counter() - started,
        "scale": scale,
        "game": chosen.game,
        "runs": [str(run.path) for runs in settings.values() for run in runs],
        "warnings": shown.left_out,
    }


def _scales_of(name: str, experiment: Experiment, game: str | None) -> Mapping[str, Scale]:
    """The scales of an experiment, for the game that was chosen.

    Raises:
        UsageError: it is not of that game.
    """
    if game is None:
        return experiment.scales
    if not experiment.games:
        raise UsageError(f"{name} is of one game: leave out --game")
    if game not in experiment.games:
        raise UsageError(nearest(game, list(experiment.games), "game of this experiment"))
    return experiment.games[game]


def comparison_table(rows: Sequence[Row], unit: str) -> Table:
    """The rows as a table of the page."""

    def cell(value: Any) -> str:
        return "" if value is None else number(float(value))

    lines = tuple((r["cell"], cell(r["paper"]), cell(r["ours"]), cell(r["sd"]), r["note"]) for r in rows)
    return Table("Paper and repetition", unit, ("", "paper", "ours", "sd", "note"), lines)
