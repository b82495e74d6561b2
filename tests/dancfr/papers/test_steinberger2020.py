"""Tests of NashConv on Leduc compared with published curves: rows, figure, and a short training."""

from pathlib import Path

import pytest

from dancfr.methods import find_preset
from dancfr.methods.dream.config import DreamConfig
from dancfr.papers.reproduce import reproduce
from dancfr.papers.steinberger2020 import (
    DREAM,
    OS_SDCFR,
    PUBLISHED,
    QUICK,
    SCALES,
    SDCFR,
    UNLIKE,
    UNLIKE_QUICK,
    compare,
)
from dancfr.report.figures_exact import nash_conv_curves
from dancfr.report.history import History
from dancfr.report.report import report
from tests.dancfr.records import train_row

TINY = (
    "iterations=2",
    "traversals=20",
    "chunk=20",
    "advantage_training.minibatches=2",
    "advantage_training.batch=16",
    "baseline_training.minibatches=2",
    "baseline_training.batch=16",
    "evaluation.games=2",
)


def history(name: str, curve: dict[int, float], merge: bool = False) -> History:
    """A run that samples 8,000 decisions an iteration, with NashConv by iteration."""
    train = tuple(train_row(t, 0) | {"samples/decisions": 8000 * t} for t in range(1, max(curve) + 1))
    exact = tuple(
        {"kind": "exploitability", "iteration": t, "policy": "average", "nash_conv": v} for t, v in curve.items()
    )
    return History(name, Path(name), {"preset": name, "config": {"merge": merge}}, train, (), exact)


def test_rows_are_the_states_nearest_to_the_published_ones() -> None:
    runs = [history("a", {10: 1.5, 30: 0.7, 125: 0.3}), history("b", {10: 1.7, 30: 0.5, 125: 0.2})]
    others = {OS_SDCFR: [history("c", {10: 2.0})], SDCFR: [history("d", {125: 0.1}, merge=True)]}
    found = compare({DREAM: runs, **others}, SCALES["paper"])
    rows = {row["cell"]: row for row in found.rows}
    assert rows["DREAM, 81,000 nodes"]["paper"] == 1.40
    assert rows["DREAM, 81,000 nodes"]["ours"] == pytest.approx(1.6)
    assert rows["DREAM, 240,000 nodes"]["ours"] == pytest.approx(0.6)
    assert rows["DREAM, 1,000,000 nodes"]["ours"] == pytest.approx(0.25)
    assert rows["DREAM, 1,000,000 nodes"]["sd"] == pytest.approx(0.1 / 2**0.5)
    assert rows["DREAM, 490,000 nodes"]["ours"] is None  # no state is near
    assert rows["OS-SDCFR, 1,000,000 nodes"]["note"] == "the runs are shorter"
    assert (rows["SD-CFR, 1,000,000 nodes"]["paper"], rows["SD-CFR, 1,000,000 nodes"]["ours"]) == (None, 0.1)
    assert [cell for cell, each in rows.items() if UNLIKE in each["note"]] == ["SD-CFR, 1,000,000 nodes"]
    assert [figure.name for figure in found.figures] == ["nash-conv"]
    lines = [row[1] for row in found.figures[0].rows]
    assert lines == ["DREAM (2 runs)", "DREAM, published", "OS-SDCFR", "SD-CFR"]


def test_quick_runs_have_a_note_of_their_own() -> None:
    found = compare({DREAM: [history(QUICK, {10: 1.5}, merge=True)]}, SCALES["quick"])
    note = next(row["note"] for row in found.rows if row["ours"] is not None)
    assert note.endswith(UNLIKE_QUICK)
    published, quick = (find_preset(name).config for name in ("leduc-dream-reference", QUICK))
    assert isinstance(published, DreamConfig)
    assert isinstance(quick, DreamConfig)
    theirs, ours = published.advantage_training, quick.advantage_training
    assert (ours.learning_rate, ours.clip) == (theirs.learning_rate, theirs.clip)
    assert ours.minibatches != theirs.minibatches


def test_without_exact_rows_there_is_no_figure() -> None:
    assert nash_conv_curves({DREAM: [History("a", Path("a"), {}, (train_row(1, 0),), ())]}, PUBLISHED) is None


def test_one_command_trains_and_compares(tmp_path: Path) -> None:
    found = reproduce("leduc-nash-conv", "quick", tmp_path, inline=True, overrides=TINY)
    files = {Path(file).name for file in found["files"]}
    assert {"leduc-nash-conv.html", "nash-conv.png"} <= files
    names = sorted(path.name for path in tmp_path.iterdir() if path.is_dir())
    assert names == ["figures", "leduc-dream-quick-seed1", "leduc-os-sdcfr-quick-seed1"]
    run = History.read(tmp_path / "leduc-dream-quick-seed1")
    assert [row["iteration"] for row in run.exact if row["policy"] == "average"] == [1, 2]
    decisions, values = run.nash_conv(decisions=True)
    assert 0 < decisions[0] < decisions[1] < 1000
    assert (values > 0).all()
    assert (values < 26).all()
    assert all(row["ours"] is None for row in found["rows"])  # these few nodes are near no published figure
    page = report([tmp_path / "leduc-dream-quick-seed1"])
    assert any(str(file).endswith("nash-conv.png") for file in page["files"])

    first = [tmp_path / "leduc-dream-quick-seed1"]
    alone = reproduce("leduc-nash-conv", "quick", tmp_path / "alone", overrides=TINY, runs=first)
    assert {row["cell"].partition(",")[0] for row in alone["rows"]} == {DREAM}
