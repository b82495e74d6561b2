"""Tests of the tables of matches between the agents of an experiment."""

from pathlib import Path

import pytest

from dancfr.errors import RunError
from dancfr.papers.crosstable import Cells, crosstable, of_shared_seeds
from dancfr.report.history import History


def run(name: str, seed: int) -> History:
    return History(f"{name}-{seed}", Path(name), {"config": {"seed": seed}}, (), ())


def test_agents_of_the_same_seed_meet() -> None:
    settings = {"a": [run("a", seed) for seed in (1, 2, 3)], "b": [run("b", seed) for seed in (3, 2, 7)]}
    shared = of_shared_seeds(settings)
    assert [{name: each.name for name, each in runs.items()} for runs in shared] == [
        {"a": "a-2", "b": "b-2"},
        {"a": "a-3", "b": "b-3"},
    ]


def test_settings_without_a_seed_in_common_are_refused() -> None:
    with pytest.raises(RunError, match="a, b have no seed in common: give runs of each with the same seed"):
        of_shared_seeds({"a": [run("a", 1)], "b": [run("b", 2)]})


def test_captions_name_deals_only_where_there_are_some() -> None:
    played: list[Cells] = [
        {"a": {"b": {"win_rate": 0.6, "ci95": (0.5, 0.7)}}, "b": {"a": {"win_rate": 0.4, "ci95": (0.3, 0.5)}}}
    ]
    assert crosstable(played, ("a", "b")).caption.endswith("with 95 % intervals.")
    assert crosstable(played, ("a", "b"), by_deals=True).caption.endswith("with 95 % intervals by deals.")
    assert crosstable(played * 2, ("a", "b"), by_deals=True).caption.endswith("means over 2 runs.")
