"""The figures of a report, built from the histories of runs: what Figs 3-8 of paper 000 show, and more.

Runs are given by setting, `{setting: [history of each seed]}`. Each builder returns None when the runs lack
what it would show, and `all_figures` names what was left out.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from dancfr.evaluation.history import History, Settings
from dancfr.evaluation.plots import Line, Panel, Plot, Stack, draw_bars, draw_lines, draw_stacks
from dancfr.evaluation.statistics import Band, Curve, over_iterations, over_time, summarise

PHASES = {
    "traversal": "time/traversal_s",
    "advantage network": "time/advantage_s",
    "baseline network": "time/baseline_s",
    "evaluation": "time/evaluation_s",
    "checkpoint": "time/checkpoint_s",
}
POLICIES = {"average": "Average policy", "last": "Last iterate"}
BAND = "Bands: {}."


@dataclass(frozen=True)
class Metric:
    """A figure of plain metrics over iterations.

    Attributes:
        keys: Title of a panel to key of a training row.
        by_player: Players are drawn apart, not averaged.
        log: Logarithmic axis where all values are positive.
    """

    name: str
    title: str
    y_label: str
    keys: dict[str, str]
    by_player: bool = False
    log: bool = False


METRICS = (
    Metric(
        "losses",
        "Training losses",
        "mean weighted squared error",
        {"Advantage network": "loss/advantage", "Baseline network": "loss/baseline"},
        by_player=True,
        log=True,
    ),
    Metric(
        "buffers",
        "Fill of the buffers",
        "share of capacity",
        {"Advantage reservoir": "buffer/advantage_fill", "Baseline buffer": "buffer/baseline_fill"},
        by_player=True,
    ),
    Metric(
        "effective-sample-size",
        "Effective sample size of the importance weights",
        "share of samples",
        {"Traversals": "traversal/effective_sample_size"},
    ),
    Metric("game-length", "Length of the games traversed", "plies", {"Traversals": "traversal/mean_plies"}),
    Metric(
        "throughput",
        "Throughput",
        "a second",
        {
            "Traversal, decisions": "traversal/decisions_per_second",
            "Advantage network, rows": "learner/advantage_rows_per_second",
            "Baseline network, rows": "learner/baseline_rows_per_second",
        },
    ),
)


def all_figures(settings: Settings) -> tuple[list[Plot], list[str]]:
    """Every figure that the runs allow, and one sentence for each that they do not."""
    figures: list[Plot] = []
    left_out: list[str] = []

    def keep(title: str, needs: str, build: Callable[[], Plot | None]) -> None:
        try:
            figure = build()
        except ValueError as error:  # runs that share no position cannot be put together
            left_out.append(f"{title}: {error}.")
            return
        if figure is None:
            left_out.append(f"{title}: the runs have no {needs}.")
        else:
            figures.append(figure)

    opponents = list(dict.fromkeys(o for runs in settings.values() for run in runs for o in run.opponents()))
    if not opponents:
        left_out.append("Win rates: the runs have no evaluation rows.")
    for opponent in opponents:
        rows = f"evaluation rows against {opponent}"
        for time in (False, True):
            keep(f"Win rate against {opponent}", rows, partial(win_rates, settings, opponent, time))
    for setting, runs in settings.items():
        if opponents and len(runs) > 1:
            keep(f"Single runs of {setting}", "evaluation rows", partial(single_runs, setting, runs))
    keep("Time by phase", "rows with time/..._s", partial(phase_times, settings))
    keep("Training time", "rows with time/..._s", partial(total_times, settings))
    for metric in METRICS:
        needs = " or ".join(metric.keys.values())
        keep(metric.title, f"rows with {needs}", partial(metric_figure, settings, metric))
    return figures, left_out


def win_rates(
    settings: Settings,
    opponent: str,
    time: bool = False,
    policies: Sequence[str] = tuple(POLICIES),
    reference: tuple[float, str] | None = None,
) -> Plot | None:
    """Mean win rate of each setting over iterations or wall time (paper 000, Fig. 4), a panel a policy."""
    unit, seconds = _time_unit(settings)
    panels = []
    for policy in policies:
        lines = []
        for i, (setting, runs) in enumerate(settings.items()):
            curves = [c for run in runs if len((c := run.win_rates(opponent, policy, time))[0])]
            if curves:
                band = over_time(_scaled(curves, seconds)) if time else over_iterations(curves)
                lines.append(Line(_with_runs(setting, band), band, i))
        if lines:
            x_label = f"training wall time ({unit})" if time else "iteration"
            title = POLICIES.get(policy, policy)
            panels.append(Panel(title, x_label, "win rate (%)", lines, True, reference=reference))
    if not panels:
        return None
    over = "wall time" if time else "iterations"
    return draw_lines(
        f"win-rate-{opponent}-{'time' if time else 'iterations'}",
        f"Win rate against {opponent} over {over}",
        "Share of games won, draws not counted as won; mean over the runs of a setting. " + _bands(panels),
        panels,
    )


def single_runs(
    setting: str,
    runs: Sequence[History],
    opponents: Sequence[str] = (),
    policies: Sequence[str] = tuple(POLICIES),
) -> Plot | None:
    """Each run of a setting on its own (paper 000, Figs 5-8); the last iterate dashed."""
    wanted = opponents or list(dict.fromkeys(o for run in runs for o in run.opponents()))
    panels = []
    for opponent in wanted:
        lines = []
        for i, run in enumerate(runs):
            for dash, policy in enumerate(policies):
                curve = run.win_rates(opponent, policy)
                if len(curve[0]):
                    suffix = "" if policy == "average" else f" ({POLICIES.get(policy, policy).lower()})"
                    lines.append(Line(run.name + suffix, over_iterations([curve]), i, dash))
        if lines:
            panels.append(Panel(f"Against {opponent}", "iteration", "win rate (%)", lines, True))
    if not panels:
        return None
    return draw_lines(
        "single-runs-" + re.sub(r"[^\w.-]+", "-", setting),
        f"Single runs of {setting}",
        "Share of games won by each independent run; dashed where it is the last iterate alone that plays.",
        panels,
    )


def phase_times(settings: Settings) -> Plot | None:
    """Seconds of each phase in each iteration, mean over the runs of a setting."""
    stacks = []
    for setting, runs in settings.items():
        curves = {phase: [run.metric(key, total=True) for run in runs] for phase, key in PHASES.items()}
        curves = {phase: [c for c in found if len(c[0])] for phase, found in curves.items()}
        curves = {phase: found for phase, found in curves.items() if found}
        if curves:
            bands = {phase: over_iterations(found) for phase, found in curves.items()}
            x = np.unique(np.concatenate([band.x for band in bands.values()]))
            stacks.append(Stack(setting, x, {phase: _spread_out(band, x) for phase, band in bands.items()}))
    if not stacks:
        return None
    return draw_stacks(
        "phase-times",
        "Time of each phase by iteration",
        "Mean over the runs of a setting. Phases that overlap count each.",
        "iteration",
        "seconds an iteration",
        tuple(PHASES),
        stacks,
    )


def total_times(settings: Settings) -> Plot | None:
    """Time of a whole training run by phase, mean over runs (paper 000, Fig. 3)."""
    unit, seconds = _time_unit(settings)
    bars: dict[str, dict[str, float]] = {}
    spread: dict[str, float] = {}
    for setting, runs in settings.items():
        totals = [{p: run.metric(k, total=True)[1].sum() for p, k in PHASES.items()} for run in runs]
        if any(any(total.values()) for total in totals):
            means = {p: float(np.mean([total[p] for total in totals])) / seconds for p in PHASES}
            bars[setting] = {phase: value for phase, value in means.items() if value > 0}
            spread[setting] = summarise([float(sum(total.values())) / seconds for total in totals]).sd or 0.0
    if not bars:
        return None
    return draw_bars(
        "training-time",
        "Training time by phase",
        "Sum over all iterations, mean over the runs of a setting; whiskers: standard deviation over runs.",
        f"training time ({unit})",
        tuple(PHASES),
        bars,
        spread,
    )


def metric_figure(settings: Settings, metric: Metric) -> Plot | None:
    """Plain metrics over iterations, mean over the runs of a setting; a panel a key."""
    panels = []
    for title, key in metric.keys.items():
        lines = []
        for i, (setting, runs) in enumerate(settings.items()):
            players = sorted({p for run in runs for p in run.players()}) if metric.by_player else [None]
            for player in players:
                curves = [c for run in runs if len((c := run.metric(key, player))[0])]
                if curves:
                    band = over_iterations(curves)
                    label = _with_runs(setting, band) + ("" if player is None else f", player {player}")
                    lines.append(Line(label, band, i, 0 if player is None else player))
        if lines:
            positive = all((line.band.mean > 0).all() for line in lines)
            panels.append(Panel(title, "iteration", metric.y_label, lines, log=metric.log and positive))
    if not panels:
        return None
    return draw_lines(metric.name, metric.title, "Mean over the runs of a setting. " + _bands(panels), panels)


def _time_unit(settings: Settings) -> tuple[str, float]:
    """Unit in which the longest run is short to say, and its seconds."""
    longest = max((run.seconds for runs in settings.values() for run in runs), default=0.0)
    if longest < 180:
        return "seconds", 1.0
    return ("minutes", 60.0) if longest < 3 * 3600 else ("hours", 3600.0)


def _scaled(curves: Sequence[Curve], seconds: float) -> list[Curve]:
    return [(x / seconds, y) for x, y in curves]


def _with_runs(setting: str, band: Band) -> str:
    return f"{setting} ({band.runs} runs)" if band.runs > 1 else setting


def _bands(panels: Sequence[Panel]) -> str:
    """What the bands mean, or nothing where no line has one."""
    lines = [line for panel in panels for line in panel.lines]
    meanings = dict.fromkeys(line.band.means for line in lines if line.band.runs > 1)
    return BAND.format("; ".join(meanings)) if meanings else ""


def _spread_out(band: Band, x: np.ndarray) -> np.ndarray:
    """The band's mean at the positions `x`, zero where it has none: a phase that was not run took no time."""
    values = np.zeros(len(x))
    values[np.searchsorted(x, band.x)] = band.mean
    return values
