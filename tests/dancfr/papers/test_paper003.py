"""Tests of the experiments of paper 003 and their rows."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from dancfr.errors import RunError, UsageError
from dancfr.methods import find_preset
from dancfr.methods.options import TrainOptions
from dancfr.papers.paper003 import ITERATIONS, QUERIED, RANDOM, compare_solvers, mean_correlation, values_of
from dancfr.papers.paper003_nets import QUERIES
from dancfr.papers.reproduce import EXPERIMENTS, reproduce
from dancfr.papers.trainings import configuration, train_settings
from dancfr.report.history import History
from dancfr.runs.config import apply_overrides
from dancfr.runs.run import Run

TINY = ("iterations=3", "strategies=16", "training.minibatches=5", "evaluation.iterations=5", "network.width=16")


def cells(found: dict) -> dict[str, float | None]:
    return {row["cell"]: row["ours"] for row in found["rows"]}


def test_the_table_is_that_of_the_specification(tmp_path: Path) -> None:
    found = cells(reproduce("dlcfr-table2", out_dir=tmp_path))
    facts = ("infosets", "histories", "public states at the limit", "places of a range")
    assert {game: tuple(found[f"{game}/{fact}"] for fact in facts) for game in EXPERIMENTS["dlcfr-table2"].games} == {
        "goofspiel5": (4974, 55_731, 9, 20),
        "oshi_zumo8_k1": (1256, 15_321, 17, 35),
        "oshi_zumo8_k3": (1580, 19_305, 27, 35),
        "leduc_2b2r": (3960, 61_336, 87, 3),
    }
    flags = ("private actions", "early terminals")
    shown = {game: tuple(found[f"{game}/{flag}"] for flag in flags) for game in ("goofspiel5", "leduc_2b2r")}
    assert shown == {"goofspiel5": (1, 0), "leduc_2b2r": (0, 1)}


def test_the_figure_correlates_the_checkpoints_of_each_run(tmp_path: Path) -> None:
    four = ("iterations=4", *TINY[1:])
    found = reproduce("dlcfr-fig2", out_dir=tmp_path, seeds=(1, 2), overrides=four, inline=True, game="oshi_zumo8_k1")
    assert found["game"] == "oshi_zumo8_k1"
    for loss in ("huber", "l1", "linf", "largest"):
        row = next(row for row in found["rows"] if row["cell"] == f"correlation/{loss}")
        assert -1 <= row["ours"] <= 1
        assert "over 2 runs (" in row["note"]
        assert "interval" not in row["note"]
    assert cells(found)["lowest exploitability"] > 0.01, "so little training is not enough"
    assert (tmp_path / "figures" / "dlcfr-fig2.png").stat().st_size > 10_000
    told = (
        f"Mean correlation of the logarithms along a run: {cells(found)['correlation/huber']:.2f} with the Huber loss"
    )
    assert told in (tmp_path / "dlcfr-fig2.html").read_text()
    shards = sorted(path.name for path in (tmp_path / "data").glob("shard-*"))
    assert shards == ["shard-1-000001-0000-random16.safetensors"], "both runs share their samples"
    few = reproduce(
        "dlcfr-fig2",
        out_dir=tmp_path / "few",
        seeds=(1,),
        overrides=("iterations=2", *TINY[1:]),
        inline=True,
        game="oshi_zumo8_k1",
    )
    assert cells(few)["correlation/l1"] is None, "two checkpoints say nothing"


def test_an_interval_of_correlations_is_over_runs() -> None:
    values = [0.7, 0.8, 0.9]
    mean, interval = mean_correlation(values)
    z = np.arctanh(values)
    half = t.ppf(0.975, 2) * z.std(ddof=1) / np.sqrt(3)
    assert interval == pytest.approx((np.tanh(z.mean() - half), np.tanh(z.mean() + half)))
    assert mean == pytest.approx(np.tanh(z.mean()))
    assert mean_correlation([1.0])[0] == pytest.approx(1.0)
    assert mean_correlation(values[:2])[1] is None, "two runs say little of others"


def test_left_out_public_states_are_what_is_measured(tmp_path: Path) -> None:
    found = reproduce("dlcfr-unseen", out_dir=tmp_path, overrides=TINY, inline=True, game="oshi_zumo8_k1")
    shown = cells(found)
    assert 0 < (shown["unseen/linf"] or 0) <= (shown["unseen/largest"] or 0), "the net has not seen these states"
    assert shown["unseen/linf"] == pytest.approx(sum(shown[f"without {state}/linf"] or 0 for state in (0, 8, 16)) / 3)


def test_ranges_are_compared_with_the_net_of_each_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CFR-D has no net: with any number of runs its ranges are the same, and only the random ones differ."""
    monkeypatch.setitem(QUERIES, "quick", (8, 5))
    reproduced: dict[str, Any] = {"overrides": TINY, "inline": True, "game": "oshi_zumo8_k1"}
    found = reproduce("dlcfr-ranges", out_dir=tmp_path, seeds=(1, 2), **reproduced)
    rows = {row["cell"]: row for row in found["rows"]}
    own = cells(found)
    assert all("mean over 2 runs" in row["note"] for row in rows.values())
    assert rows["entropy/CFR-D"]["sd"] == 0 < rows["entropy/DL-CFR+"]["sd"], "nets of two seeds ask for other ranges"
    assert all(0 < (own[f"distance {pair}"] or 0) < 1 for pair in ("DL-CFR+ to CFR-D", "CFR-D to random"))
    alone = cells(reproduce("dlcfr-ranges", out_dir=tmp_path, seeds=(1,), **reproduced))
    assert own["distance DL-CFR+ to CFR-D"] != alone["distance DL-CFR+ to CFR-D"]
    assert own["entropy/CFR-D"] == alone["entropy/CFR-D"]
    for name in ("random", "CFR-D", "DL-CFR+"):
        assert 0 < (own[f"huber on ranges of {name}"] or 0) < (own[f"largest on ranges of {name}"] or 0)


