"""Tests of the text in figures: titles, axes, bands, legends and headings of tables."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.evaluation.statistics import wilson
from dancfr.methods import find_preset
from dancfr.report import plots
from dancfr.report.figures import all_figures, single_runs, total_times, win_rates
from dancfr.report.figures_exact import nash_conv_curves
from dancfr.report.history import History, by_setting
from dancfr.report.plots import Plot
from tests.dancfr.records import evaluation_row, train_row


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collects the matplotlib figures in the order of drawing."""
    figures: list[Any] = []
    encode = plots.png_of

    def keep(figure: Any) -> bytes:
        figures.append(figure)
        return encode(figure)

    monkeypatch.setattr(plots, "png_of", keep)
    return figures


def record(last: int = 8, wins: int = 50, **values: Any) -> list[dict[str, Any]]:
    rows = [train_row(t, (t - 1) % 2, **values) for t in range(1, last + 1)]
    for t in range(2, last + 1, 2):
        rows += [evaluation_row(t, wins + t), evaluation_row(t, wins - t, policy="last")]
    return rows


def said(figure: Any) -> str:
    """Returns the title and the note of a figure."""
    return " ".join([figure.get_suptitle(), *(text.get_text() for text in figure.texts)]).replace("\n", " ")


def histories(write_run: Any, count: int) -> list[History]:
    return [History.read(write_run(f"s{s}", record(wins=50 + s), seed=s)) for s in range(1, count + 1)]


@pytest.mark.parametrize("counted", [True, False])
def test_nash_conv_is_drawn_over_decisions_or_else_over_iterations(
    counted: bool, write_run: Any, drawn: list[Any]
) -> None:
    exact = [{"kind": "exploitability", "iteration": t, "policy": "average", "nash_conv": 1.0 / t} for t in (2, 4)]
    rows = [{key: value for key, value in row.items() if key != "samples/decisions"} for row in record(4)]
    if counted:
        rows = [row | ({"samples/decisions": 100 * row["iteration"]} if row["kind"] == "train" else {}) for row in rows]
    plot = nash_conv_curves(by_setting([History.read(write_run("a", [*rows, *exact]))]), {})
    assert plot is not None
    (figure,) = drawn
    axes = figure.axes[0]
    assert axes.get_xlabel() == ("decisions" if counted else "iterations")
    assert axes.lines[0].get_xdata().tolist() == ([200, 400] if counted else [2, 4])
    assert axes.lines[0].get_ydata().tolist() == [0.5, 0.25]


@pytest.mark.parametrize(("last", "scale"), [(0.25, "log"), (0.0, "linear")])
def test_an_equilibrium_has_a_linear_axis(last: float, scale: str, write_run: Any, drawn: list[Any]) -> None:
    exact = [
        {"kind": "exploitability", "iteration": t, "policy": "average", "nash_conv": found}
        for t, found in ((2, 0.5), (4, last))
    ]
    nash_conv_curves(by_setting([History.read(write_run("a", [*record(4), *exact]))]), {})
    (axes,) = drawn[0].axes
    assert axes.get_yscale() == scale
    assert axes.get_ylim()[0] == (0 if scale == "linear" else 0.2)


def test_a_configuration_without_evaluations_has_no_readings(write_run: Any) -> None:
    path = write_run("none", record(4)) / "config.json"
    info = json.loads(path.read_text())
    path.write_text(json.dumps(info | {"config": info["config"] | {"evaluation": None}}))
    assert all_figures(by_setting([History.read(path.parent)]))[0]


def test_one_run_has_wilson_bands_and_no_legend(write_run: Any, drawn: list[Any]) -> None:
    plot = win_rates(by_setting(histories(write_run, 1)), "random")
    assert plot is not None
    (figure,) = drawn
    assert not figure.legends
    assert "against random" in figure.get_suptitle()
    assert "Setting: geister-quick. Bands: 95 % Wilson interval over the games of each evaluation" in said(figure)
    axis = figure.axes[0]
    assert axis.get_ylabel() == "win rate against random (%)"
    (band,) = axis.collections
    low, high = wilson(59, 100)  # the last evaluation
    at_8 = [y for x, y in band.get_paths()[0].vertices if x == 8]
    assert (min(at_8), max(at_8)) == pytest.approx((100 * low, 100 * high))
    assert plot.columns == ("panel", "line", "first (%)", "highest (%)", "last (%)", "band")
    assert plot.rows[0][2:5] == ("53.0", "59.0", "59.0")


