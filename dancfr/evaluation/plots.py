"""Drawing: panels of lines, stacks and bars as PNG bytes, each with a text that says what it shows.

Nothing here knows of runs; `figures` builds the panels. Colours are those of Okabe and Ito, told apart by
people with any colour vision, and lines differ by marker too. The background is white whatever the page
around it."""

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dancfr.evaluation.statistics import Band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D1F")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", ":", "-.")
DPI = 110


@dataclass(frozen=True)
class Line:
    """One curve with its band. `colour` and `dash` are indices: a setting looks alike in all figures."""

    label: str
    band: Band
    colour: int = 0
    dash: int = 0


@dataclass(frozen=True)
class Panel:
    """Curves over one pair of axes.

    Attributes:
        percent: Values are shares from 0 to 1, shown as 0 to 100 %.
        log: Logarithmic vertical axis.
        reference: Level of a dotted horizontal line and what it means, such as a figure that a paper states.
    """

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    percent: bool = False
    log: bool = False
    reference: tuple[float, str] | None = None


@dataclass(frozen=True)
class Stack:
    """Parts that add up, one array `[N]` a part, over the positions `x` `[N]`."""

    title: str
    x: NDArray[np.float64]
    parts: dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Plot:
    """A finished figure.

    Attributes:
        name: File name without suffix.
        alt: What a reader who cannot see the figure is told.
        png: The image.
        columns, rows: The figure's main values as a table.
    """

    name: str
    title: str
    caption: str
    alt: str
    png: bytes = field(repr=False)
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def number(value: float) -> str:
    """A number for a table or a sentence, four digits where that is enough."""
    if not np.isfinite(value):
        return str(value)
    if value == 0 or 0.01 <= abs(value) < 10_000:
        return f"{value:.4g}"
    return f"{value:,.0f}" if 10_000 <= abs(value) < 1e7 else f"{value:.2e}"


def shown(value: float, percent: bool) -> str:
    """A value as its axis shows it."""
    return f"{100 * value:.1f} %" if percent else number(value)


def draw_lines(name: str, title: str, caption: str, panels: Sequence[Panel]) -> Plot:
    """Panels side by side, two in a row."""
    figure, axes = _grid(len(panels))
    for axis, panel in zip(axes, panels, strict=False):
        for line in panel.lines:
            _draw_line(axis, line, panel.percent)
        _finish(axis, panel.title, panel.x_label, panel.y_label)
        if panel.percent:
            axis.set_ylim(-2, 102)
        elif panel.log:
            axis.set_yscale("log")
        else:
            axis.set_ylim(bottom=min(0.0, *(float(line.band.low.min()) for line in panel.lines)))
        if panel.reference:
            level, meaning = panel.reference
            level = 100 * level if panel.percent else level
            axis.axhline(level, color="#666666", lw=1, ls=":", label=meaning)
        axis.legend(fontsize=7, framealpha=0.8)
    rows = tuple(_line_row(panel, line) for panel in panels for line in panel.lines)
    columns = ("panel", "line", "first", "best", "last", "shown")
    if not all(panel.percent for panel in panels):
        columns = ("panel", "line", "first", "highest", "last", "shown")
    return Plot(name, title, caption, _line_alt(title, panels), _png(figure), columns, rows)


def draw_stacks(
    name: str,
    title: str,
    caption: str,
    x_label: str,
    y_label: str,
    parts: Sequence[str],
    stacks: Sequence[Stack],
) -> Plot:
    """Stacked areas, a panel a stack; a part has the colour of its place in `parts`."""
    figure, axes = _grid(len(stacks))
    for axis, stack in zip(axes, stacks, strict=False):
        colours = [COLOURS[parts.index(part) % len(COLOURS)] for part in stack.parts]
        x, heights = stack.x, list(stack.parts.values())
        if len(x) == 1:  # an area needs two positions
            x, heights = np.array([x[0] - 0.5, x[0] + 0.5]), [np.repeat(values, 2) for values in heights]
        axis.stackplot(x, *heights, labels=stack.parts, colors=colours, alpha=0.85, step="mid")
        _finish(axis, stack.title, x_label, y_label)
        axis.legend(fontsize=7, loc="upper left", framealpha=0.8)
    rows = tuple(
        (stack.title, part, number(float(values.mean())), number(float(values.sum())))
        for stack in stacks
        for part, values in stack.parts.items()
    )
    alt = f"{title}. " + " ".join(
        f"{stack.title}: "
        + ", ".join(f"{part} {number(float(v.mean()))} on average" for part, v in stack.parts.items())
        + "."
        for stack in stacks
    )
    return Plot(name, title, caption, alt, _png(figure), ("panel", "part", "mean", "sum"), rows)


