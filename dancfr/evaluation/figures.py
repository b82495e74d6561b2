"""The figures of a report, built from the histories of runs: what Figs 3-8 of paper 000 show, and more.

Runs are given by setting, `{setting: [history of each seed]}`. Each builder returns None when the runs lack
what it would show, and `all_figures` names what was left out.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from dancfr.evaluation.history import History, Settings
from dancfr.evaluation.plots import Bars, Line, Panel, Plot, draw_bars, draw_lines
from dancfr.evaluation.statistics import Band, one_run, over_iterations, over_time, summarise

PHASES = {
    "traversal": "time/traversal_s",
    "advantage network": "time/advantage_s",
    "baseline network": "time/baseline_s",
    "evaluation": "time/evaluation_s",
    "checkpoint": "time/checkpoint_s",
}
APART = ("evaluation", "checkpoint")
"""Phases that the training time leaves out."""

WALL = "training, wall time"
OVERLAP = (
    "Phases overlap, since a baseline network is fitted beside the next iterations: they do not add up to the "
    "training time, of which evaluations and checkpoints{} are no part."
)
POLICIES = {"average": "Average policy", "last": "Last iterate"}
BAND = "Bands: {}."

Wanted = tuple[str, str, Callable[[], Plot | None]]
"""Title of a figure, which rows it needs, and what builds it."""


@dataclass(frozen=True)
class Metric:
    """A figure of plain metrics over iterations.

    Attributes:
        unit: Of the values, for the headings of its table.
        keys: Title of a panel to key of a training row.
        note: What is said below the figure.
        by_player: Players are drawn apart, not put together.
        total: Rows of one iteration are put together by summing, else by averaging.
        log: Logarithmic axis where all values are positive.
        percent: Values are shares.
        weighted: Only of runs that weigh their samples by importance: for others it says nothing.
    """

    name: str
    title: str
    y_label: str
    unit: str
    keys: dict[str, str]
    note: str = ""
    by_player: bool = False
    total: bool = False
    log: bool = False
    percent: bool = False
    weighted: bool = False

    def of(self, run: History) -> bool:
        """Whether the figure says something about a run."""
        return not self.weighted or run.info.get("config", {}).get("importance", "none") != "none"


PHASE_TIMES = Metric(
    "phase-times",
    "Time of each phase by iteration",
    "seconds per iteration",
    "s per iteration",
    {
        f"{phase.capitalize()} (no part of the training time)" if phase in APART else phase.capitalize(): key
        for phase, key in PHASES.items()
    },
    OVERLAP.format("") + " A baseline fit counts where its network is first used.",
    total=True,
    log=True,
)
METRICS = (
    Metric(
        "losses",
        "Training losses",
        "mean weighted squared error",
        "squared error",
        {"Loss of the advantage network": "loss/advantage", "Loss of the baseline network": "loss/baseline"},
        by_player=True,
        log=True,
    ),
    Metric(
        "buffers",
        "Fill of the buffers",
        "fill (% of capacity)",
        "% of capacity",
        {"Advantage reservoir": "buffer/advantage_fill", "Baseline buffer": "buffer/baseline_fill"},
        by_player=True,
        percent=True,
    ),
    Metric(
        "effective-sample-size",
        "Effective sample size of the importance weights",
        "effective samples (% of samples)",
        "% of samples",
        {"Effective sample size of the importance weights": "traversal/effective_sample_size"},
        percent=True,
        weighted=True,
    ),
    Metric(
        "game-length",
        "Length of the games traversed",
        "plies per game",
        "plies",
        {"Length of the games traversed": "traversal/mean_plies"},
    ),
    Metric(
        "throughput",
        "Throughput of traversals and fits",
        "per second",
        "1/s",
        {
            "Decisions in traversals": "traversal/decisions_per_second",
            "Rows in fits of the advantage network": "learner/advantage_rows_per_second",
            "Rows in fits of the baseline network": "learner/baseline_rows_per_second",
        },
    ),
)


def build(wanted: Sequence[Wanted]) -> tuple[list[Plot], list[str]]:
    """The figures that the runs allow, and one sentence for each that they do not."""
    figures: list[Plot] = []
    left_out: list[str] = []
    for title, needs, make in wanted:
        try:
            figure = make()
        except ValueError as error:  # runs that share no position cannot be put together
            left_out.append(f"{title}: {error}.")
            continue
        if figure is None:
            left_out.append(f"{title}: the runs have no {needs}.")
        else:
            figures.append(figure)
    return figures, left_out


def all_figures(settings: Settings) -> tuple[list[Plot], list[str]]:
    """Every figure that the runs allow, and one sentence for each that they do not."""
    runs = [run for members in settings.values() for run in members]
    opponents = list(dict.fromkeys(opponent for run in runs for opponent in run.opponents()))
    wanted: list[Wanted] = []
    for opponent in opponents:
        wanted += [wanted_win_rates(settings, opponent, time) for time in (False, True)]
    for setting, members in settings.items():
        if opponents and len(members) > 1:
            wanted.append(wanted_single_runs(setting, members))
    wanted += wanted_times(settings)
    for metric in METRICS:
        if any(metric.of(run) for run in runs):
            needs = f"rows with {' or '.join(metric.keys.values())}"
            wanted.append((metric.title, needs, partial(metric_figure, settings, metric)))
    figures, left_out = build(wanted)
    return figures, left_out if opponents else ["Win rates: the runs have no evaluation rows.", *left_out]


def wanted_win_rates(
    settings: Settings,
    opponent: str,
    time: bool,
    policies: Sequence[str] = tuple(POLICIES),
    reference: tuple[float, str] | None = None,
) -> Wanted:
    """See `win_rates`."""
    needs = f"evaluation rows against {opponent}"
    make = partial(win_rates, settings, opponent, time, policies, reference)
    return f"Win rate against {opponent} over {'training time' if time else 'iterations'}", needs, make


def wanted_single_runs(
    setting: str,
    runs: Sequence[History],
    opponents: Sequence[str] = (),
    policies: Sequence[str] = tuple(POLICIES),
) -> Wanted:
    """See `single_runs`."""
    return f"Single runs of {setting}", "evaluation rows", partial(single_runs, setting, runs, opponents, policies)


def wanted_times(settings: Settings) -> list[Wanted]:
    """See `total_times` and `phase_times`."""
    totals = ("Training time", "rows with time/..._s", partial(total_times, settings))
    return [totals, ("Time by phase", "rows with time/..._s", partial(phase_times, settings))]


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
            band = _win_rate_band(runs, opponent, policy, seconds if time else None)
            if band is not None:
                lines.append(Line(_with_runs(setting, band), band, i))
        if lines:
            x_label = f"training wall time ({unit})" if time else "iteration"
            title = POLICIES.get(policy, policy)
            y_label = f"win rate against {opponent} (%)"
            panels.append(Panel(title, x_label, y_label, lines, True, reference=reference))
    if not panels:
        return None
    over = "training time" if time else "iterations"
    note = _note(panels)
    return draw_lines(
        f"win-rate-{opponent}-{'time' if time else 'iterations'}",
        f"Win rate against {opponent} over {over}",
        "Share of games won, draws not counted as won; mean over the runs of a setting. " + note,
        panels,
        "%",
        note,
    )


def single_runs(
    setting: str,
    runs: Sequence[History],
    opponents: Sequence[str] = (),
    policies: Sequence[str] = tuple(POLICIES),
) -> Plot | None:
    """Each run of a setting on its own (paper 000, Figs 5-8); the last iterate dashed."""
    wanted = opponents or list(dict.fromkeys(o for run in runs for o in run.opponents()))
    alone = len(wanted) == 1
    title = f"Win rates of single runs of {setting}{f' against {wanted[0]}' if alone else ''}"
    panels = []
    for opponent in wanted:
        lines = []
        for i, run in enumerate(runs):
            for dash, policy in enumerate(policies):
                band = _win_rate_band([run], opponent, policy)
                if band is not None:
                    suffix = "" if policy == "average" else f" ({POLICIES.get(policy, policy).lower()})"
                    if len(runs) > 1:  # the bands of several runs would hide each other
                        band = replace(band, known=False)
                    lines.append(Line(run.name + suffix, band, i, dash))
        if lines:
            y_label = f"win rate against {opponent} (%)"
            panels.append(Panel(title if alone else f"Against {opponent}", "iteration", y_label, lines, True))
    if not panels:
        return None
    dashed = any(line.dash for panel in panels for line in panel.lines)
    note = f"{_note(panels, 'Run')} {'Dashed: the last iterate alone plays.' if dashed else ''}".strip()
    caption = f"Share of games won by each independent run. {note}".strip()
    return draw_lines("single-runs-" + re.sub(r"[^\w.-]+", "-", setting), title, caption, panels, "%", note)


def phase_times(settings: Settings) -> Plot | None:
    """Seconds of each phase in each iteration, mean over the runs of a setting."""
    return metric_figure(settings, PHASE_TIMES)


def total_times(settings: Settings) -> Plot | None:
    """Time of a whole training run and of its phases, mean over runs (paper 000, Fig. 3)."""
    unit, seconds = _time_unit(settings)
    bars = []
    for i, (setting, runs) in enumerate(settings.items()):
        found = [
            {WALL: run.seconds} | {p: run.metric(k, total=True)[1].sum() for p, k in PHASES.items()} for run in runs
        ]
        sums = {part: summarise([float(times[part]) / seconds for times in found]) for part in found[0]}
        sums = {part: times for part, times in sums.items() if times.mean > 0}
        if set(sums) > {WALL}:
            means, sds = {p: s.mean for p, s in sums.items()}, {p: s.sd or 0.0 for p, s in sums.items()}
            bars.append(Bars(f"{setting} ({len(runs)} runs)" if len(runs) > 1 else setting, means, sds, i))
    if not bars:
        return None
    several = any(len(runs) > 1 for runs in settings.values())
    spread = " Mean over the runs of a setting; whiskers: standard deviation over runs." if several else ""
    title = "Training time, and the time of each phase (phases overlap)"
    alone = f"Setting: {bars[0].label}. " if len(bars) == 1 else ""
    text = OVERLAP.format(" (hatched)") + spread
    return draw_bars(
        "training-time", title, f"Sum over all iterations. {text}", unit, (WALL, *PHASES), APART, bars, alone + text
    )


def metric_figure(settings: Settings, metric: Metric) -> Plot | None:
    """Plain metrics over iterations, mean over the runs of a setting; a panel a key."""
    panels = []
    for title, key in metric.keys.items():
        lines = []
        for i, (setting, members) in enumerate(settings.items()):
            runs = [run for run in members if metric.of(run)]
            players = sorted({p for run in runs for p in run.players()}) if metric.by_player else [None]
            for player in players:
                curves = [c for run in runs if len((c := run.metric(key, player, metric.total))[0])]
                if curves:
                    band = over_iterations(curves)
                    label = _with_runs(setting, band) + ("" if player is None else f", player {player}")
                    lines.append(Line(label, band, i, 0 if player is None else player))
        if lines:
            log = metric.log and all((line.band.mean > 0).all() for line in lines)
            panels.append(Panel(title, "iteration", metric.y_label, lines, metric.percent, log))
    if not panels:
        return None
    note = f"{_note(panels)} {metric.note}".strip()
    caption = f"Mean over the runs of a setting. {note}".strip()
    return draw_lines(metric.name, metric.title, caption, panels, metric.unit, note)


def _win_rate_band(runs: Sequence[History], opponent: str, policy: str, seconds: float | None = None) -> Band | None:
    """Win rates over iterations, or over time in units of `seconds`; the band is over runs, of one run over games."""
    time = seconds is not None
    found = [run for run in runs if len(run.win_rates(opponent, policy, time)[0])]
    if not found:
        return None
    curves = [run.win_rates(opponent, policy, time) for run in found]
    if seconds is not None:
        curves = [(x / seconds, y) for x, y in curves]
    if len(found) == 1:
        low, high = found[0].intervals(opponent, policy, time)
        return one_run(curves[0], low, high)
    return over_time(curves) if time else over_iterations(curves)


def _time_unit(settings: Settings) -> tuple[str, float]:
    """Unit in which the longest run is short to say, and its seconds."""
    longest = max((run.seconds for runs in settings.values() for run in runs), default=0.0)
    if longest < 180:
        return "seconds", 1.0
    return ("minutes", 60.0) if longest < 3 * 3600 else ("hours", 3600.0)


def _with_runs(setting: str, band: Band) -> str:
    return f"{setting} ({band.runs} runs)" if band.runs > 1 else setting


def _note(panels: Sequence[Panel], what: str = "Setting") -> str:
    """The name of the only line, which needs no legend, and what the bands mean, where there is one."""
    lines = [line for panel in panels for line in panel.lines]
    names = {line.label for line in lines} | {p.reference[1] for p in panels if p.reference}
    alone = f"{what}: {lines[0].label}." if len(names) == 1 else ""
    meanings = dict.fromkeys(line.band.means for line in lines if line.band.known)
    return f"{alone} {BAND.format('; '.join(meanings)) if meanings else ''}".strip()
