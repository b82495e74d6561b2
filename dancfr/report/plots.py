"""Draws panels of lines, and bars, as PNG images with alternative texts.

This module does not depend on runs; `figures` builds the panels. The colours of Okabe and Ito can be distinguished with
any colour vision, and lines also differ by marker. The background is always white. Title, legend and note are placed
around the panels, where they cover no data.
"""

import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dancfr.evaluation.statistics import Band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D1F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", ":", "-.")
DPI = 110
SMALL, MEDIUM, LARGE = 8, 9, 11
"""Font sizes of ticks, legend and note; of panel titles; and of the figure's title."""


@dataclass(frozen=True)
class Line:
    """A curve with its band. `colour` and `dash` are indices of styles, which are the same in all figures."""

    label: str
    band: Band
    colour: int = 0
    dash: int = 0


@dataclass(frozen=True)
class Panel:
    """Curves over one pair of axes.

    Attributes:
        percent: Whether values are fractions, shown as 0 to 100 %.
        log: Use a logarithmic vertical axis if all values are positive.
        reference: Level and label of a dotted horizontal line, such as a result stated in a paper.
    """

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    percent: bool = False
    log: bool = False
    reference: tuple[float, str] | None = None


@dataclass(frozen=True)
class Bars:
    """Bars of a setting, one per part, such as a phase; `sd` is the standard deviation over runs, 0 for one run."""

    label: str
    values: dict[str, float]
    sd: dict[str, float]
    colour: int = 0


@dataclass(frozen=True)
class Plot:
    """A finished figure.

    Attributes:
        name: File name without suffix.
        alt: Alternative text, which describes the figure to readers who cannot see it.
        png: The image.
        columns, rows: The main values of the figure as a table.
    """

    name: str
    title: str
    caption: str
    alt: str
    png: bytes = field(repr=False)
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def number(value: float) -> str:
    """Formats a number with about four digits."""
    if not np.isfinite(value):
        return str(value)
    if value == 0 or 0.01 <= abs(value) < 10_000:
        return f"{value:.4g}"
    return f"{value:,.0f}" if 10_000 <= abs(value) < 1e7 else f"{value:.2e}"


def shown(value: float, percent: bool) -> str:
    """Formats a value as on its axis."""
    return f"{100 * value:.1f} %" if percent else number(value)


def draw_lines(name: str, title: str, caption: str, panels: Sequence[Panel], unit: str, note: str = "") -> Plot:
    """Draws panels side by side, two in a row.

    Args:
        name: File name without suffix.
        title: Title of the figure.
        caption: Caption on the page.
        panels: The panels.
        unit: Unit of the values, for the headings of the table.
        note: Text below the panels, inside the image.
    """
    figure, axes = grid(len(panels))
    end = max(float(line.band.x[-1]) for panel in panels for line in panel.lines)
    for axis, panel in zip(axes, panels, strict=False):
        for line in panel.lines:
            _draw_line(axis, line, panel.percent)
        if panel.reference:
            level, meaning = panel.reference
            level = 100 * level if panel.percent else level
            axis.axhline(level, color="#666666", lw=1, ls=":", label=meaning)
        finish(axis, panel.title if panel.title != title else "", panel.x_label, panel.y_label)
        _scale(axis, panel, end)
    frame(figure, axes[: len(panels)], title, note)
    rows = tuple(_line_row(panel, line) for panel in panels for line in panel.lines)
    values = tuple(f"{what} ({unit})" for what in ("first", "highest", "last"))
    columns = ("panel", "line", *values, "band")
    return Plot(name, title, caption, _line_alt(title, panels), png_of(figure), columns, rows)


