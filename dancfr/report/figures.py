"""Builds the figures of a report from the histories of runs, among them those of Figs 3-8 of paper 000.

Runs are grouped by setting, `{setting: [history of each seed]}`. A builder returns None if the runs lack the data that
it needs, and `all_figures` lists the omitted figures.
"""

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from dancfr.evaluation.statistics import Band, one_run, over_iterations, over_time, summarise
from dancfr.methods import method_named
from dancfr.methods.curves import APART, Curves, Metric
from dancfr.report.figures_exact import wanted_nash_conv
from dancfr.report.history import History, Settings
from dancfr.report.plots import Bars, Line, Panel, Plot, draw_bars, draw_lines

WALL = "training, wall time"
POLICIES = {"average": "Average policy", "last": "Last iterate"}
BAND = "Bands: {}."
LONGEST_NAME = 150
"""Bytes of the name of a setting in the name of a file."""

Wanted = tuple[str, str, Callable[[], Plot | None]]
"""Title of a figure, the rows that it needs, and the function that builds it."""


def build(wanted: Sequence[Wanted]) -> tuple[list[Plot], list[str]]:
    """Builds figures; returns those that could be built, and a sentence for each omitted one."""
    figures: list[Plot] = []
    left_out: list[str] = []
    for title, needs, make in wanted:
        try:
            figure = make()
        except ValueError as error:  # the curves of the runs have no position in common
            left_out.append(f"{title}: {error}.")
            continue
        if figure is None:
            left_out.append(f"{title}: the runs have no {needs}.")
        else:
            figures.append(figure)
    return figures, left_out


def all_figures(settings: Settings) -> tuple[list[Plot], list[str]]:
    """Builds all figures; returns those that could be built, and a sentence for each omitted one."""
    runs = [run for members in settings.values() for run in members]
    opponents = list(dict.fromkeys(opponent for run in runs for opponent in run.opponents()))
    wanted: list[Wanted] = []
    for opponent in opponents:
        wanted += [wanted_win_rates(settings, opponent, time) for time in (False, True)]
    for setting, members in settings.items():
        if opponents and len(members) > 1:
            wanted.append(wanted_single_runs(setting, members))
    if any(len(run.nash_conv()[0]) for run in runs):
        wanted.append(wanted_nash_conv(settings))
    methods = by_method(settings)
    for method, part in methods:
        several = method if len(methods) > 1 else ""
        wanted += wanted_times(part, several)
        wanted += wanted_metrics(part, several)
    figures, left_out = build(wanted)
    evaluated = opponents or any(run.exact for run in runs)
    return figures, left_out if evaluated else ["Win rates: the runs have no evaluation rows.", *left_out]


def by_method(settings: Settings) -> list[tuple[str, Settings]]:
    """Returns each method with the runs of every setting trained by it.

    A setting without runs of the method keeps an empty list, so that its colour is the same in all figures.
    """
    methods = dict.fromkeys(run.method for members in settings.values() for run in members)
    return [
        (method, {setting: [run for run in runs if run.method == method] for setting, runs in settings.items()})
        for method in methods
    ]


def wanted_win_rates(
    settings: Settings,
    opponent: str,
    time: bool,
    policies: Sequence[str] = tuple(POLICIES),
    reference: tuple[float, str] | None = None,
) -> Wanted:
    """Returns the request for the figure `win_rates`."""
    needs = f"evaluation rows against {opponent}"
    make = partial(win_rates, settings, opponent, time, policies, reference)
    return f"Win rate against {opponent} over {'training time' if time else 'iterations'}", needs, make


def wanted_grouped_win_rates(
    groups: Mapping[str, Settings], opponent: str, policy: str, reference: tuple[float, str] | None = None
) -> Wanted:
    """Returns the request for the figure `grouped_win_rates`."""
    make = partial(grouped_win_rates, groups, opponent, policy, reference)
    return f"Win rate against {opponent} over iterations", f"evaluation rows against {opponent}", make