def draw_bars(
    name: str,
    title: str,
    caption: str,
    y_label: str,
    parts: Sequence[str],
    bars: dict[str, dict[str, float]],
    spread: dict[str, float],
) -> Plot:
    """Stacked bars, `bars[label][part]`, with the standard deviation of each total as a whisker.

    A part has the colour of its place in `parts`; one that no bar has is left out.
    """
    from matplotlib.figure import Figure

    width = max(4.5, 1.6 * len(bars) + 1.5)
    figure = Figure(figsize=(width, 4), dpi=DPI, layout="constrained", facecolor="white")
    axis = figure.subplots()
    labels = list(bars)
    bottom = np.zeros(len(labels))
    for i, part in enumerate(parts):
        heights = np.array([bars[label].get(part, 0.0) for label in labels])
        if not heights.any():
            continue
        axis.bar(labels, heights, bottom=bottom, color=COLOURS[i % len(COLOURS)], label=part, width=0.6)
        bottom += heights
    whiskers = [spread.get(label, 0.0) for label in labels]
    if any(whiskers):
        axis.errorbar(range(len(labels)), bottom, yerr=whiskers, fmt="none", ecolor="black", capsize=4)
    _finish(axis, "", "", y_label)
    axis.tick_params(axis="x", labelsize=7, rotation=15 if len(labels) > 2 else 0)
    axis.legend(fontsize=7, framealpha=0.8)
    rows = tuple(
        (
            label,
            number(float(total)),
            number(sd),
            ", ".join(f"{p} {number(v)}" for p, v in bars[label].items()),
        )
        for label, total, sd in zip(labels, bottom, whiskers, strict=True)
    )
    alt = f"{title}. " + " ".join(f"{label}: {total} in all ({shares})." for label, total, _, shares in rows)
    return Plot(name, title, caption, alt, _png(figure), ("setting", "total", "sd", "parts"), rows)


def _grid(panels: int) -> tuple["Figure", list["Axes"]]:
    from matplotlib.figure import Figure  # without pyplot: no display, no global state

    columns = min(2, panels)
    lines = -(-panels // columns)
    size = (7.5 if columns == 1 else 10.5, 3.7 * lines + 0.2)
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
        marker=MARKERS[line.colour % len(MARKERS)] if len(band.x) <= 60 else None,
        ms=3.5,
        label=line.label,
    )
    if band.runs > 1:
        low, high = scale * band.low, scale * band.high
        if percent:
            low, high = np.clip(low, 0, 100), np.clip(high, 0, 100)
        axis.fill_between(band.x, low, high, color=colour, alpha=0.15, lw=0)


def _finish(axis: "Axes", title: str, x_label: str, y_label: str) -> None:
    axis.set_title(title, fontsize=9)
    axis.set_xlabel(x_label, fontsize=8)
    axis.set_ylabel(y_label, fontsize=8)
    axis.tick_params(labelsize=8)
    axis.grid(alpha=0.3)
    if x_label == "iteration":
        from matplotlib.ticker import MaxNLocator

        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _line_row(panel: Panel, line: Line) -> tuple[str, ...]:
    mean = line.band.mean
    values = (shown(float(v), panel.percent) for v in (mean[0], np.nanmax(mean), mean[-1]))
    return (panel.title, line.label, *values, line.band.means)


def _line_alt(title: str, panels: Sequence[Panel]) -> str:
    sentences = [title + "."]
    for panel in panels:
        told = [
            f"{line.label} goes from {shown(float(line.band.mean[0]), panel.percent)} "
            f"to {shown(float(line.band.mean[-1]), panel.percent)}"
            for line in panel.lines
        ]
        sentences.append(f"{panel.title}, {panel.y_label} over {panel.x_label}: {'; '.join(told)}.")
    return " ".join(sentences)


def _png(figure: "Figure") -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
