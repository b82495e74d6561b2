"""Paper 000, Figs 3-8: four settings of DREAM on full Geister with four runs each, which all figures share; and Fig. 4
with two changes that the paper does not have."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from dancfr.errors import RunError
from dancfr.evaluation.statistics import summarise
from dancfr.methods import find_preset
from dancfr.methods.dream.config import DreamConfig
from dancfr.papers.trainings import Comparison, Experiment, Row, Scale, Setting, count_runs, row
from dancfr.report.figures import (
    Wanted,
    build,
    wanted_grouped_win_rates,
    wanted_single_runs,
    wanted_times,
    wanted_win_rates,
)
from dancfr.report.history import History, Settings

PRESETS = ("geister-dream-no-baseline", "geister-dream-3840", "geister-dream", "geister-dream-10240")
"""The settings of paper 000 in the order of its Figs 5-8."""

OPPONENT = "random"
MEAN_WIN_RATE, BEST_WIN_RATE = 0.80, 0.85
PAPER = (MEAN_WIN_RATE, "paper: about 80 %")
FITTED = "fitted: exploration and order of the outputs, which the paper does not state, were chosen by these win rates"
SMOOTHED = 5
"""Number of evaluations in a row whose mean shows whether the average falls."""
DIVISOR = 30
"""Divisor of traversals and buffers at the quick scale."""
CHANGES = {"geister-dream-huber": "Huber's loss", "geister-dream-bounded": "bounds"}
"""Presets that differ from `geister-dream` by the loss alone and by bounds on the targets alone, with their labels."""


def _config(preset: str) -> DreamConfig:
    return find_preset(preset).config_as(DreamConfig)


def _traversals(preset: str, divisor: int) -> tuple[str, ...]:
    return (f"traversals={round(_config(preset).traversals / divisor)}",)


def _preset(preset: str, divisor: int = 1) -> Setting:
    return Setting(preset, preset, () if divisor == 1 else _traversals(preset, divisor))


def _with(change: str, preset: str, divisor: int = 1) -> Setting:
    """Returns a setting of the paper with one of `CHANGES`."""
    if preset == "geister-dream":  # which the presets of the changes have
        return _preset(change, divisor)
    suffix = preset.removeprefix("geister-dream-")
    without = () if _config(preset).baseline else ("baseline=false",)
    name = f"{change}, {suffix.replace('-', ' ')}"
    return Setting(name, change, (*without, *_traversals(preset, divisor)), folder=f"{change}-{suffix}")


def _changed(divisor: int = 1) -> tuple[Setting, ...]:
    """Returns each setting of the paper, followed by the same with each of `CHANGES`."""
    return tuple(
        setting
        for preset in PRESETS
        for setting in (_preset(preset, divisor), *(_with(change, preset, divisor) for change in CHANGES))
    )


SCALES = {
    "paper": Scale(settings=tuple(map(_preset, PRESETS)), seeds=(1, 2, 3, 4)),
    "quick": Scale(
        settings=tuple(_preset(preset, DIVISOR) for preset in PRESETS),
        seeds=(1, 2),
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
CHANGED_SCALES = {
    "paper": replace(SCALES["paper"], settings=_changed()),
    "quick": replace(SCALES["quick"], settings=_changed(DIVISOR)),
}


def time_rows(settings: Settings) -> list[Row]:
    """Returns rows for Fig. 3, the training time of each setting, up to the last iteration that all runs have reached.
    The paper shows bars without numbers."""
    rows = []
    reached = min(run.iterations for runs in settings.values() for run in runs)
    times = {preset: [_seconds(run, reached) for run in runs] for preset, runs in settings.items()}
    for preset, seconds in times.items():
        found = summarise(seconds)
        note = (
            f"seconds of {reached} iterations, mean over {count_runs(found.n)}; the paper shows a bar without a number"
        )
        rows.append(row(f"training time, {preset}", None, found.mean, found.sd, note))
    base = times.get("geister-dream-3840")
    claims = {
        "geister-dream-10240": "the paper: time depends highly on the number of traversals (10,240 to 3,840: 2.67)",
        "geister-dream-no-baseline": "the paper: without training baseline nets it is shorter",
    }
    for preset, note in claims.items():
        if base and preset in times and np.mean(base) > 0:
            found = summarise([seconds / float(np.mean(base)) for seconds in times[preset]])
            rows.append(row(f"training time, {preset} / geister-dream-3840", None, found.mean, found.sd, note))
    return rows


def _seconds(run: History, iteration: int) -> float:
    """Returns the training time of a run up to an iteration."""
    rows = run.train + run.evaluations
    return float(max((r["elapsed_s"] for r in rows if "elapsed_s" in r and r["iteration"] <= iteration), default=0.0))


def win_rate_rows(settings: Settings) -> list[Row]:
    """Returns rows for Fig. 4: mean and best win rates of the average policy against random, and their order."""
    rows, finals, reached = [], {}, {}
    for preset, runs in _evaluated(settings).items():
        curves = [run.win_rates(OPPONENT)[1] for run in runs]
        final = summarise([float(curve[-1]) for curve in curves])
        best = summarise([float(curve.max()) for curve in curves])
        finals[preset] = final.mean
        top = max(float(curve.max()) for curve in curves)
        ends = sorted({int(run.win_rates(OPPONENT)[0][-1]) for run in runs})
        reached[preset] = at = f"at iteration {' and '.join(map(str, ends))}"
        note = f"mean over {count_runs(final.n)} {at}; the paper: about 80 % for every setting; {FITTED}"
        rows.append(row(f"final win rate, {preset}", MEAN_WIN_RATE, final.mean, final.sd, note))
        note = (
            f"best evaluation of the best run (mean of the runs' best: {best.mean:.3f}); the paper: over 85 %; {FITTED}"
        )
        rows.append(row(f"best win rate, {preset}", BEST_WIN_RATE, top, best.sd, note))
    orders = {
        "geister-dream": "above 0 where 7,680 traversals are best, as in the paper",
        "geister-dream-no-baseline": "below 0 where the setting without baseline is worst, as in the paper",
    }
    for preset, note in orders.items():
        others = [value for other, value in finals.items() if other != preset]
        if preset not in finals or not others:
            continue
        rivals = max(others) if preset == "geister-dream" else min(others)
        if len(set(reached.values())) > 1:
            note += f"; not after equally many iterations: {', '.join(f'{name} {at}' for name, at in reached.items())}"
        cell = f"final win rate, {preset} minus the {'best' if preset == 'geister-dream' else 'worst'} other"
        rows.append(row(cell, None, finals[preset] - rivals, None, note))
    return rows


def single_run_rows(settings: Settings) -> list[Row]:
    """Returns rows for Figs 5-8: the win rate of each run, and the spread over the runs of a setting."""
    rows = []
    for preset, runs in _evaluated(settings).items():
        curves = [run.win_rates(OPPONENT)[1] for run in runs]
        for run, curve in zip(runs, curves, strict=True):
            best = int(np.argmax(curve))
            at = int(run.win_rates(OPPONENT)[0][best])
            note = f"best {curve[best]:.3f} at iteration {at}; the paper shows a curve without numbers"
            rows.append(row(f"final win rate, {run.name}", None, float(curve[-1]), None, note))
        spread = summarise([float(curve[-1]) for curve in curves]).sd
        if spread is not None:
            note = "sd over runs at the last evaluation; the paper: least at 7,680 traversals, most without baseline"
            rows.append(row(f"spread of final win rates, {preset}", None, spread, None, note))
    return rows


def fall_rows(settings: Settings) -> list[Row]:
    """Returns rows for the changes of Fig. 4: final and best win rates, and how far the average has fallen at the end.

    The fall is that of the mean of `SMOOTHED` evaluations in a row, from its largest value to its last, because the
    largest of many single evaluations is large by chance.
    """
    rows = []
    for name, runs in _evaluated(settings).items():
        curves = [run.win_rates(OPPONENT)[1] for run in runs]
        final = summarise([float(curve[-1]) for curve in curves])
        ends = sorted({int(run.win_rates(OPPONENT)[0][-1]) for run in runs})
        at = f"mean over {count_runs(final.n)} at iteration {' and '.join(map(str, ends))}"
        rows.append(row(f"final win rate, {name}", MEAN_WIN_RATE, final.mean, final.sd, f"{at}; the paper: about 80 %"))
        best = summarise([float(curve.max()) for curve in curves])
        note = "best evaluation, mean over the runs; the paper: over 85 % by the best run"
        rows.append(row(f"best win rate, {name}", BEST_WIN_RATE, best.mean, best.sd, note))
        if all(len(curve) >= SMOOTHED for curve in curves):
            smooth = [np.convolve(curve, np.ones(SMOOTHED) / SMOOTHED, "valid") for curve in curves]
            fall = summarise([float(curve[-1] - curve.max()) for curve in smooth])
            note = f"last less largest mean of {SMOOTHED} evaluations in a row; 0: it ends at its best"
            rows.append(row(f"fall, {name}", None, fall.mean, fall.sd, note))
    return rows


def _evaluated(settings: Settings) -> Settings:
    """Returns the runs whose average policies have played against random.

    Raises:
        RunError: there are none.
    """
    evaluated = {preset: [run for run in runs if len(run.win_rates(OPPONENT)[1])] for preset, runs in settings.items()}
    if not any(evaluated.values()):
        names = ", ".join(run.name for runs in settings.values() for run in runs)
        raise RunError(f"{names}: no evaluation against {OPPONENT}; set evaluation.every, or train for longer")
    return {preset: runs for preset, runs in evaluated.items() if runs}


def _fig4(settings: Settings) -> list[Wanted]:
    return [wanted_win_rates(settings, OPPONENT, time, ("average",), PAPER) for time in (False, True)]


def _fig4_changed(settings: Settings) -> list[Wanted]:
    groups = {}
    for preset in PRESETS:
        config = _config(preset)
        title = f"{config.traversals:,} traversals, {'with' if config.baseline else 'without'} baseline nets"
        names = {"as in the paper": preset} | {what: _with(change, preset).name for change, what in CHANGES.items()}
        groups[title] = {what: settings.get(name, []) for what, name in names.items()}
    return [wanted_grouped_win_rates(groups, OPPONENT, "average", PAPER)]


def _fig5_8(settings: Settings) -> list[Wanted]:
    return [wanted_single_runs(preset, runs, (OPPONENT,), ("average",)) for preset, runs in settings.items()]


def _compare(
    rows_of: Callable[[Settings], list[Row]],
    wanted_of: Callable[[Settings], list[Wanted]],
    settings: Settings,
    scale: Scale,
) -> Comparison:
    figures, left_out = build(wanted_of(settings))
    try:
        rows = rows_of(settings)
    except RunError as error:  # the figures that can be drawn still make a report
        rows, left_out = [], [f"Comparison with the paper: {error}.", *left_out]
    return Comparison(rows, figures, left_out)


EXPERIMENTS = {
    "geister-fig3": Experiment(
        "Paper 000, Fig. 3: training time of four settings of DREAM on full Geister.",
        "paper000",
        SCALES,
        partial(_compare, time_rows, wanted_times),
        partial=True,
    ),
    "geister-fig4": Experiment(
        "Paper 000, Fig. 4: mean win rate of four settings of DREAM against random play.",
        "paper000",
        SCALES,
        partial(_compare, win_rate_rows, _fig4),
        partial=True,
    ),
    "geister-fig4-changed": Experiment(
        "Paper 000, Fig. 4 with Huber's loss and with bounded targets, which the paper does not have, beside its own.",
        "paper000",
        CHANGED_SCALES,
        partial(_compare, fall_rows, _fig4_changed),
        partial=True,
    ),
    "geister-fig5-8": Experiment(
        "Paper 000, Figs 5-8: win rates of single runs of four settings of DREAM against random play.",
        "paper000",
        SCALES,
        partial(_compare, single_run_rows, _fig5_8),
        partial=True,
    ),
}
