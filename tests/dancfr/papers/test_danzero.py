"""Tests of the experiments of paper 004 (Table I and Fig. 5) on tiny trainings."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dancfr.errors import RunError
from dancfr.methods import all_presets, find_preset
from dancfr.papers import paper004
from dancfr.papers.paper004 import ABLATED, FULL, PUBLISHED, SCALES
from dancfr.papers.reproduce import EXPERIMENTS, reproduce
from dancfr.papers.trainings import configuration
from dancfr.report.history import History
from dancfr.runs.run import Run
from tests.dancfr.papers.test_reproduce import by_cell

TINY = (
    "iterations=4", "minutes=none", "games=4", "chunk=4", "tables=4", "pool=1000", "network.width=8", "network.depth=2",
    "training.minibatches=2", "training.batch=64", "evaluation.every=2", "evaluation.games=2", "checkpoint_every=4",
)  # fmt: skip


@pytest.fixture
def few_games(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduces the number of matches."""
    for name in ("danzero-table1", "danzero-fig5"):
        scales = {key: replace(scale, games=4) for key, scale in EXPERIMENTS[name].scales.items()}
        monkeypatch.setitem(EXPERIMENTS, name, replace(EXPERIMENTS[name], scales=scales))
    monkeypatch.setenv("WANDB_MODE", "disabled")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("danzero")


def test_table_1_trains_both_nets_and_plays_every_pair(few_games: None, folder: Path) -> None:
    found = reproduce("danzero-table1", out_dir=folder, overrides=TINY, inline=True)
    assert json.loads(json.dumps(found))["rows"] == found["rows"]
    assert [Path(run).name for run in found["runs"]] == ["guandan-dmc-quick-seed1", "guandan-dmc-quick-no-wild-seed1"]
    encodings = [Run.open(run).info["config"]["network"]["encoding"] for run in found["runs"]]
    assert encodings == [None, "no_wild_flags"]
    rows = by_cell(found["rows"])
    assert len(rows) == 8 + 8 + 10
    for name in (FULL, ABLATED):
        for against, rate in PUBLISHED[name].items():
            assert rows[f"{name} vs {against}"]["paper"] == rate
            assert (rows[f"{name} vs {against}"]["ours"] is None) == against.startswith("baseline")
    assert "not redistributable" in rows["Ours vs baseline1"]["note"]
    assert "over 4 matches, by deals" in rows["Ours vs Ours-"]["note"]
    assert rows["Ours vs planner"]["paper"] is None
    assert rows["greedy vs random"]["ours"] >= 50
    assert all(("also iterations=4" in row["note"]) == (row["ours"] is not None) for row in found["rows"])
    page = Path(found["files"][0]).read_text()
    assert "Every pair" in page
    assert "percent of whole matches" in page
    assert {Path(file).name for file in found["files"][1:]} == {
        f"win-rate-{bot}-time.png" for bot in ("random", "greedy", "planner")
    }


def test_fig_5_shares_the_run_and_plays_its_stored_nets(few_games: None, folder: Path) -> None:
    record = folder / "guandan-dmc-quick-seed1" / "metrics.jsonl"
    before = record.stat().st_mtime_ns if record.exists() else None
    found = reproduce("danzero-fig5", out_dir=folder, overrides=TINY, inline=True)
    assert before in (None, record.stat().st_mtime_ns), "trained once"
    assert [Path(run).name for run in found["runs"]] == ["guandan-dmc-quick-seed1"]
    assert [Path(file).name for file in found["files"]] == ["danzero-fig5.html", "learning-curves-Ours.png"]
    rows = by_cell(found["rows"])
    assert rows["final, Ours vs baseline1"]["paper"] == 90.12
    for bot in ("random", "greedy", "planner"):
        assert 0 <= rows[f"final, Ours vs {bot}"]["ours"] <= 100
        assert "4 matches for each of 2 states" in rows[f"final, Ours vs {bot}"]["note"]
    assert "baseline1 90.12 %" in Path(found["files"][0]).read_text()


def test_the_states_of_a_training_are_spread_over_it_and_know_their_time(dmc_run: Path) -> None:
    scale = replace(SCALES["quick"], games=2, checkpoints=1)
    (last,) = {row["iteration"] for row in paper004._replayed(History.read(dmc_run), scale, 0).evaluations}
    assert last == 4
    both = paper004._replayed(History.read(dmc_run), replace(scale, checkpoints=5), 0)
    times, rates = both.win_rates("random", "last", time=True)
    assert times.tolist() == [6.0, 12.0]
    assert len(rates) == 2


def test_a_run_that_stored_no_net_is_named(write_run: Any) -> None:
    path = write_run("bare", [{"kind": "train", "iteration": 1, "elapsed_s": 1.0}])
    with pytest.raises(RunError, match=r"bare has stored no net: set evaluation\.every, or train for longer"):
        paper004._replayed(History.read(path), SCALES["quick"], 0)


def test_scales_train_presets_that_there_are_for_as_long_as_those_say() -> None:
    for scale in SCALES.values():
        assert [setting.name for setting in scale.settings] == [FULL, ABLATED]
        assert all(setting.preset in all_presets() for setting in scale.settings)
        assert not any(
            "minutes" in text or "iterations" in text for text in configuration(scale.settings[0], scale, ())
        )
    encoding: Any = find_preset(SCALES["paper"].settings[1].preset).config
    assert encoding.network.encoding == "no_wild_flags"
    assert EXPERIMENTS["danzero-fig5"].scales["quick"].settings == SCALES["quick"].settings[:1]
