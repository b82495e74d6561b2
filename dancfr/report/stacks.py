"""Draws the endings of games as stacked areas over iterations, and as bars (paper 002, Figs 5 to 13)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dancfr.report.history import History
from dancfr.report.plots import DPI, MEDIUM, SMALL, Plot, finish, frame, grid, number, png_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Outcomes = Mapping[str, tuple[str, str]]
"""Name in figures and colour of each outcome and ending, see `envs.record.GameRecord.outcomes`."""


@dataclass(frozen=True)
class Stack:
    """Fractions of the games by category over iterations, as means over runs.

    Attributes:
        title: Title of the panel.
        x: Iterations, `float64[N]`.
        shares: Fractions in the order of the game's outcomes, `float64[K, N]`; columns sum to 1.
        runs: Number of runs.
    """

    title: str
    x: NDArray[np.float64]
    shares: NDArray[np.float64]
    runs: int


def stack_of(outcomes: Outcomes, title: str, runs: Sequence[History], opponent: str) -> Stack | None:
    """Returns the categories of the average policy's evaluations that all runs have; None if there are none."""
    found = [
        {
            row["iteration"]: shares_of(outcomes, row["categories"])
            for row in run.evaluations
            if (row["opponent"], row["policy"]) == (opponent, "average") and row.get("categories")
        }
        for run in runs
    ]
    shared = sorted(set.intersection(*(set(each) for each in found))) if found else []
    if not shared:
        return None
    shares = np.mean([[each[t] for t in shared] for each in found], axis=0).T
    return Stack(title, np.array(shared, np.float64), shares, len(found))


def shares_of(outcomes: Outcomes, categories: Mapping[str, float]) -> NDArray[np.float64]:
    """Returns the fraction of the games with each of K outcomes, `float64[K]`.

    Raises:
        ValueError: a category is none of the outcomes, or there are no games.
    """
    if unknown := set(categories) - set(outcomes):
        raise ValueError(f"unknown outcomes: {', '.join(sorted(unknown))}")
    counts = np.array([float(categories.get(name, 0)) for name in outcomes])
    if not counts.sum():
        raise ValueError("no games were played")
    return np.asarray(counts / counts.sum())


def draw_areas(outcomes: Outcomes, name: str, title: str, caption: str, stacks: Sequence[Stack]) -> Plot:
    """Draws a panel of stacked areas for each stack, two in a row."""
    figure, axes = grid(len(stacks))
    for axis, stack in zip(axes, stacks, strict=False):
        axis.stackplot(
            stack.x,
            100 * stack.shares,
            labels=[said for said, _ in outcomes.values()],
            colors=[colour for _, colour in outcomes.values()],
            lw=0,
        )
        finish(axis, stack.title, "iteration", "games (%)")
        axis.set_ylim(0, 100)
        axis.set_xlim(stack.x[0], stack.x[-1] if len(stack.x) > 1 else stack.x[0] + 1)
    frame(figure, axes[: len(stacks)], title, "")
    ends = {stack.title: stack.shares[:, -1] for stack in stacks}
    return Plot(name, title, caption, _alt(outcomes, title, ends), png_of(figure), _columns(outcomes), _rows(ends))


def draw_shares(
    outcomes: Outcomes, name: str, title: str, caption: str, bars: Mapping[str, NDArray[np.float64]], note: str = ""
) -> Plot:
    """Draws a horizontal bar for each match, divided into categories.

    Args:
        outcomes: The outcomes of the game.
        name: File name without suffix.
        title: Title of the figure.
        caption: Caption on the page.
        bars: Fractions of the games in the order of the outcomes, `float64[K]`, by label.
        note: Text below the panel, inside the image.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.5, 1.1 + 0.55 * len(bars)), dpi=DPI, layout="constrained", facecolor="white")
    axis: Axes = figure.subplots()
    places = np.arange(len(bars))
    left = np.zeros(len(bars))
    for i, (said, colour) in enumerate(outcomes.values()):
        widths = np.array([100 * shares[i] for shares in bars.values()])
        axis.barh(places, widths, 0.7, left, color=colour, label=said, edgecolor="white", lw=0.5)
        for place, width, start in zip(places.tolist(), widths.tolist(), left.tolist(), strict=True):
            if width >= 3:
                axis.text(start + width / 2, place, f"{width:.0f}", ha="center", va="center", fontsize=SMALL)
        left += widths
    finish(axis, "", "games (%)", "")
    axis.set_xlim(0, 100)
    axis.set_yticks(places, list(bars), fontsize=MEDIUM)
    axis.invert_yaxis()
    frame(figure, [axis], title, note)
    return Plot(name, title, caption, _alt(outcomes, title, bars), png_of(figure), _columns(outcomes), _rows(bars))


def _columns(outcomes: Outcomes) -> tuple[str, ...]:
    return ("match", *(f"{said} (%)" for said, _ in outcomes.values()))


def _rows(bars: Mapping[str, NDArray[np.float64]]) -> tuple[tuple[str, ...], ...]:
    return tuple((label, *(f"{100 * share:.1f}" for share in shares)) for label, shares in bars.items())


def _alt(outcomes: Outcomes, title: str, bars: Mapping[str, NDArray[np.float64]]) -> str:
    texts = []
    for label, shares in bars.items():
        parts = zip((said for said, _ in outcomes.values()), shares, strict=True)
        texts.append(f"{label}: " + ", ".join(f"{said} {number(100 * share)} %" for said, share in parts if share))
    return f"{title}. {'; '.join(texts)}."
