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


def test_the_table_has_mean_interval_and_range() -> None:
    lines = table([entry(run(seed, value)) for seed, value in ((1, 0.1), (2, 0.2), (3, 0.3))]).splitlines()
    assert lines[2:] == [  # t interval with 2 degrees of freedom: 0.2 +- 4.303 * 0.1 / sqrt 3
        "| `dark_hex3` | policy gradient | average policy | 0.2 [0, 0.448] | 0.1, 0.3 | 3 | 10.0 million | 1.0 |"
    ]


def test_the_figure_is_of_the_runs_that_were_evaluated_on_their_way() -> None:
    points = [[2_000_000, 0.5], [10_000_000, 0.25]]
    entries = [entry(run(seed, 0.25)) | {"curve": points} for seed in (1, 2)]
    ended = entry(run(1, 0.25)) | {"game": "phantom_ttt"}
    assert figure([ended]) is None
    plot = figure([ended, *entries])
    assert plot.png.startswith(b"\x89PNG")
    assert plot.rows == (("dark_hex3", "policy gradient (2 runs)", "0.5", "0.5", "0.25", "range of 2 runs"),)


def test_only_the_table_of_a_page_is_written() -> None:
    assert with_table(f"a\n{START}\nold\n{END}\nb\n", [entry(run(1, 0.5))]).startswith(f"a\n{START}\n| game |")
    assert with_table(f"a\n{START}\nold\n{END}\nb\n", []).endswith(f"{END}\nb\n")


@pytest.mark.skipif(not RECORD.exists(), reason="an installed package has no documents")
def test_the_page_is_that_of_the_record() -> None:
    assert with_table(PAGE.read_text(), json.loads(RECORD.read_text())) == PAGE.read_text()
