"""Tests of the record and the page of the benchmark of exact games."""

import json
from pathlib import Path

import pytest

from dancfr.papers.benchmark_page import PAGE, RECORD, entry, figure, merged, table, with_table
from dancfr.report.history import History
from tests.dancfr.records import train_row

START, END = "<!-- benchmark -->", "<!-- /benchmark -->"


def run(seed: int, average: float, preset: str = "dark-hex3-policy-gradient", decisions: int = 10_000_100) -> History:
    """A run of a minute, of ten million decisions where nothing else is said."""
    train = (train_row(10, 0, elapsed_s=60.0) | {"samples/decisions": decisions},)
    row = {"kind": "exploitability", "iteration": 10, "policy": "average", "time/exploitability_s": 30.04}
    config = {"game": "dark_hex3", "seed": seed}
    return History("x", Path("x"), {"preset": preset, "config": config}, train, (), (row | {"nash_conv": 2 * average},))


def test_an_entry_is_what_the_run_has_measured() -> None:
    assert entry(run(3, 0.25)) == {
        "game": "dark_hex3",
        "method": "policy gradient",
        "preset": "dark-hex3-policy-gradient",
        "seed": 3,
        "decisions": 10_000_100,
        "seconds": 60.0,
        "evaluation_s": {"average": 30.0},
        "exploitability": {"average": 0.25},
        "curve": [[10_000_100, 0.25]],
    }
    assert entry(run(3, 0.25, "leduc-policy-gradient")) is None, "not of the benchmark"
    assert entry(run(3, 0.25, decisions=60_000_000)) is None, "longer"


def test_a_new_entry_replaces_the_old_one_of_its_seed() -> None:
    old = [entry(run(seed, 0.5)) for seed in (2, 1)]
    found = merged(old, [entry(run(2, 0.25))])
    assert [(one["seed"], one["exploitability"]["average"]) for one in found] == [(1, 0.5), (2, 0.25)]


def test_tables_have_means_intervals_and_numbers_of_seeds() -> None:
    gradient = [run(seed, value) for seed, value in ((1, 0.1), (2, 0.2), (3, 0.3))]
    other = [run(1, 0.25, "dark-hex3-dream"), run(2, 0.1, "dark-hex3-dream"), run(1, 0.5, "dark-hex3-escher")]
    assert table(
        [entry(each) for each in (*gradient, *other)]
    ).splitlines() == [  # t interval with 2 degrees of freedom: 0.2 +- 4.303 * 0.1 / sqrt 3
        "| average policy | `dark_hex3` |",
        "|---|---|",
        "| policy gradient | 0.2 [0, 0.448]; 3 |",
        "| DREAM | **0.175** (0.1, 0.25); 2 |",
        "| ESCHER | 0.5; 1 |",
    ]


def test_last_iterates_have_a_table_of_their_own() -> None:
    both = entry(run(1, 0.25)) | {"exploitability": {"average": 0.25, "last": 0.125}}
    assert table([both]).split("\n\n")[1].splitlines()[2] == "| policy gradient | **0.125**; 1 |"


def test_a_game_without_runs_of_a_method_has_an_empty_cell() -> None:
    own = entry(run(1, 0.25)) | {"game": "phantom_ttt"}
    assert table([own, entry(run(1, 0.5)), entry(run(1, 0.25, "dark-hex3-dream"))]).splitlines()[:4] == [
        "| average policy | `phantom_ttt` | `dark_hex3` |",
        "|---|---|---|",
        "| policy gradient | **0.25**; 1 | 0.5; 1 |",
        "| DREAM |  | **0.25**; 1 |",
    ]


def test_the_figure_is_of_the_runs_that_were_evaluated_on_their_way() -> None:
    points = [[2_000_000, 0.5], [10_000_000, 0.25]]
    entries = [entry(run(seed, 0.25)) | {"curve": points} for seed in (1, 2)]
    ended = entry(run(1, 0.25)) | {"game": "phantom_ttt"}
    assert figure([ended]) is None
    plot = figure([ended, *entries])
    assert plot.png.startswith(b"\x89PNG")
    assert plot.rows == (("dark_hex3", "policy gradient (2 runs)", "0.5", "0.5", "0.25", "range of 2 runs"),)


def test_a_method_has_one_entry_in_the_legend_although_games_differ_in_runs() -> None:
    curves = [entry(run(seed, 0.25)) | {"curve": [[2_000_000, 0.5], [10_000_000, 0.25]]} for seed in (1, 2, 3)]
    plot = figure([*curves, *(one | {"game": "phantom_ttt"} for one in curves[:2])])
    assert {row[1] for row in plot.rows} == {"policy gradient (2 to 3 runs)"}
    assert {row[-1] for row in plot.rows} == {"95 % t interval of 3 runs", "range of 2 runs"}
    assert "95 % t intervals over the runs, of two runs their range" in plot.caption


def test_only_the_tables_of_a_page_are_written() -> None:
    assert with_table(f"a\n{START}\nold\n{END}\nb\n", [entry(run(1, 0.5))]).startswith(
        f"a\n{START}\n| average policy |"
    )
    assert with_table(f"a\n{START}\nold\n{END}\nb\n", []).endswith(f"{END}\nb\n")


@pytest.mark.skipif(not RECORD.exists(), reason="an installed package has no documents")
def test_the_page_is_that_of_the_record() -> None:
    assert with_table(PAGE.read_text(), json.loads(RECORD.read_text())) == PAGE.read_text()