def wanted_single_runs(
    setting: str,
    runs: Sequence[History],
    opponents: Sequence[str] = (),
    policies: Sequence[str] = tuple(POLICIES),
) -> Wanted:
    """Returns the request for the figure `single_runs`."""
    return f"Single runs of {setting}", "evaluation rows", partial(single_runs, setting, runs, opponents, policies)


def wanted_learning_curves(setting: str, runs: Sequence[History], policy: str, note: str = "") -> Wanted:
    """Returns the request for the figure `learning_curves`."""
    title = f"Win rates of {setting} over training time"
    return title, "evaluation rows", partial(learning_curves, setting, runs, policy, note)


def wanted_times(settings: Settings, method: str = "") -> list[Wanted]:
    """Returns the requests for the figures `total_times` and `phase_times`.

    Args:
        settings: Runs of a single method, by setting.
        method: Name of the method, if the report has figures of several methods.
    """
    needs = "rows with time/..._s"
    totals = (_titled("Training time", method), needs, partial(total_times, settings, method))
    return [totals, (_titled("Time by phase", method), needs, partial(phase_times, settings, method))]


def wanted_metrics(settings: Settings, method: str = "") -> list[Wanted]:
    """Returns the requests for the figures of all metrics; see `wanted_times` for the arguments."""
    wanted: list[Wanted] = []
    for metric in _curves(settings).metrics:
        if any(metric.applies_to(run.config) for runs in settings.values() for run in runs):
            needs = f"rows with {' or '.join(metric.keys.values())}"
            wanted.append((_titled(metric.title, method), needs, partial(metric_figure, settings, metric, method)))
    return wanted


def _curves(settings: Settings) -> Curves:
    """Returns the description of the curves of the method that trained the runs."""
    return method_named(next(run.method for runs in settings.values() for run in runs)).curves


def _titled(title: str, method: str) -> str:
    return f"{title} ({method})" if method else title


def _named(name: str, method: str) -> str:
    return f"{name}-{method}" if method else name


def win_rates(
    settings: Settings,
    opponent: str,
    time: bool = False,
    policies: Sequence[str] = tuple(POLICIES),
    reference: tuple[float, str] | None = None,
) -> Plot | None:
    """Draws mean win rates of the settings over iterations or wall time (paper 000, Fig. 4), one panel per policy."""
    unit, seconds = _time_unit(settings) if time else ("", None)
    x_label = f"training wall time ({unit})" if time else "iteration"
    panels = []
    for policy in policies:
        bands = _win_rate_bands(settings, opponent, policy, seconds)
        lines = [Line(_with_runs(setting, band), band, i) for i, setting, band in bands]
        panels.append(_win_rate_panel(POLICIES.get(policy, policy), opponent, lines, reference, x_label))
    over = "training time" if time else "iterations"
    title = f"Win rate against {opponent} over {over}"
    return _draw_win_rates(f"win-rate-{opponent}-{'time' if time else 'iterations'}", title, panels)


def grouped_win_rates(
    groups: Mapping[str, Settings], opponent: str, policy: str, reference: tuple[float, str] | None = None
) -> Plot | None:
    """Draws mean win rates of a policy over iterations, one panel per group of settings.

    The settings of all groups have the same labels in the same order, and so the same colours.
    """
    panels = []
    for group, settings in groups.items():
        lines = [Line(setting, band, i) for i, setting, band in _win_rate_bands(settings, opponent, policy)]
        panels.append(_win_rate_panel(group, opponent, lines, reference))
    title = f"Win rate against {opponent} over iterations ({POLICIES.get(policy, policy).lower()})"
    return _draw_win_rates(f"win-rate-{opponent}-iterations", title, panels)


def _win_rate_panel(
    title: str,
    opponent: str,
    lines: Sequence[Line],
    reference: tuple[float, str] | None = None,
    x_label: str = "iteration",
) -> Panel:
    return Panel(title, x_label, f"win rate against {opponent} (%)", lines, percent=True, reference=reference)


