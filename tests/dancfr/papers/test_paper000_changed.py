"""The experiment `geister-fig4-changed`: paper 000's settings beside the two that the paper does not have."""

import json
from pathlib import Path

import pytest

from dancfr.papers.paper000 import CHANGED_SCALES
from dancfr.papers.reproduce import reproduce
from dancfr.papers.trainings import configuration

RECORDS = Path(__file__).parents[3] / "docs/records/paper000"


def averages(folder: str) -> list[float]:
    """Win rates of a recorded run's average against `random`, by iteration."""
    lines = map(json.loads, (RECORDS / folder / "metrics.jsonl").read_text().splitlines())
    return [
        line["win_rate"]
        for line in lines
        if line["kind"] == "evaluation" and (line["policy"], line["opponent"]) == ("average", "random")
    ]


def fall(curve: list[float]) -> float:
    """The last less the largest mean of five in a row, written in another way than the experiment's."""
    means = [sum(curve[at : at + 5]) / 5 for at in range(len(curve) - 4)]
    return means[-1] - max(means)


def test_the_fall_of_the_recorded_runs_is_their_last_less_their_largest_mean(tmp_path: Path) -> None:
    found = reproduce("geister-fig4-changed", "paper", tmp_path, runs=[RECORDS])
    rows = {row["cell"]: row for row in found["rows"]}
    with_baseline = [averages(f"geister-dream-seed{seed}") for seed in (1, 2)]
    assert all(len(curve) == 20 for curve in with_baseline)
    expected = sum(map(fall, with_baseline)) / 2
    assert rows["fall, geister-dream"]["ours"] == pytest.approx(expected)
    assert expected < -0.05
    assert rows["final win rate, geister-dream"]["ours"] == pytest.approx(sum(each[-1] for each in with_baseline) / 2)
    without = averages("geister-dream-no-baseline-seed1")
    assert rows["fall, geister-dream-no-baseline"]["ours"] == pytest.approx(fall(without))
    assert "iteration 200" in rows["final win rate, geister-dream-no-baseline"]["note"]


def test_each_change_is_trained_with_and_without_baseline_nets() -> None:
    paper, quick = CHANGED_SCALES["paper"], CHANGED_SCALES["quick"]
    paths = [setting.path(Path(), 1).name for setting in paper.settings]
    assert paths == [
        "geister-dream-seed1",
        "geister-dream-huber-seed1",
        "geister-dream-bounded-seed1",
        "geister-dream-no-baseline-seed1",
        "geister-dream-huber-no-baseline-seed1",
        "geister-dream-bounded-no-baseline-seed1",
    ]
    assert [setting.path(Path(), 1).name for setting in quick.settings] == paths
    changed = [set(configuration(setting, quick, ())) - set(quick.overrides) for setting in quick.settings]
    assert changed == [
        {"traversals=256"},
        {"traversals=256"},
        {"traversals=256"},
        {"traversals=128"},
        {"traversals=128", "baseline=false"},
        {"traversals=128", "baseline=false"},
    ]
