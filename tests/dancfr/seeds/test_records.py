"""Records of several seeds that are spoilt, incomplete or of other runs: refused, or read as they are."""

import json
import shutil
from pathlib import Path

import pytest

import dancfr
from dancfr.errors import UsageError
from dancfr.seeds import SeedRuns, described
from tests.dancfr.seeds.small_seeds import edit, train


def other_setting(path: Path) -> None:
    info = json.loads((path / "config.json").read_text())
    info["config"]["traversals"] += 1
    (path / "config.json").write_text(json.dumps(info))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (other_setting, "traversals: 21 -> 20: leave the setting out, or choose another folder$"),
        (lambda path: (path / "config.json").unlink(), "is not empty: choose another folder"),
        (lambda path: (path / "config.json").write_text("{"), "is damaged"),
        (lambda path: edit(path, lambda rows: []), "ended after 0 iterations of 4 by its record"),
        (
            lambda path: edit(path, lambda rows: [r for r in rows if r["iteration"] <= 2]),
            "ended after 2 iterations of 4 by its record",
        ),
        (lambda path: (shutil.rmtree(path), path.write_text("")), "is a file: choose another folder"),
    ],
)
def test_a_spoilt_run_is_refused_before_others_are_trained(copied: Path, spoil, says: str) -> None:
    shutil.rmtree(copied / "seed-1")
    spoil(copied / "seed-2")
    with pytest.raises(UsageError, match=says):
        train(copied, (1, 2))
    assert not (copied / "seed-1").exists()


def test_complete_runs_of_other_evaluations_are_refused(copied: Path) -> None:
    with pytest.raises(UsageError, match=r"is complete with evaluation\.games=20, not 30: leave the setting as it was"):
        train(copied, (1, 4), **{"evaluation.games": 30})
    assert not (copied / "seed-4").exists()


def test_copies_of_a_run_do_not_narrow_intervals(copied: Path) -> None:
    shutil.copytree(copied / "seed-1", copied / "seed-1-old")
    with pytest.raises(UsageError, match=r"seed-1 and .*seed-1-old have the same seed, 1"):
        dancfr.load_seeds(copied)


def test_a_seed_that_is_no_number_is_told(copied: Path) -> None:
    info = json.loads((copied / "seed-1" / "config.json").read_text())
    info["config"]["seed"] = "one"
    (copied / "seed-1" / "config.json").write_text(json.dumps(info))
    with pytest.raises(UsageError, match="seed"):
        dancfr.load_seeds(copied)


def test_policies_are_told_apart_over_all_runs(copied: Path) -> None:
    edit(copied / "seed-2", lambda rows: [row for row in rows if row.get("policy") != "last"])
    assert list(dancfr.load_seeds(copied).bands("nash_conv")) == ["average"], "the other is not in all runs"
    edit(copied / "seed-1", lambda rows: [row for row in rows if row.get("policy") != "average"])
    with pytest.raises(UsageError, match="no player, policy and opponent has nash_conv in all 3 runs"):
        dancfr.load_seeds(copied).bands("nash_conv")


def test_a_run_without_a_record_is_named(copied: Path) -> None:
    edit(copied / "seed-1", lambda rows: [])
    with pytest.raises(UsageError, match=r"seed-1 has recorded no nash_conv with iterations yet"):
        dancfr.load_seeds(copied).bands()
    assert dancfr.load_seeds(copied).final() == []


def test_evaluations_at_one_iteration_have_no_seconds_in_common(copied: Path) -> None:
    for seed in (1, 2, 3):
        edit(copied / f"seed-{seed}", lambda rows: [row for row in rows if row["iteration"] <= 2])
        edit(copied / f"seed-{seed}", lambda rows: [row | {"elapsed_s": seed} for row in rows])  # noqa: B023
    with pytest.raises(UsageError, match="have no seconds in common: tell it over iterations"):
        dancfr.load_seeds(copied).bands(x="seconds")


def test_the_newest_finite_value_of_an_iteration_counts(copied: Path, runs: SeedRuns) -> None:
    wanted = runs.bands("nash_conv")["average"].mean.tolist()
    old = {"kind": "exploitability", "policy": "average", "iteration": 2, "nash_conv": 9.0}
    edit(copied / "seed-2", lambda rows: [old, *rows, old | {"iteration": 4, "nash_conv": float("nan")}])
    assert dancfr.load_seeds(copied).bands("nash_conv")["average"].mean.tolist() == wanted


def test_equal_values_have_no_interval_and_lengths_are_told(copied: Path) -> None:
    for seed in (1, 2, 3):
        edit(copied / f"seed-{seed}", lambda rows: [row | {"win_rate": 0.7} for row in rows])
    edit(copied / "seed-3", lambda rows: [row for row in rows if row["iteration"] <= 2])
    found = dancfr.load_seeds(copied)
    rates = [row for row in found.final() if row["key"] == "win_rate"]
    assert [row["ci95"] for row in rates] == [None, None]
    assert described(rates[0]) == ("games won", "2 to 4", "70.0 %", "", "70.0 %, 70.0 %")
    assert "2 to 4" in found._repr_html_()