def test_queried_ranges_are_a_row_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ITERATIONS, "quick", (3, 3))
    tiny = ("iterations=2", *(each for each in TINY if each.startswith(("training", "network", "evaluation"))))
    experiment = EXPERIMENTS["dlcfr-exploitability"]
    few = {
        setting.name: replace(setting, overrides=(*setting.overrides, "strategies=16"))
        for setting in experiment.games["oshi_zumo8_k1"]["quick"].settings
    }
    scale = replace(experiment.games["oshi_zumo8_k1"]["quick"], settings=tuple(few.values()))
    settings = train_settings(tmp_path, scale, (1,), tiny, TrainOptions(inline=True, progress=False))
    rows = {row["cell"]: row for row in compare_solvers(settings, scale).rows}
    assert rows[RANDOM]["paper"] == 0.01
    assert "the solvers with exact values have 3 iterations" in rows[RANDOM]["note"]
    assert rows[QUERIED]["paper"] is None
    assert "not in the paper" in rows[QUERIED]["note"]
    assert {"asked=0", "asked=128"} == {f"asked={run[0].info['config']['asked']}" for run in settings.values()}


def test_at_the_papers_scale_nets_are_the_papers() -> None:
    """Neither averaged nor corrected, of its size, trained on random ranges; the rows of the quick scale say so."""
    for name, experiment in EXPERIMENTS.items():
        if not name.startswith("dlcfr") or name in ("dlcfr-table2", "dlcfr-asked"):
            continue
        for scales in experiment.games.values():
            assert "averaged" in scales["quick"].note
            for setting in scales["paper"].settings:
                config: Any = apply_overrides(find_preset(setting.preset).config, setting.overrides)
                assert (config.training.weight_average, config.network.zero_sum, config.asked) == (0, False, 0)


def test_the_papers_scale_reaches_its_number_of_samples() -> None:
    """50,000 samples, and all of its own data set on Leduc."""
    most = {}
    for game, scales in EXPERIMENTS["dlcfr-samples"].games.items():
        counts = [int(setting.name.split()[0]) for setting in scales["paper"].settings]
        assert counts == sorted(set(counts))
        most[game] = counts[-1]
    assert most == {"goofspiel5": 50_004, "oshi_zumo8_k1": 50_014, "oshi_zumo8_k3": 54_000, "leduc_2b2r": 70_644}


def test_a_record_without_the_errors_that_are_compared_is_refused(tmp_path: Path) -> None:
    run = History("old", tmp_path, {}, (), (), ({"iteration": 1, "validation/linf": 1.0},))
    assert values_of(run, "validation/linf") == [1.0]
    with pytest.raises(RunError, match="no validation/largest"):
        values_of(run, "validation/largest")


def begin(name: str, path: Path) -> dict[str, Any]:
    """Writes a run of the first setting of an experiment that has one iteration and no evaluation yet; returns the
    arguments that compare it."""
    scale = EXPERIMENTS[name].games["oshi_zumo8_k1"]["quick"]
    setting = scale.settings[0]
    config = apply_overrides(find_preset(setting.preset).config, configuration(setting, scale, (), 1))
    with Run.create(path, setting.preset, "value-functions", config) as run:
        run.append_metrics({"kind": "train", "iteration": 1})
    return {"name": name, "game": "oshi_zumo8_k1", "runs": [path]}


@pytest.mark.parametrize(
    ("name", "says"),
    [("dlcfr-fig2", "has no exact evaluation yet: train"), ("dlcfr-ranges", "has stored no net yet: train")],
)
def test_a_given_run_without_an_evaluation_is_refused(
    name: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(QUERIES, "quick", (1, 1))
    with pytest.raises(RunError, match=rf"begun {says}"):
        reproduce(**begin(name, tmp_path / "begun"), out_dir=tmp_path / "out")


def test_given_runs_that_lack_a_setting_are_told_which(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"compares all of its settings\. 2x256: none of the runs has this setting\."):
        reproduce(**begin("dlcfr-architecture", tmp_path / "2x64"), out_dir=tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "game", "overrides", "says"),
    [
        ("dlcfr-fig2", "kuhn", (), "game of this experiment"),
        ("mini-geister-fig5", "goofspiel5", (), "leave out --game"),
        ("dlcfr-losses", "goofspiel5", ("loss=l1",), "leave it out"),
        ("dlcfr-asked", "goofspiel5", ("asked=3",), "leave it out"),
        ("dlcfr-fig2", "goofspiel5", ("strategies=4",), "strategies=4"),
    ],
)
def test_what_would_undo_an_experiment_is_refused(
    tmp_path: Path, name: str, game: str, overrides: tuple[str, ...], says: str
) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        reproduce(name, out_dir=tmp_path / "out", overrides=overrides, game=game)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()