def draw_bars(
    name: str,
    title: str,
    caption: str,
    unit: str,
    parts: Sequence[str],
    apart: Sequence[str],
    bars: Sequence[Bars],
    note: str = "",
) -> Plot:
    """Draws horizontal bars, grouped by part, with standard deviations as whiskers.

    Args:
        name: File name without suffix.
        title: Title of the figure.
        caption: Caption on the page.
        unit: Unit of the values, for the axis and the table.
        parts: Groups from top to bottom; groups without bars are omitted.
        apart: Parts of a different kind, which are hatched and separated by a gap.
        bars: The bars of each setting.
        note: Text below the panel, inside the image.
    """
    from matplotlib.figure import Figure

    parts = [part for part in parts if any(bar.values.get(part) for bar in bars)]
    thick = 0.8 / len(bars)
    places = {part: i + (0.3 if part in apart else 0.0) for i, part in enumerate(parts)}
    height = 0.9 + max(0.36, 0.2 * len(bars)) * (max(places.values()) + 1)
    figure = Figure(figsize=(8.5, height), dpi=DPI, layout="constrained", facecolor="white")
    axis = figure.subplots()
    for k, bar in enumerate(bars):
        drawn = [part for part in parts if part in bar.values]
        at = [places[part] + (k - (len(bars) - 1) / 2) * thick for part in drawn]
        values, sds = [bar.values[part] for part in drawn], [bar.sd.get(part, 0.0) for part in drawn]
        colour = COLOURS[bar.colour % len(COLOURS)]
        boxes = axis.barh(at, values, 0.9 * thick, color=colour, edgecolor="white", lw=0, label=bar.label)
        for part, box in zip(drawn, boxes, strict=True):
            if part in apart:
                box.set(hatch="////", alpha=0.6)
        if any(sds):
            axis.errorbar(values, at, xerr=sds, fmt="none", ecolor="black", capsize=2, lw=1)
        for y, value, sd in zip(at, values, sds, strict=True):
            axis.annotate(number(value), (value + sd, y), (4, 0), textcoords="offset points", va="center", size=7)
    finish(axis, "", f"time ({unit})", "")
    axis.grid(False, axis="y")
    axis.margins(x=0.1)
    axis.set_xlim(left=0)
    axis.set_yticks(list(places.values()), list(places), fontsize=SMALL)
    axis.invert_yaxis()
    frame(figure, [axis], title, note)
    rows = tuple((bar.label, *(_spread(bar, part) for part in parts)) for bar in bars)
    texts = (", ".join(f"{p} {number(v)} {unit}" for p, v in bar.values.items()) for bar in bars)
    alt = f"{title}. " + " ".join(f"{bar.label}: {text}." for bar, text in zip(bars, texts, strict=True))
    columns = ("setting", *(f"{part} ({unit})" for part in parts))
    return Plot(name, title, caption, alt, png_of(figure), columns, rows)


def _spread(bar: Bars, part: str) -> str:
    """Formats the value of a bar for the table, with its standard deviation if there is one."""
    if part not in bar.values:
        return ""
    sd = bar.sd.get(part)
    return number(bar.values[part]) + (f" (sd {number(sd)})" if sd else "")