def _draw_win_rates(name: str, title: str, panels: Sequence[Panel]) -> Plot | None:
    """Draws the panels that have lines, means over the runs of settings; None if there is none."""
    panels = [panel for panel in panels if panel.lines]
    if not panels:
        return None
    note = _note(panels)
    caption = f"Share of games won, draws not counted as won; mean over the runs of a setting. {note}"
    return draw_lines(name, title, caption, panels, "%", note)


def single_runs(
    setting: str,
    runs: Sequence[History],
    opponents: Sequence[str] = (),
    policies: Sequence[str] = tuple(POLICIES),
) -> Plot | None:
    """Draws a curve for each run of a setting (paper 000, Figs 5-8), dashed for the last iterate."""
    wanted = opponents or list(dict.fromkeys(o for run in runs for o in run.opponents()))
    known = {row["policy"] for run in runs for row in run.evaluations}
    policies = [policy for policy in policies if policy in known]
    alone = len(wanted) == 1
    title = f"Win rates of single runs of {setting}{f' against {wanted[0]}' if alone else ''}"
    panels = []
    for opponent in wanted:
        lines = []
        for i, run in enumerate(runs):
            for dash, policy in enumerate(policies):
                band = _win_rate_band([run], opponent, policy)
                if band is not None:
                    suffix = f" ({POLICIES.get(policy, policy).lower()})" if dash else ""
                    if len(runs) > 1:  # the bands of several runs would hide each other
                        band = replace(band, known=False)
                    lines.append(Line(run.name + suffix, band, i, dash))
        if lines:
            panels.append(_win_rate_panel(title if alone else f"Against {opponent}", opponent, lines))
    if not panels:
        return None
    dashed = any(line.dash for panel in panels for line in panel.lines)
    note = f"{_note(panels, 'Run')} {'Dashed: the last iterate alone plays.' if dashed else ''}".strip()
    caption = f"Share of games won by each independent run. {note}".strip()
    return draw_lines(f"single-runs-{_file_name(setting)}", title, caption, panels, "%", note)


def learning_curves(setting: str, runs: Sequence[History], policy: str, note: str = "") -> Plot | None:
    """Draws the win rate of a policy over training time, one line per opponent (paper 004, Fig. 5)."""
    unit, seconds = _time_unit({setting: list(runs)})
    lines = []
    for i, opponent in enumerate(dict.fromkeys(o for run in runs for o in run.opponents())):
        band = _win_rate_band(runs, opponent, policy, seconds)
        if band is not None:
            lines.append(Line(f"against {opponent}", band, i))
    if not lines:
        return None
    title = f"Win rates of {setting} over training time"
    panels = [Panel(title, f"training wall time ({unit})", "win rate (%)", lines, True)]
    note = " ".join(filter(None, [_note(panels), note]))
    caption = f"Share of games won, draws not counted as won. {note}"
    return draw_lines(f"learning-curves-{_file_name(setting)}", title, caption, panels, "%", note)


def phase_times(settings: Settings, method: str = "") -> Plot | None:
    """Draws the seconds per iteration of each phase, as means over runs; see `wanted_times` for the arguments."""
    return metric_figure(settings, _curves(settings).phase_times, method)


def total_times(settings: Settings, method: str = "") -> Plot | None:
    """Draws the total time of a training and of its phases, as means over runs (paper 000, Fig. 3).

    See `wanted_times` for the arguments.
    """
    unit, seconds = _time_unit(settings)
    what = _curves(settings)
    bars = []
    for i, (setting, runs) in enumerate(settings.items()):
        found = [
            {WALL: run.seconds} | {p: run.metric(k, total=True)[1].sum() for p, k in what.phases.items()}
            for run in runs
        ]
        if not runs:
            continue
        sums = {part: summarise([float(times[part]) / seconds for times in found]) for part in (WALL, *what.phases)}
        sums = {part: times for part, times in sums.items() if times.mean > 0}
        if set(sums) > {WALL}:
            means, sds = {p: s.mean for p, s in sums.items()}, {p: s.sd or 0.0 for p, s in sums.items()}
            bars.append(Bars(f"{setting} ({len(runs)} runs)" if len(runs) > 1 else setting, means, sds, i))
    if not bars:
        return None
    several = any(len(runs) > 1 for runs in settings.values())
    spread = " Mean over the runs of a setting; whiskers: standard deviation over runs." if several else ""
    title = _titled("Training time, and the time of each phase (phases overlap)", method)
    alone = f"Setting: {bars[0].label}. " if len(bars) == 1 else ""
    text = what.overlapping(" (hatched)") + spread
    caption = f"Sum over all iterations. {text}"
    parts = (WALL, *what.phases)
    return draw_bars(_named("training-time", method), title, caption, unit, parts, APART, bars, alone + text)