def test_several_runs_have_bands_over_runs(write_run: Any, drawn: list[Any]) -> None:
    win_rates(by_setting(histories(write_run, 3)), "random", time=True)
    assert "Bands: 95 % t interval of 3 runs." in said(drawn[0])


def test_single_runs_have_no_bands_beside_each_other_and_one_legend(write_run: Any, drawn: list[Any]) -> None:
    several = histories(write_run, 3)
    single_runs("geister-quick", several)
    assert not any(axis.collections for axis in drawn[0].axes)
    (legend,) = drawn[0].legends
    assert len(legend.get_texts()) == 6  # the average policy and the last iterate of three runs
    assert "Dashed: the last iterate" in said(drawn[0])
    single_runs("geister-quick", several[:1], policies=("average",))
    assert drawn[1].axes[0].collections
    assert not drawn[1].legends
    assert "Run: s1." in said(drawn[1])
    assert "Dashed" not in said(drawn[1])


def test_a_run_whose_name_begins_with_an_underscore_is_in_the_legend(write_run: Any, drawn: list[Any]) -> None:
    runs = [History.read(write_run(name, record(4), seed=seed)) for seed, name in enumerate(("_old", "new"))]
    single_runs("geister-quick", runs, policies=("average",))
    (legend,) = drawn[0].legends
    assert [text.get_text().strip() for text in legend.get_texts()] == ["_old", "new"]


def test_names_with_dollar_signs_are_no_formulas(write_run: Any) -> None:
    runs = [History.read(write_run(name, record(4), seed=seed)) for seed, name in enumerate(("a$^$", "b"))]
    figure = single_runs("geister-quick", runs)
    assert figure is not None
    assert "a$^$ goes from" in figure.alt


def test_legends_lie_below_the_panels(write_run: Any, drawn: list[Any]) -> None:
    single_runs("geister-quick", histories(write_run, 2))
    (figure,) = drawn
    legend = figure.legends[0].get_window_extent()
    for axis in figure.axes:
        assert legend.y1 <= axis.get_tightbbox().y0
    (note,) = [text for text in figure.texts if text.get_text() != figure.get_suptitle()]
    assert legend.y0 >= note.get_window_extent().y1
    assert note.get_window_extent().y0 >= 0


def test_phases_stand_side_by_side_and_what_is_no_training_apart(write_run: Any, drawn: list[Any]) -> None:
    rows = record(**{"time/traversal_s": 0.5, "time/advantage_s": 1.0, "time/baseline_s": 1.9})
    plot = total_times(by_setting([History.read(write_run("one", rows))]))
    assert plot is not None
    (axis,) = drawn[0].axes
    lengths = {round(box.get_y() + box.get_height() / 2, 3): box.get_width() for box in axis.patches}
    assert all(box.get_x() == 0 for box in axis.patches)  # nothing is stacked
    assert list(lengths.values()) == pytest.approx([16.0, 4.0, 8.0, 15.2, 1.2])
    places = list(lengths)
    assert places[4] - places[3] > places[3] - places[2]
    assert [bool(box.get_hatch()) for box in axis.patches] == [False] * 4 + [True]
    assert "phases overlap" in drawn[0].get_suptitle()
    assert "excludes evaluations and checkpoints (hatched)" in said(drawn[0])
    assert plot.columns[:3] == ("setting", "training, wall time (seconds)", "traversal (seconds)")
    assert plot.rows == (("geister-quick", "16", "4", "8", "15.2", "1.2"),)


def test_bars_of_several_settings_do_not_cover_each_other(write_run: Any, drawn: list[Any]) -> None:
    settings = by_setting(
        [History.read(write_run(f"t{n}", record(), traversals=n)) for n in (64, 128, 256)]
        + [History.read(write_run("more", record(last=9), traversals=64, seed=2))]
    )
    plot = total_times(settings)
    assert plot is not None
    boxes = sorted((box.get_y(), box.get_y() + box.get_height()) for box in drawn[0].axes[0].patches)
    assert all(end <= start + 1e-9 for (_, end), (start, _) in pairwise(boxes))
    assert len(drawn[0].legends[0].get_texts()) == 3
    assert "standard deviation over runs" in said(drawn[0])
    assert plot.rows[0][1] == "17 (sd 1.414)"


