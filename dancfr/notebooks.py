"""Curves in a notebook: frames of pandas and axes of Matplotlib, two packages that are imported when they are used."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dancfr.errors import UsageError, naming_extras, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

BAND = 0.2
"""Opacity of intervals."""

_OURS = "dancfr-title"
"""Id of the titles that `axes_for` has set."""


def frame(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None) -> "DataFrame":
    """Returns rows as a frame of pandas; a mapping in a row becomes columns such as ``seats/first/games``.

    Args:
        rows: The rows.
        columns: Names of the columns; None: all keys of the rows.

    Raises:
        PackageMissing: pandas is not installed.
    """
    with naming_extras():
        import pandas
    found = pandas.json_normalize([dict(row) for row in rows], sep="/")
    return found if columns is None else found.reindex(columns=list(columns))


def axes_for(ax: "Axes | None", x_label: str, y_label: str, title: str, shares: bool = False) -> "Axes":
    """Returns the axes on which a curve is to be drawn, with labels.

    Axes of other curves keep their labels, and get those of this curve in addition where they differ. They lose a title
    that names these curves only, unless the caller has set it.

    Args:
        ax: Axes that may have curves already; None: those of a new figure of pyplot, which get the title.
        x_label: Label of the horizontal axis.
        y_label: Label of the vertical axis.
        title: Title of a new figure.
        shares: Whether values are fractions, shown in percent.

    Raises:
        PackageMissing: Matplotlib is not installed.
        UsageError: `ax` is something else.
    """
    with naming_extras():
        from matplotlib import pyplot
        from matplotlib.axes import Axes
        from matplotlib.ticker import PercentFormatter
    if ax is None:
        ax = pyplot.subplots(layout="constrained")[1]
        ax.set_title(title, wrap=True).set_gid(_OURS)
        ax.grid(alpha=BAND)
    elif not isinstance(ax, Axes):
        raise UsageError(f"plot: ax expects axes of Matplotlib, such as pyplot.subplots()[1], got {shortened(ax)}")
    elif ax.title.get_gid() == _OURS and ax.get_title() != title:
        ax.set_title("")
    ax.set_xlabel(_both(ax.get_xlabel(), x_label))
    ax.set_ylabel(_both(ax.get_ylabel(), y_label))
    if shares:
        ax.yaxis.set_major_formatter(PercentFormatter(1))
    return ax


def _both(shown: str, wanted: str) -> str:
    return ", ".join(dict.fromkeys([*filter(None, shown.split(", ")), wanted]))


def percent(share: float) -> str:
    """Formats a fraction: ``66.5 %``."""
    return f"{100 * share:.1f} %"