def metric_figure(settings: Settings, metric: Metric, method: str = "") -> Plot | None:
    """Draws a metric over iterations, as means over runs, one panel per key; see `wanted_times` for the arguments."""
    panels = []
    for title, key in metric.keys.items():
        lines = []
        for i, (setting, members) in enumerate(settings.items()):
            runs = [run for run in members if metric.applies_to(run.config)]
            named = sorted({p for run in runs for p in run.players()}) if metric.by_player else []
            for player in named or (None,):
                curves = [c for run in runs if len((c := run.metric(key, player, metric.total))[0])]
                if curves:
                    band = over_iterations(curves)
                    label = _with_runs(setting, band) + ("" if player is None else f", player {player}")
                    lines.append(Line(label, band, i, 0 if player is None else player))
        if lines:
            panels.append(Panel(title, "iteration", metric.y_label, lines, metric.percent, metric.log))
    if not panels:
        return None
    note = f"{_note(panels)} {metric.note}".strip()
    caption = f"Mean over the runs of a setting. {note}".strip()
    name, title = _named(metric.name, method), _titled(metric.title, method)
    return draw_lines(name, title, caption, panels, metric.unit, note)


def _win_rate_bands(
    settings: Settings, opponent: str, policy: str, seconds: float | None = None
) -> list[tuple[int, str, Band]]:
    """Returns the place, the name and the `_win_rate_band` of each setting that has one."""
    bands = (_win_rate_band(runs, opponent, policy, seconds) for runs in settings.values())
    pairs = enumerate(zip(settings, bands, strict=True))
    return [(i, setting, band) for i, (setting, band) in pairs if band is not None]


def _win_rate_band(runs: Sequence[History], opponent: str, policy: str, seconds: float | None = None) -> Band | None:
    """Returns win rates over iterations or over time in units of `seconds`, with a band over runs (or games)."""
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


def _file_name(setting: str) -> str:
    """Returns the name of a setting as a part of a file's. One that names many keys is cut off, and a checksum tells
    it from others: file systems take names of 255 bytes."""
    name = re.sub(r"[^\w.-]+", "-", setting)
    if len(name.encode()) <= LONGEST_NAME:
        return name
    kept = name.encode()[:LONGEST_NAME].decode(errors="ignore")
    checksum = zlib.crc32(setting.encode(errors="replace"))
    return f"{kept}-{checksum:08x}"


def _time_unit(settings: Settings) -> tuple[str, float]:
    """Returns a unit of time that suits the longest run, and its length in seconds."""
    longest = max((run.seconds for runs in settings.values() for run in runs), default=0.0)
    if longest < 180:
        return "seconds", 1.0
    return ("minutes", 60.0) if longest < 3 * 3600 else ("hours", 3600.0)


def _with_runs(setting: str, band: Band) -> str:
    return f"{setting} ({band.runs} runs)" if band.runs > 1 else setting


def _note(panels: Sequence[Panel], what: str = "Setting") -> str:
    """Returns the label of a single line, which then needs no legend, and the meaning of the bands, if any."""
    lines = [line for panel in panels for line in panel.lines]
    names = {line.label for line in lines} | {p.reference[1] for p in panels if p.reference}
    alone = f"{what}: {lines[0].label}." if len(names) == 1 else ""
    meanings = dict.fromkeys(line.band.means for line in lines if line.band.known)
    return f"{alone} {BAND.format('; '.join(meanings)) if meanings else ''}".strip()