def test_logarithmic_axes_have_plain_labels_of_one_size(write_run: Any, drawn: list[Any]) -> None:
    rows = [train_row(t, t % 2, **{"loss/advantage": 0.21 / t, "loss/baseline": 0.069}) for t in (1, 2, 3)]
    plots_ = all_figures(by_setting([History.read(write_run("log", rows))]))[0]
    place = [plot.name for plot in plots_].index("losses")
    for axis, ticks in zip(drawn[place].axes, (["0.05", "0.1", "0.2", "0.5"], ["0.05", "0.1"]), strict=True):
        low, high = axis.get_ylim()
        shown = [tick for tick in axis.get_yticklabels() if low <= tick.get_position()[1] <= high]
        assert [tick.get_text() for tick in shown] == ticks
        assert {tick.get_size() for tick in shown} == {axis.get_xticklabels()[0].get_size()}
        assert not any(tick.get_text() for tick in axis.get_yticklabels(minor=True))


@pytest.mark.parametrize(
    ("value", "below", "above"), [(0.0553, 0.05, 0.1), (1.0, 1.0, 1.0), (7, 5, 10), (2.1, 2, 5), (1e-9, 1e-9, 1e-9)]
)
def test_limits_of_logarithmic_axes_are_round(value: float, below: float, above: float) -> None:
    assert plots._outward(value) == pytest.approx(below)
    assert plots._outward(value, up=True) == pytest.approx(above)


def test_iterations_are_whole_and_start_at_0(write_run: Any, drawn: list[Any]) -> None:
    rows = [evaluation_row(t, 60) for t in (20, 40, 60, 80)]
    win_rates(by_setting([History.read(write_run("ticks", rows))]), "random")
    axis = drawn[0].axes[0]
    low, high = axis.get_xlim()
    assert low == 0
    assert [tick for tick in axis.get_xticks() if low <= tick <= high] == list(range(0, 81, 10))
    assert list(axis.get_yticks()) == list(range(0, 101, 20))


def test_every_figure_has_a_title_and_units_of_its_own(write_run: Any, drawn: list[Any]) -> None:
    runs = [History.read(write_run("all", record(), importance="clipped"))]
    found, left_out = all_figures(by_setting(runs))
    assert left_out == []
    assert [figure.get_suptitle() for figure in drawn] == [plot.title for plot in found]
    assert len({plot.title for plot in found}) == len({plot.name for plot in found}) == len(found)
    panels = [axis.get_title() for figure in drawn for axis in figure.axes if axis.get_title()]
    policies = {"Average policy", "Last iterate"}
    own = [title for title in panels if title not in policies]
    assert len(set(own)) == len(own)
    assert not any(axis.get_title() == figure.get_suptitle() for figure in drawn for axis in figure.axes)
    for plot in found:
        assert all("(" in column for column in value_columns(plot)), plot.columns


def value_columns(plot: Plot) -> tuple[str, ...]:
    """Returns the columns of a figure's table that contain numbers."""
    numbers = (cell.replace(",", "")[:1].isdecimal() for cell in plot.rows[0])
    return tuple(name for name, told in zip(plot.columns, numbers, strict=True) if told and name != "band")


def test_a_band_without_counts_is_none(write_run: Any, drawn: list[Any]) -> None:
    row = {key: evaluation_row(3, 70)[key] for key in ("kind", "iteration", "policy", "opponent", "win_rate")}
    plot = win_rates(by_setting([History.read(write_run("sparse", [row]))]), "random")
    assert plot is not None
    assert plot.rows[0][-1] == "one run"
    assert not drawn[0].axes[0].collections
    assert np.isnan(History.read(write_run("none", [row])).intervals("random")).all()


def test_settings_that_differ_in_many_keys_have_files_of_their_own(write_run: Any, tmp_path: Path) -> None:
    """Their names would be longer than a file system takes."""
    base: Any = find_preset("geister-quick").config
    faster = {"batch": 64, "learning_rate": 0.01, "minibatches": 4, "bf16": True}
    changes = {key: getattr(base, key).model_dump() | faster for key in ("advantage_training", "baseline_training")}
    changes |= {"traversals": 64, "chunk": 32, "reservoir": 1000, "circular": 1000}
    runs = [History.read(write_run(f"a-{seed}", record(2), seed=seed)) for seed in (1, 2)]
    runs += [History.read(write_run(f"b-{seed}", record(2), seed=seed, **changes)) for seed in (1, 2)]
    settings = by_setting(runs)
    assert max(map(len, settings)) > 255
    figures = [single_runs(setting, members) for setting, members in settings.items()]
    names = [figure.name for figure in figures if figure is not None]
    assert len(set(names)) == 2
    for name in names:
        (tmp_path / f"{name}.png").touch()
