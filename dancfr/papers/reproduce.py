"""Repeats experiments of papers and compares the results with the published ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from dancfr.errors import UsageError, nearest, require_packages
from dancfr.methods.launch import check_options
from dancfr.methods.options import TrainOptions
from dancfr.papers import (
    paper000,
    paper001,
    paper001_readings,
    paper002,
    paper003,
    paper003_nets,
    paper004,
    paper004_flags,
    rudolph2025,
    sokota2022,
    steinberger2020,
)
from dancfr.papers.given_runs import given_runs, none_of, unfinished
from dancfr.papers.trainings import Experiment, Row, Scale, check_overrides, train_settings
from dancfr.report.plots import number
from dancfr.report.report import Table, evaluation_tables, prepare, runs_table, write_page

SEEDS = 2**32
"""Seeds must be below this number."""

EXPERIMENTS: dict[str, Experiment] = (
    paper000.EXPERIMENTS
    | paper001.EXPERIMENTS
    | paper001_readings.EXPERIMENTS
    | paper002.EXPERIMENTS
    | paper003.EXPERIMENTS
    | paper003_nets.EXPERIMENTS
    | paper004.EXPERIMENTS
    | paper004_flags.EXPERIMENTS
    | steinberger2020.EXPERIMENTS
    | sokota2022.EXPERIMENTS
    | rudolph2025.EXPERIMENTS
)
"""All experiments by name."""


def reproduce(
    name: str,
    scale: str = "quick",
    out_dir: str | Path | None = None,
    seeds: Sequence[int] | None = None,
    workers: int | None = None,
    overrides: Sequence[str] = (),
    inline: bool = False,
    game: str | None = None,
    runs: Sequence[str | Path] = (),
) -> Row:
    """Trains the missing runs of an experiment, or takes given ones, and compares the results with those of the paper.

    Args:
        name: One of `EXPERIMENTS`.
        scale: ``quick`` (minutes) or ``paper`` (hours to days).
        out_dir: Folder of the runs and of the report; None: ``runs/<paper>-<scale>``.
        seeds: Seeds of the runs of each setting, below 2**32; None: the seeds of the scale.
        workers: Number of processes that play; None: the number of CPUs.
        overrides: Further ``key=value`` settings of all runs, such as ``iterations=20``. Settings that the experiment
            compares cannot be overridden.
        inline: Train in this process, without Ray.
        game: Game, for experiments on several games; None: the first.
        runs: Runs, or folders of runs, to compare in place of training; each belongs to the setting whose
            configuration it has, whatever its seed, and need not be finished.

    Returns:
        ``experiment``, ``rows`` (``cell``, ``paper``, ``ours``, ``sd``, ``note``), ``files`` (page and PNGs),
        ``seconds``, ``scale``, ``game``, ``runs`` and ``warnings``.

    Raises:
        UsageError: the experiment, scale, game or a setting is unknown, a value or seed is not valid, an override
            changes what the experiment compares, the folder cannot be written or holds runs of other settings, or
            the given runs do not belong to the experiment.
        PackageMissing: what draws the page is not installed; nothing was trained.
        RunError: a training failed or was stopped; the same command resumes it.
    """
    if name not in EXPERIMENTS:
        raise UsageError(nearest(name, list(EXPERIMENTS), "experiment"))
    experiment = EXPERIMENTS[name]
    scales = _scales_of(name, experiment, game)
    if scale not in scales:
        raise UsageError(nearest(scale, list(scales), "scale"))
    if runs and seeds is not None:
        raise UsageError("--seeds chooses what to train, and with --runs nothing is trained: leave out one of them")
    started = perf_counter()
    chosen = scales[scale]
    seeds = _checked(chosen.seeds if seeds is None else seeds)
    check_overrides(chosen, overrides)  # reports errors before the first folder is made
    options = check_options(TrainOptions(workers=workers, device="auto", inline=inline))
    folder = "-".join(filter(None, (experiment.folder, chosen.game, scale)))
    out = Path("runs") / folder if out_dir is None else Path(out_dir)
    page = out / f"{name}.html"
    require_packages("jinja2", "matplotlib")  # they draw the page, after all trainings
    given = given_runs([Path(run) for run in runs], chosen, overrides) if runs else None
    lacking = unfinished(given, chosen, overrides) if given is not None else []
    if given is not None and len(given) < len(chosen.settings) and not experiment.partial:
        absent = next(setting.name for setting in chosen.settings if setting.name not in given)
        raise UsageError(f"{name} compares all of its settings. {none_of(absent)}")
    prepare(page)
    settings = train_settings(out, chosen, seeds, overrides, options) if given is None else given

    shown = experiment.compare(settings, chosen)
    left_out = [*lacking, *shown.left_out]
    note = "; ".join(filter(None, [chosen.note, f"also {', '.join(overrides)}" if overrides else ""]))
    rows = [
        row | {"note": "; ".join(filter(None, [row["note"], note if row["ours"] is not None else ""]))}
        for row in shown.rows
    ]
    tables = [comparison_table(rows, shown.unit)] if rows else []
    tables += [*shown.tables, runs_table(settings), *evaluation_tables(settings)]
    title, text = ", ".join(filter(None, (name, chosen.game, f"{scale} scale"))), experiment.description
    files = write_page(page, title, [text], tables, shown.figures, left_out, settings)
    return {
        "experiment": name,
        "rows": rows,
        "files": files,
        "seconds": perf_counter() - started,
        "scale": scale,
        "game": chosen.game,
        "runs": [str(run.path) for runs in settings.values() for run in runs],
        "warnings": left_out,
    }


def _checked(seeds: Sequence[int]) -> tuple[int, ...]:
    """Returns the seeds; raises UsageError if there are none, or one is repeated or out of range."""
    if not seeds or len(set(seeds)) < len(seeds):
        raise UsageError("--seeds must have at least one seed, each of them once")
    if wrong := [seed for seed in seeds if not 0 <= seed < SEEDS]:
        raise UsageError(f"--seeds must be from 0 to {SEEDS - 1}, got {', '.join(map(str, wrong))}")
    return tuple(seeds)


def _scales_of(name: str, experiment: Experiment, game: str | None) -> Mapping[str, Scale]:
    """Returns the scales of an experiment for a game; None: its only or first game.

    Raises:
        UsageError: the experiment does not include the game.
    """
    if game is None:
        return experiment.scales
    if not experiment.games:
        raise UsageError(f"{name} has a single game: leave out --game")
    if game not in experiment.games:
        raise UsageError(nearest(game, list(experiment.games), "game of this experiment"))
    return experiment.games[game]


def comparison_table(rows: Sequence[Row], unit: str) -> Table:
    """Returns the rows as a table of the report."""

    def cell(value: Any) -> str:
        return "" if value is None else number(float(value))

    lines = tuple((r["cell"], cell(r["paper"]), cell(r["ours"]), cell(r["sd"]), r["note"]) for r in rows)
    return Table("Paper and repetition", unit, ("", "paper", "ours", "sd", "note"), lines)
