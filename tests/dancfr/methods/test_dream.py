"""Tests of the driver for DREAM: work that is done again, opponents, updates, refusals."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from dancfr.errors import UsageError
from dancfr.methods.dream.config import DreamConfig
from dancfr.methods.dream.driver import draw_former, shares_of_chunks
from tests.dancfr.methods.table_runs import configured, rows, run_preset, stored

TINY = (
    "traversals=48",
    "chunk=16",
    "minutes=none",
    "reservoir=4000",
    "circular=4000",
    "advantage_training.minibatches=3",
    "advantage_training.batch=64",
    "baseline_training.minibatches=2",
    "baseline_training.batch=64",
    "evaluation.every=2",
    "evaluation.games=4",
    "checkpoint_every=2",
)


def tiny(*overrides: str, preset: str = "geister-quick") -> DreamConfig:
    config = configured(preset, *TINY, *overrides)
    assert isinstance(config, DreamConfig)
    return config


def run_training(path: Path, config: DreamConfig, *, resume: bool = False) -> dict[str, Any]:
    return run_preset(path, "geister-quick", config, resume=resume)


def metrics(path: Path) -> list[str]:
    """Returns the rows without times, in an order that does not depend on when evaluations ended."""
    return sorted(json.dumps(row, sort_keys=True) for row in rows(path))


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four iterations, inline and without interruption."""
    path = tmp_path_factory.mktemp("runs") / "reference"
    result = run_training(path, tiny("iterations=4"))
    assert result["iterations"] == 4
    assert result["samples"] > 0
    return path


def test_one_net_an_iteration_for_the_player_whose_turn_it_is(reference: Path) -> None:
    names = [f"p{(t - 1) % 2}-{t:06d}.safetensors" for t in (1, 2, 3, 4)]
    assert sorted(stored(reference)) == sorted(names)


def test_another_seed_gives_other_nets(reference: Path, tmp_path: Path) -> None:
    run_training(tmp_path / "other", tiny("iterations=1", "seed=2"))
    name = "p0-000001.safetensors"
    assert stored(tmp_path / "other")[name] != stored(reference)[name]


def test_work_after_the_last_checkpoint_is_done_again_once(reference: Path, tmp_path: Path) -> None:
    """Iteration 3 had been logged and stored, but the checkpoint is of iteration 2."""
    path = tmp_path / "torn"
    run_training(path, tiny("iterations=3"))
    shutil.rmtree(path / "checkpoints" / "000003")
    with open(path / "metrics.jsonl", "a") as log:
        log.write('{"kind": "train", "iterat')
    run_training(path, tiny("iterations=4"), resume=True)
    assert stored(path) == stored(reference)
    assert metrics(path) == metrics(reference)


def test_a_run_that_ends_between_two_evaluations_is_evaluated_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "odd"
    run_training(path, tiny("iterations=3"))
    run_training(path, tiny("iterations=3"), resume=True)  # nothing left to do, and nothing said twice
    evaluated = [row["iteration"] for row in rows(path, "evaluation")]
    assert sorted(set(evaluated)) == [2, 3]
    assert evaluated.count(2) == evaluated.count(3) == 6  # average and last net, three bots


def test_a_run_whose_checkpoints_are_gone_does_not_start_over(reference: Path, tmp_path: Path) -> None:
    path = tmp_path / "bare"
    shutil.copytree(reference, path)
    shutil.rmtree(path / "checkpoints")
    with pytest.raises(UsageError, match=r"trained for 4 iterations, but its checkpoints are gone; not starting over"):
        run_training(path, tiny("iterations=6"), resume=True)
    assert stored(path) == stored(reference)
    assert metrics(path) == metrics(reference)


def test_a_run_that_lacks_a_strategy_is_not_resumed(reference: Path, tmp_path: Path) -> None:
    path = tmp_path / "gap"
    shutil.copytree(reference, path)
    (path / "strategies" / "p1-000002.safetensors").unlink()
    with pytest.raises(UsageError, match=r"lacks p1-000002.safetensors"):
        run_training(path, tiny("iterations=6"), resume=True)


def test_buffers_that_no_machine_can_hold_are_refused_before_the_start(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"the buffers would take [\d,.]+ GiB when full, this machine has [\d,.]+ GiB"):
        run_training(tmp_path / "huge", tiny("iterations=1", "reservoir=1000000000000000000"))


