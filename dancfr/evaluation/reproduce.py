"""Repeats the experiments of papers and sets the results beside the published ones.

Paper 000 trains four settings of DREAM on full Geister, four times each, and shows them in Figs 3, 4 and 5-8. The
three experiments here share those runs: a run that is complete in the output folder is used, an interrupted one is
gone on with, and only what is missing is trained.
"""

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from dancfr.config import apply_overrides, refuse_changes
from dancfr.errors import RunError, UsageError, nearest
from dancfr.evaluation.figures import Wanted, build, wanted_single_runs, wanted_times, wanted_win_rates
from dancfr.evaluation.history import History, Settings
from dancfr.evaluation.plots import number
from dancfr.evaluation.report import Table, evaluation_tables, prepare, runs_table, write_page
from dancfr.evaluation.statistics import summarise
from dancfr.launch import TrainRequest, find_preset, train
from dancfr.options import TrainOptions
from dancfr.runs import Run

PRESETS = ("geister-dream-no-baseline", "geister-dream-3840", "geister-dream", "geister-dream-10240")
"""The settings of paper 000 in the order of its Figs 5-8."""

OPPONENT = "random"
MEAN_WIN_RATE, BEST_WIN_RATE = 0.80, 0.85
SEEDS = 2**32
"""How many seeds there are: a run takes those below."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Scale:
    """How large an experiment is repeated.

    Attributes:
        seeds: Seeds of each setting.
        overrides: Settings for every preset.
        divisor: What the traversals of each preset are divided by.
        note: What differs from the paper, for every row.
    """

    seeds: tuple[int, ...]
    overrides: tuple[str, ...] = ()
    divisor: int = 1
    note: str = ""


SCALES = {
    "paper": Scale(seeds=(1, 2, 3, 4)),
    "quick": Scale(
        seeds=(1, 2),
        divisor=30,
        overrides=(
            "iterations=20",
            "reservoir=71680",
            "circular=71680",
            "chunk=64",
            "advantage_training.batch=512",
            "baseline_training.batch=512",
            "evaluation.every=2",
            "evaluation.games=400",
            "evaluation.opponents=[random]",
            "evaluation.last=false",
            "checkpoint_every=20",
        ),
        note="scaled: traversals and buffers 1/30, batch 1/7, 20 of 200 iterations, 400 of 1,000 games",
    ),
}


def reproduce(
    name: str,
    scale: str = "quick",
    out_dir: str | Path | None = None,
    seeds: Sequence[int] | None = None,
    workers: int | None = None,
    overrides: Sequence[str] = (),
    inline: bool = False,
) -> Row:
    """Trains what an experiment needs and is not there yet, and compares it with the paper.

    Args:
        name: One of `EXPERIMENTS`.
        scale: ``quick`` (minutes) or ``paper`` (hours to days).
        out_dir: Folder of the runs and of the report; None: ``runs/paper000-<scale>``.
        seeds: Of the runs of each setting, each below 2**32; None: as many as the scale says.
        workers: Processes that play; None: one a CPU.
        overrides: Further ``key=value`` settings for all presets, such as ``iterations=20``.
        inline: Train in this process, without Ray.

    Returns:
        ``experiment``, ``rows`` (``cell``, ``paper``, ``ours``, ``sd``, ``note``), ``files`` (page and PNGs),
        ``seconds``, ``scale``, ``runs``, ``warnings``.

    Raises:
        UsageError: unknown experiment, scale or setting, a wrong seed, or a folder that cannot be written or has runs
            of other settings.
        RunError: a training failed or was stopped; the same command goes on from there.
    """
    if name not in EXPERIMENTS:
        raise UsageError(nearest(name, list(EXPERIMENTS), "experiment"))
    if scale not in SCALES:
        raise UsageError(nearest(scale, list(SCALES), "scale"))
    started = perf_counter()
    chosen = SCALES[scale]
    seeds = tuple(chosen.seeds if seeds is None else seeds)
    if not seeds or len(set(seeds)) < len(seeds):
        raise UsageError("an experiment needs at least one seed, each once")
    if wrong := [seed for seed in seeds if not 0 <= seed < SEEDS]:
        raise UsageError(f"seeds are integers from 0 to {SEEDS - 1}, not {', '.join(map(str, wrong))}")
    for preset in PRESETS:  # a wrong setting is refused before the first run is made
        apply_overrides(find_preset(preset).config, (*scaled(preset, chosen), *overrides))
    out = Path("runs") / f"paper000-{scale}" if out_dir is None else Path(out_dir)
    page = out / f"{name}.html"
    prepare(page)
    options = TrainOptions(workers=workers, device="auto", inline=inline)
    settings = train_settings(out, chosen, seeds, overrides, options)

    note = "; ".join(filter(None, [chosen.note, f"also {', '.join(overrides)}" if overrides else ""]))
    rows_of, wanted_of = _BUILDERS[name]
    figures, left_out = build(wanted_of(settings))
    try:
        rows = [row | {"note": "; ".join(filter(None, [row["note"], note]))} for row in rows_of(settings)]
    except RunError as error:  # what the runs do show is worth a page all the same
        rows, left_out = [], [f"Comparison with the paper: {error}.", *left_out]
    title, text = f"{name}, {scale} scale", EXPERIMENTS[name]
    tables = [comparison_table(rows)] if rows else []
    tables += [runs_table(settings), *evaluation_tables(settings)]
    files = write_page(page, title, [text], tables, figures, left_out, settings)
    return {
        "experiment": name,
        "rows": rows,
        "files": files,
        "seconds": perf_counter() - started,
        "scale": scale,
        "runs": [str(run.path) for runs in settings.values() for run in runs],
        "warnings": left_out,
    }


def train_settings(
    out: Path, scale: Scale, seeds: Sequence[int], overrides: Sequence[str], options: TrainOptions
) -> Settings:
    """The runs of every setting and seed below `out`, trained where they are missing or incomplete."""
    plan = [(preset, seed) for seed in seeds for preset in PRESETS]  # all settings early, then further seeds
    for i, (preset, seed) in enumerate(plan):
        path = run_path(out, preset, seed)
        print(f"{path.name} (run {i + 1} of {len(plan)})", file=sys.stderr)
        train_run(path, preset, (*scaled(preset, scale), f"seed={seed}", *overrides), options)
    return {preset: [History.read(run_path(out, preset, seed)) for seed in seeds] for preset in PRESETS}


def run_path(out: Path, preset: str, seed: int) -> Path:
    """Folder of a run."""
    return out / f"{preset}-seed{seed}"


def scaled(preset: str, scale: Scale) -> tuple[str, ...]:
    """The overrides that bring a preset to a scale."""
    config: Any = find_preset(preset).config
    if scale.divisor == 1:
        return scale.overrides
    return (f"traversals={round(config.traversals / scale.divisor)}", *scale.overrides)


def train_run(path: Path, preset: str, overrides: Sequence[str], options: TrainOptions) -> None:
    """Brings the run at `path` to its end, from wherever it is.

    The checkpoints of a complete run go: at the paper's sizes each holds some gigabytes of buffers. Strategies and
    the record stay.

    Raises:
        UsageError: another run lies there.
        RunError: the training failed or was stopped.
    """
    resume = (path / "config.json").exists()
    if not (resume and is_complete(path, preset, overrides)):
        result = train(TrainRequest(preset, overrides, path, None, replace(options, resume=resume)))
        if result["stopped"]:
            raise RunError(f"stopped in {path}; the same command goes on from its last checkpoint")
    shutil.rmtree(path / "checkpoints", ignore_errors=True)


def is_complete(path: Path, preset: str, overrides: Sequence[str]) -> bool:
    """Whether the run at `path` has all its iterations, or as many as its time allowed.

    Raises:
        UsageError: it is a run of another preset or of other settings.
    """
    run = Run.open(path)
    if run.preset != preset:
        raise UsageError(f"{path} holds a run of {run.preset}, not of {preset}: choose another folder")
    wanted: Any = apply_overrides(find_preset(preset).config, overrides)
    refuse_changes(run.config_as(type(wanted)), wanted)
    if (path / "checkpoints").exists():
        return False  # they go when all is done
    history = History.read(path)
    done, out_of_time = history.iterations, wanted.minutes is not None and history.seconds >= 60 * wanted.minutes
    if done < wanted.iterations and not out_of_time:
        raise UsageError(f"{path} ended after {done} iterations, as then wanted: choose another folder for more")
    return True


def comparison_table(rows: Sequence[Row]) -> Table:
    """The rows as a table of the page."""

    def cell(value: Any) -> str:
        return "" if value is None else number(float(value))

    lines = tuple((r["cell"], cell(r["paper"]), cell(r["ours"]), cell(r["sd"]), r["note"]) for r in rows)
    return Table("Paper and repetition", "Win rates are shares of games.", ("", "paper", "ours", "sd", "note"), lines)


def time_rows(settings: Settings) -> list[Row]:
    """Fig. 3: training time of each setting. The paper shows bars and states no number."""
    rows = []
    for preset, runs in settings.items():
        found = summarise([run.seconds for run in runs])
        note = f"seconds, mean over {_runs(found.n)}; the paper shows a bar without a number"
        rows.append(_row(f"training time, {preset}", None, found.mean, found.sd, note))
    base = summarise([run.seconds for run in settings["geister-dream-3840"]]).mean
    claims = {
        "geister-dream-10240": "the paper: time depends highly on the number of traversals (10,240 to 3,840: 2.67)",
        "geister-dream-no-baseline": "the paper: without training baseline nets it is shorter",
    }
    for preset, note in claims.items():
        ratios = [run.seconds / base for run in settings[preset]]
        found = summarise(ratios)
        rows.append(_row(f"training time, {preset} / geister-dream-3840", None, found.mean, found.sd, note))
    return rows


def win_rate_rows(settings: Settings) -> list[Row]:
    """Fig. 4: mean and best win rates against random of the average policy, and the order of the settings."""
    rows, finals = [], {}
    for preset, runs in settings.items():
        curves = _curves(preset, runs)
        final = summarise([float(curve[-1]) for curve in curves])
        best = summarise([float(curve.max()) for curve in curves])
        finals[preset] = final.mean
        top = max(float(curve.max()) for curve in curves)
        note = f"mean over {_runs(final.n)} at the last evaluation; the paper: about 80 % for every setting"
        rows.append(_row(f"final win rate, {preset}", MEAN_WIN_RATE, final.mean, final.sd, note))
        note = f"best evaluation of the best run (mean of the runs' best: {best.mean:.3f}); the paper: over 85 %"
        rows.append(_row(f"best win rate, {preset}", BEST_WIN_RATE, top, best.sd, note))
    orders = {
        "geister-dream": "above 0 where 7,680 traversals are best, as in the paper",
        "geister-dream-no-baseline": "below 0 where the setting without baseline is worst, as in the paper",
    }
    for preset, note in orders.items():
        others = [value for other, value in finals.items() if other != preset]
        rivals = max(others) if preset == "geister-dream" else min(others)
        cell = f"final win rate, {preset} minus the {'best' if preset == 'geister-dream' else 'worst'} other"
        rows.append(_row(cell, None, finals[preset] - rivals, None, note))
    return rows


def single_run_rows(settings: Settings) -> list[Row]:
    """Figs 5-8: each run by itself, and how far the runs of a setting lie apart."""
    rows = []
    for preset, runs in settings.items():
        curves = _curves(preset, runs)
        for run, curve in zip(runs, curves, strict=True):
            best = int(np.argmax(curve))
            at = int(run.win_rates(OPPONENT)[0][best])
            note = f"best {curve[best]:.3f} at iteration {at}; the paper shows a curve without numbers"
            rows.append(_row(f"final win rate, {run.name}", None, float(curve[-1]), None, note))
        spread = summarise([float(curve[-1]) for curve in curves]).sd
        if spread is not None:
            note = "sd over runs at the last evaluation; the paper: least at 7,680 traversals, most without baseline"
            rows.append(_row(f"spread of final win rates, {preset}", None, spread, None, note))
    return rows


def _fig4(settings: Settings) -> list[Wanted]:
    paper = (MEAN_WIN_RATE, "paper: about 80 %")
    return [wanted_win_rates(settings, OPPONENT, time, ("average",), paper) for time in (False, True)]


def _fig5_8(settings: Settings) -> list[Wanted]:
    return [wanted_single_runs(preset, runs, (OPPONENT,), ("average",)) for preset, runs in settings.items()]


_BUILDERS: dict[str, tuple[Callable[[Settings], list[Row]], Callable[[Settings], list[Wanted]]]] = {
    "geister-fig3": (time_rows, wanted_times),
    "geister-fig4": (win_rate_rows, _fig4),
    "geister-fig5-8": (single_run_rows, _fig5_8),
}
"""What makes the rows of an experiment, and its figures."""

EXPERIMENTS = {
    "geister-fig3": "Paper 000, Fig. 3: training time of four settings of DREAM on full Geister.",
    "geister-fig4": "Paper 000, Fig. 4: mean win rate of four settings of DREAM against random play.",
    "geister-fig5-8": "Paper 000, Figs 5-8: win rates of single runs of four settings of DREAM against random play.",
}
"""What can be repeated, with a line for people."""


def _curves(preset: str, runs: Sequence[History]) -> list[np.ndarray]:
    """Win rates of each run's average policy against random.

    Raises:
        RunError: a run was not evaluated.
    """
    curves = [run.win_rates(OPPONENT)[1] for run in runs]
    if any(not len(curve) for curve in curves):
        raise RunError(
            f"a run of {preset} has no evaluation against {OPPONENT}: set evaluation.every, or train for longer"
        )
    return curves


def _row(cell: str, paper: float | None, ours: float, sd: float | None, note: str) -> Row:
    return {"cell": cell, "paper": paper, "ours": ours, "sd": sd, "note": note}


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"