def grid(panels: int) -> tuple["Figure", list["Axes"]]:
    from matplotlib.figure import Figure  # without pyplot: no display, no global state

    columns = min(2, panels)
    lines = -(-panels // columns)
    size = (7.5 if columns == 1 else 10.5, 3.3 * lines + 0.4)
    figure = Figure(figsize=size, dpi=DPI, layout="constrained", facecolor="white")
    axes = list(figure.subplots(lines, columns, squeeze=False).flat)
    for empty in axes[panels:]:
        empty.set_visible(False)
    return figure, axes


def _draw_line(axis: "Axes", line: Line, percent: bool) -> None:
    scale = 100.0 if percent else 1.0
    band, colour = line.band, COLOURS[line.colour % len(COLOURS)]
    axis.plot(
        band.x,
        scale * band.mean,
        DASHES[line.dash % len(DASHES)],
        color=colour,
        lw=1.5,
        marker=MARKERS[line.colour % len(MARKERS)] if len(band.x) <= 25 else None,
        ms=3.5,
        label=f" {line.label}" if line.label.startswith("_") else line.label,  # or legends would leave it out
    )
    if band.known:
        low, high = scale * band.low, scale * band.high
        if percent:
            low, high = np.clip(low, 0, 100), np.clip(high, 0, 100)
        if len(band.x) == 1:  # an area requires two positions
            axis.vlines(band.x, low, high, color=colour, alpha=0.5, lw=1.5)
        axis.fill_between(band.x, low, high, color=colour, alpha=0.18, lw=0)


def _scale(axis: "Axes", panel: Panel, end: float) -> None:
    """Sets limits and ticks: positions from 0 to `end`, fractions from 0 to 100 %, logarithmic ticks at 1, 2, 5."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    axis.set_xlim(0, 1.03 * end or 1.0)
    steps = [1, 2, 5, 10]
    axis.xaxis.set_major_locator(MaxNLocator(9, integer=panel.x_label == "iteration", steps=steps))
    if panel.percent:
        axis.set_ylim(-2, 102)
        axis.set_yticks(range(0, 101, 20))
        return
    bands = [line.band for line in panel.lines]
    if panel.log and all((band.mean > 0).all() for band in bands):
        lows = [np.maximum(band.low, band.mean / 10) for band in bands]  # an interval may reach below 0
        values = np.concatenate([*lows, *(band.high for band in bands)])
        low, high = _outward(float(np.nanmin(values)) / 1.02), _outward(float(np.nanmax(values)) * 1.02, up=True)
        axis.set_yscale("log")
        axis.set_ylim(low, high)
        axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high / low <= 1000 else (1,)))
    else:
        axis.set_ylim(bottom=min(0.0, *(float(np.nanmin(band.low)) for band in bands)))
        axis.yaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))
    plain_ticks(axis.yaxis)


def plain_ticks(scale: "Axis") -> None:
    """Labels the ticks of an axis with plain numbers, and minor ticks not at all."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    scale.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    scale.set_minor_formatter(NullFormatter())


def _outward(value: float, up: bool = False) -> float:
    """Returns the largest of ..., 0.1, 0.2, 0.5, 1, 2, 5, ... up to `value`, or with `up` the smallest from it."""
    decade = float(10.0 ** np.floor(np.log10(value)))
    steps = [step * decade for step in (0.5, 1.0, 2.0, 5.0, 10.0)]  # 0.5, should the logarithm be rounded up
    return next(step for step in steps if step >= value) if up else max(s for s in steps if s <= value)


def finish(axis: "Axes", title: str, x_label: str, y_label: str) -> None:
    axis.set_title(title, fontsize=MEDIUM)
    axis.set_xlabel(x_label, fontsize=SMALL)
    axis.set_ylabel(y_label, fontsize=SMALL)
    axis.tick_params(labelsize=SMALL)
    axis.grid(alpha=0.3)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def frame(figure: "Figure", axes: Sequence["Axes"], title: str, note: str) -> None:
    """Adds the title above the panels and, in a strip below them, the note and a common legend if there is a choice."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    width, height = (float(side) for side in figure.get_size_inches())
    pairs = (zip(*axis.get_legend_handles_labels(), strict=True) for axis in axes)
    entries = {str(label): handle for pair in pairs for handle, label in pair}
    lines = textwrap.wrap(note, int(16 * width))
    columns = max(1, min(len(entries), int(14 * width / (max(map(len, entries), default=0) + 6))))
    legend = 0.2 * -(-len(entries) // columns) + 0.06 if len(entries) > 1 else 0.0  # inches, as all here
    text = 0.155 * len(lines) + 0.08
    whole = height + legend + text
    strip, foot = (legend + text) / whole, text / whole
    figure.set_size_inches(width, whole)
    figure.set_layout_engine(ConstrainedLayoutEngine(rect=(0, strip, 1, 1 - strip)))
    figure.suptitle(title, fontsize=LARGE)
    foot = text / (height + legend + text)
    figure.text(
        0.5,
        foot - 0.05 / (height + legend + text),
        "\n".join(lines),
        ha="center",
        va="top",
        fontsize=SMALL,
        color="#444444",
    )
    if legend:
        figure.legend(
            entries.values(),
            entries.keys(),
            loc="lower center",
            bbox_to_anchor=(0.5, foot),
            ncols=columns,
            fontsize=SMALL,
            frameon=False,
            borderpad=0.1,
            borderaxespad=0.1,
        )


def _line_row(panel: Panel, line: Line) -> tuple[str, ...]:
    mean = line.band.mean
    values = (mean[0], np.nanmax(mean), mean[-1])
    texts = (f"{100 * v:.1f}" if panel.percent else number(float(v)) for v in values)
    return (panel.title, line.label, *texts, line.band.means)


def _line_alt(title: str, panels: Sequence[Panel]) -> str:
    sentences = [title + "."]
    for panel in panels:
        texts = [
            f"{line.label} goes from {shown(float(line.band.mean[0]), panel.percent)} "
            f"to {shown(float(line.band.mean[-1]), panel.percent)}"
            for line in panel.lines
        ]
        sentences.append(f"{panel.title}, {panel.y_label} over {panel.x_label}: {'; '.join(texts)}.")
    return " ".join(sentences)


def png_of(figure: "Figure") -> bytes:
    """Returns the image of a figure. Its texts are not read as formulas: names of runs may have dollar signs."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        text.set_parse_math(False)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