def test_simultaneous_updates_train_both_players_in_each_iteration(tmp_path: Path) -> None:
    run_training(tmp_path / "both", tiny("iterations=2", "updates=simultaneous"))
    assert len(stored(tmp_path / "both")) == 4


@pytest.mark.parametrize("updates", ["simultaneous", "in-turn"])
def test_metrics_of_an_iteration_that_trains_both_players_are_those_of_both(tmp_path: Path, updates: str) -> None:
    run_training(tmp_path / "both", tiny("iterations=2", f"updates={updates}"))
    run_training(tmp_path / "one", tiny("iterations=2"))
    (_, both), (_, one) = (rows(tmp_path / name, "train") for name in ("both", "one"))
    assert "player" not in both
    assert one["player"] == 1
    steps = {"learner/advantage_steps": 3, "learner/baseline_steps": 2}  # of a fit
    assert {key: both[key] for key in steps} == {key: 2 * count for key, count in steps.items()}
    assert one["learner/advantage_steps"] == 3
    assert both.keys() - {"learner/baseline_steps"} >= one.keys() - {"player"}


def test_without_baseline_there_is_no_baseline_learner(tmp_path: Path) -> None:
    run_training(tmp_path / "plain", tiny("iterations=2", "baseline=false"))
    files = {file.name for file in (tmp_path / "plain" / "checkpoints" / "000002").iterdir()}
    assert not any("transitions" in name for name in files)
    assert any("advantages" in name for name in files)


def test_former_opponents_come_in_once_there_are_two_of_them(tmp_path: Path) -> None:
    """Up to iteration 3 the only former net of the opponent is its newest one."""
    run_training(tmp_path / "newest", tiny("iterations=6", "history=0", "uniform=0"))
    run_training(tmp_path / "former", tiny("iterations=6", "history=1", "uniform=0"))
    newest, former = stored(tmp_path / "newest"), stored(tmp_path / "former")
    first = [f"p{(t - 1) % 2}-{t:06d}.safetensors" for t in (1, 2, 3)]
    assert all(newest[name] == former[name] for name in first)
    assert newest["p1-000006.safetensors"] != former["p1-000006.safetensors"]


def test_uniform_opponents_come_in_once_there_are_nets(tmp_path: Path) -> None:
    """In iteration 1 the newest opponent is uniform anyway."""
    run_training(tmp_path / "newest", tiny("iterations=3", "history=0", "uniform=0"))
    run_training(tmp_path / "uniform", tiny("iterations=3", "history=0", "uniform=1"))
    newest, uniform = stored(tmp_path / "newest"), stored(tmp_path / "uniform")
    assert newest["p0-000001.safetensors"] == uniform["p0-000001.safetensors"]
    assert newest["p1-000002.safetensors"] != uniform["p1-000002.safetensors"]


@pytest.mark.parametrize(
    ("history", "uniform", "chunks"),
    [
        (0.25, 0.25, 8),
        (0.5, 0.25, 8),
        (0.25, 0.25, 1),
        (0.5, 0.5, 1),
        (0.6, 0.4, 1),
        (0.3, 0, 10),
        (0, 0.01, 3),
        (1, 0, 2),
    ],
)
def test_shares_of_chunks_are_kept_over_the_iterations(history: float, uniform: float, chunks: int) -> None:
    iterations = 200
    found = np.array([shares_of_chunks(history, uniform, count, chunks) for count in range(1, iterations + 1)])
    assert (found >= 0).all()
    assert (found.sum(axis=1) <= chunks).all()
    for column, share in zip(found.T, (history, uniform), strict=True):
        assert abs(column.sum() - iterations * chunks * share) < 1
        if share * chunks == round(share * chunks):  # a whole number of chunks in each iteration
            assert set(column) == {round(share * chunks)}


@pytest.mark.parametrize("power", [0.0, 1.0, 2.5])
def test_former_opponents_are_drawn_by_a_power_of_their_place(power: float) -> None:
    former, count = [2, 4, 6, 8, 10], 20_000
    drawn = draw_former(former, count, power, np.random.default_rng(5))
    share = np.arange(1, 6) ** -power
    expected = count * share / share.sum()
    found = [drawn.count(t) for t in former]
    assert chisquare(found, expected).pvalue > 1e-3
    assert draw_former([], 0, power, np.random.default_rng(5)) == []
