"""Tests of reading records: valid rows, skipped rows, and the grouping of runs by setting."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.errors import UsageError
from dancfr.evaluation.statistics import wilson
from dancfr.report.history import History, by_setting
from tests.dancfr.records import evaluation_row, train_row


def test_curves_follow_the_record(write_run: Any) -> None:
    rows = [train_row(t, (t - 1) % 2) for t in range(1, 5)]
    rows += [evaluation_row(t, 40 + t) for t in (2, 4)] + [evaluation_row(4, 90, policy="last")]
    history = History.read(write_run("one", rows))
    assert (history.iterations, history.seconds, history.players()) == (4, 8.0, [0, 1])
    np.testing.assert_array_equal(history.win_rates("random"), [[2, 4], [0.42, 0.44]])
    np.testing.assert_array_equal(history.win_rates("random", time=True), [[4, 8], [0.42, 0.44]])
    np.testing.assert_array_equal(history.metric("loss/advantage", player=1), [[2, 4], [1.5, 0.75]])
    np.testing.assert_array_equal(history.metric("time/evaluation_s", total=True), [[2, 4], [0.3, 0.3]])
    assert history.last("samples/advantage") == 4000
    assert {(row["policy"], row["win_rate"]) for row in history.final()} == {("average", 0.44), ("last", 0.9)}


def test_rows_of_both_players_in_one_iteration_are_put_together(write_run: Any) -> None:
    rows = [train_row(1, p, **{"time/traversal_s": 1.0 + p, "loss/advantage": 1.0 + p}) for p in (0, 1)]
    history = History.read(write_run("both", rows))
    np.testing.assert_array_equal(history.metric("time/traversal_s", total=True), [[1], [3]])
    np.testing.assert_array_equal(history.metric("loss/advantage"), [[1], [1.5]])


def test_what_is_read_is_that_of_one_policy_against_one_opponent(write_run: Any) -> None:
    rows = []
    for t in (1, 2):
        for policy, share in (("average", 0.6), ("last", 0.7)):
            rows.append(evaluation_row(t, 50, "random", policy) | {"read/4": share + 0.2})
            if (t, policy) != (2, "average"):  # too few games have come this far
                rows.append(evaluation_row(t, 50, "rush", policy) | {"read/4": share})
    np.testing.assert_array_equal(History.read(write_run("read", rows)).metric("read/4"), [[1], [0.6]])


def test_of_rows_written_twice_the_later_counts(write_run: Any) -> None:
    rows = [train_row(1, 0), train_row(2, 1, **{"loss/advantage": 9.0}), evaluation_row(2, 10)]
    rows += [train_row(2, 1, **{"loss/advantage": 4.0}), evaluation_row(2, 20)]
    history = History.read(write_run("resumed", rows))
    np.testing.assert_array_equal(history.metric("loss/advantage", player=1), [[2], [4]])
    np.testing.assert_array_equal(history.win_rates("random"), [[2], [0.2]])


def test_missing_and_null_values_are_passed_over(write_run: Any) -> None:
    rows = [train_row(1, 0, **{"loss/baseline": None}), {"kind": "train", "iteration": 2, "player": 1}]
    history = History.read(write_run("sparse", [*rows, {"kind": "train"}, {"kind": "evaluation", "iteration": 1}]))
    assert history.metric("loss/baseline")[0].size == 0
    np.testing.assert_array_equal(history.metric("loss/advantage"), [[1], [3]])
    assert history.opponents() == []


def append(path: Path, row: dict[str, Any]) -> None:
    """Writes a row directly, since `Run` would reject some of them."""
    with (path / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")


@pytest.mark.parametrize(
    "wrong",
    [
        {"iteration": "x"},
        {"iteration": True},
        {"iteration": -1},
        {"iteration": 1.5},
        {"iteration": None},
        {"iteration": 9, "player": "first"},
    ],
)
def test_training_rows_that_do_not_say_when_or_whose_are_ignored(write_run: Any, wrong: dict[str, Any]) -> None:
    history = History.read(write_run("wrong", [train_row(1, 0), train_row(2, 1)]))
    append(history.path, train_row(3, 0) | wrong)
    again = History.read(history.path)
    assert (again.train, again.evaluations) == (history.train, ())


@pytest.mark.parametrize(
    "wrong",
    [
        {"iteration": "x"},
        {"iteration": [4]},
        {"win_rate": "half"},
        {"win_rate": float("nan")},
        {"win_rate": 2},
        {"win_rate": None},
        {"policy": 3},
        {"opponent": None},
        {"opponent": ["random"]},
    ],
)
def test_evaluations_that_lack_what_counts_are_ignored(write_run: Any, wrong: dict[str, Any]) -> None:
    path = write_run("wrong", [evaluation_row(2, 60)])
    append(path, evaluation_row(4, 70) | wrong)
    history = History.read(path)
    assert [row["iteration"] for row in history.evaluations] == [2]
    np.testing.assert_array_equal(history.win_rates("random"), [[2], [0.6]])


@pytest.mark.parametrize("value", ["fast", True, [1.0], {"s": 1}, float("inf"), 10**400])
def test_values_of_the_wrong_kind_are_passed_over(write_run: Any, value: Any) -> None:
    path = write_run("wrong", [train_row(1, 0)])
    wrong = train_row(2, 1) | {"elapsed_s": value, "loss/advantage": value, "samples/advantage": value}
    append(path, wrong)
    history = History.read(path)
    assert (history.iterations, history.seconds, history.last("samples/advantage")) == (2, 2.0, 1000)
    np.testing.assert_array_equal(history.metric("loss/advantage"), [[1], [3]])


@pytest.mark.parametrize("wrong", [{"wins": "x"}, {"wins": 101}, {"losses": -1}, {"games": 7}, {"draws": None}])
def test_counts_that_do_not_add_up_are_no_counts(write_run: Any, wrong: dict[str, Any]) -> None:
    path = write_run("counts", [evaluation_row(2, 60), evaluation_row(4, 70) | wrong])
    history = History.read(path)
    np.testing.assert_array_equal(history.win_rates("random"), [[2, 4], [0.6, 0.7]])
    low, high = history.intervals("random")
    np.testing.assert_allclose([low[0], high[0]], wilson(60, 100))
    assert np.isnan([low[1], high[1]]).all()


def test_a_configuration_of_null_is_refused_in_one_line(write_run: Any) -> None:
    path = write_run("null", [train_row(1, 0)])
    info = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(info | {"config": None}))
    with pytest.raises(UsageError, match=r"^[^\n]*config\.json[^\n]*$"):
        History.read(path)


def test_a_record_that_is_a_folder_is_refused_in_one_line(write_run: Any) -> None:
    path = write_run("folder", [])
    (path / "metrics.jsonl").unlink(missing_ok=True)
    (path / "metrics.jsonl").mkdir()
    with pytest.raises(UsageError, match=r"^[^\n]*metrics\.jsonl[^\n]*$"):
        History.read(path)


def test_runs_of_one_setting_differ_in_seed_and_length_only(write_run: Any) -> None:
    paths = [
        write_run("a", [], seed=1),
        write_run("b", [], seed=2, iterations=7),
        write_run("c", [], seed=1, traversals=64),
        write_run("d", [], preset="geister-dream"),
    ]
    settings = by_setting([History.read(path) for path in paths])
    names = {setting: [run.name for run in runs] for setting, runs in settings.items()}
    assert list(names.values()) == [["a", "b"], ["c"], ["d"]]
    assert "geister-quick, traversals=64" in names
    assert "geister-dream" in names


def test_a_folder_without_a_run_is_refused(tmp_path: Any) -> None:
    with pytest.raises(UsageError, match="holds no run"):
        History.read(tmp_path)
