"""Tests of the driver for DREAM: equal nets inline, on Ray, after resuming and after the loss of workers."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
from scipy.stats import chisquare

from dancfr.errors import UsageError
from dancfr.methods import find_preset
from dancfr.methods.dream.config import DreamConfig
from dancfr.methods.dream.driver import draw_former
from dancfr.methods.options import TrainOptions
from dancfr.runs.config import apply_overrides
from dancfr.runs.run import Run
from dancfr.watch.tracking import Tracker
from tests.dancfr.methods.table_runs import train

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
    config = apply_overrides(find_preset(preset).config, [*TINY, *overrides])
    assert isinstance(config, DreamConfig)
    return config


def run_training(
    path: Path, config: DreamConfig, *, inline: bool = True, resume: bool = False, workers: int = 1
) -> dict:
    options = TrainOptions(workers=workers, address=None, device="cpu", inline=inline, resume=resume, progress=False)
    if resume:
        run = Run.open(path, writing=True)
        run.resume_as("geister-quick", "dream", config)
    else:
        run = Run.create(path, "geister-quick", "dream", config)
    with run, Tracker(run, mode="off") as tracker:
        return train(run, "dream", config, tracker, options)


def strategies(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted((path / "strategies").iterdir())}


def metrics(path: Path) -> list[dict]:
    """Returns the rows without times."""
    clock = ("time/", "elapsed", "seconds", "per_second", "waited", "workers/", "queue/")
    rows = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    kept = [{key: value for key, value in row.items() if not any(word in key for word in clock)} for row in rows]
    return sorted(kept, key=lambda row: json.dumps(row, sort_keys=True))


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
    assert sorted(strategies(reference)) == sorted(names)


def test_another_seed_gives_other_nets(reference: Path, tmp_path: Path) -> None:
    run_training(tmp_path / "other", tiny("iterations=1", "seed=2"))
    name = "p0-000001.safetensors"
    assert strategies(tmp_path / "other")[name] != strategies(reference)[name]


@pytest.mark.parametrize("first", [1, 3])
def test_a_resumed_run_is_bit_for_bit_the_uninterrupted_one(first: int, reference: Path, tmp_path: Path) -> None:
    """The first part ends at an iteration without a scheduled evaluation or checkpoint."""
    path = tmp_path / "resumed"
    run_training(path, tiny(f"iterations={first}"))
    run_training(path, tiny("iterations=4"), resume=True)
    assert strategies(path) == strategies(reference)
    assert metrics(path) == metrics(reference)


def test_work_after_the_last_checkpoint_is_done_again_once(reference: Path, tmp_path: Path) -> None:
    """Iteration 3 had been logged and stored, but the checkpoint is of iteration 2."""
    path = tmp_path / "torn"
    run_training(path, tiny("iterations=3"))
    shutil.rmtree(path / "checkpoints" / "000003")
    with open(path / "metrics.jsonl", "a") as log:
        log.write('{"kind": "train", "iterat')
    run_training(path, tiny("iterations=4"), resume=True)
    assert strategies(path) == strategies(reference)
    assert metrics(path) == metrics(reference)


def test_a_run_that_ends_between_two_evaluations_is_evaluated_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "odd"
    run_training(path, tiny("iterations=3"))
    run_training(path, tiny("iterations=3"), resume=True)  # nothing left to do, and nothing said twice
    evaluated = [row["iteration"] for row in metrics(path) if row["kind"] == "evaluation"]
    assert sorted(set(evaluated)) == [2, 3]
    assert evaluated.count(2) == evaluated.count(3) == 6  # average and last net, three bots


def test_a_run_whose_checkpoints_are_gone_does_not_start_over(reference: Path, tmp_path: Path) -> None:
    path = tmp_path / "bare"
    shutil.copytree(reference, path)
    shutil.rmtree(path / "checkpoints")
    with pytest.raises(UsageError, match=r"trained for 4 iterations, but its checkpoints are gone; not starting over"):
        run_training(path, tiny("iterations=6"), resume=True)
    assert strategies(path) == strategies(reference)
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


def test_ray_gives_the_same_nets_as_inline_with_any_number_of_workers(reference: Path, tmp_path: Path) -> None:
    path = tmp_path / "ray"
    run_training(path, tiny("iterations=4"), inline=False, workers=2)
    assert strategies(path) == strategies(reference)
    assert metrics(path) == metrics(reference)


def test_simultaneous_updates_train_both_players_in_each_iteration(tmp_path: Path) -> None:
    run_training(tmp_path / "both", tiny("iterations=2", "updates=simultaneous"))
    assert len(strategies(tmp_path / "both")) == 4


def test_without_baseline_there_is_no_baseline_learner(tmp_path: Path) -> None:
    run_training(tmp_path / "plain", tiny("iterations=2", "baseline=false"))
    files = {file.name for file in (tmp_path / "plain" / "checkpoints" / "000002").iterdir()}
    assert not any("transitions" in name for name in files)
    assert any("advantages" in name for name in files)


def test_former_opponents_come_in_once_there_are_two_of_them(tmp_path: Path) -> None:
    """Up to iteration 3 the only former net of the opponent is its newest one."""
    run_training(tmp_path / "newest", tiny("iterations=6", "history=0", "uniform=0"))
    run_training(tmp_path / "former", tiny("iterations=6", "history=1", "uniform=0"))
    newest, former = strategies(tmp_path / "newest"), strategies(tmp_path / "former")
    first = [f"p{(t - 1) % 2}-{t:06d}.safetensors" for t in (1, 2, 3)]
    assert all(newest[name] == former[name] for name in first)
    assert newest["p1-000006.safetensors"] != former["p1-000006.safetensors"]


def test_uniform_opponents_come_in_once_there_are_nets(tmp_path: Path) -> None:
    """In iteration 1 the newest opponent is uniform anyway."""
    run_training(tmp_path / "newest", tiny("iterations=3", "history=0", "uniform=0"))
    run_training(tmp_path / "uniform", tiny("iterations=3", "history=0", "uniform=1"))
    newest, uniform = strategies(tmp_path / "newest"), strategies(tmp_path / "uniform")
    assert newest["p0-000001.safetensors"] == uniform["p0-000001.safetensors"]
    assert newest["p1-000002.safetensors"] != uniform["p1-000002.safetensors"]


@pytest.mark.parametrize("power", [0.0, 1.0, 2.5])
def test_former_opponents_are_drawn_by_a_power_of_their_place(power: float) -> None:
    former, count = [2, 4, 6, 8, 10], 20_000
    drawn = draw_former(former, count, power, np.random.default_rng(5))
    share = np.arange(1, 6) ** -power
    expected = count * share / share.sum()
    found = [drawn.count(t) for t in former]
    assert chisquare(found, expected).pvalue > 1e-3
    assert draw_former([], 0, power, np.random.default_rng(5)) == []


def command(path: Path, *more: str) -> list[str]:
    """Returns a `dancfr train` command whose run is long enough to be interrupted."""
    settings = [s for s in TINY if not s.startswith(("evaluation.every", "checkpoint_every"))]
    return [
        sys.executable, "-m", "dancfr", "train", "geister-quick", *settings, "evaluation.every=0",
        "--run-dir", str(path), "--wandb", "off", *more,
    ]  # fmt: skip


def wait_for(condition, seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} s"
        time.sleep(0.05)


def strategy_count(path: Path) -> int:
    return len(list((path / "strategies").glob("*.safetensors"))) if (path / "strategies").exists() else 0


@pytest.mark.long  # tests/faults/test_stop.py does it too
def test_sigterm_writes_a_checkpoint_and_resume_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "stopped"
    more = ("iterations=100000", "checkpoint_every=100000", "--inline")
    process = subprocess.Popen(command(path, *more), stderr=subprocess.PIPE, text=True)
    wait_for(lambda: strategy_count(path) >= 3, 60, "training")
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "--resume" in errors
    done = max(int(folder.name) for folder in (path / "checkpoints").iterdir())
    assert done == strategy_count(path)
    again = ("iterations=" + str(done + 2), "checkpoint_every=100000", "--inline", "--resume", "--json")
    result = subprocess.run(command(path, *again), capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["iterations"] == done + 2
    assert strategy_count(path) == done + 2


@pytest.mark.long  # tests/faults/test_learners_and_buffers.py kills one too
def test_a_killed_worker_is_replaced_and_no_sample_is_doubled(tmp_path: Path) -> None:
    path, calm = tmp_path / "killed", tmp_path / "calm"
    more = ("iterations=12", "traversals=480", "chunk=96", "reservoir=20000")
    process = subprocess.Popen(command(path, *more, "--workers", "2"), stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: strategy_count(path) >= 2, 90, "training")
        ours = {child.pid for child in psutil.Process(process.pid).children(recursive=True)}
        victims = [p for p in psutil.process_iter(["name", "cmdline"]) if _is_traverser(p) and p.pid in ours]
        assert victims, "no traversal worker is visible"
        os.kill(victims[0].pid, signal.SIGKILL)
        _, errors = process.communicate(timeout=150)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    assert "died" in errors
    undisturbed = subprocess.run(command(calm, *more, "--inline"), capture_output=True, text=True, timeout=150)
    assert undisturbed.returncode == 0, undisturbed.stderr
    assert strategies(path) == strategies(calm)


def _is_traverser(process: psutil.Process) -> bool:
    try:
        return "DreamTraverser" in " ".join(process.cmdline())
    except psutil.Error:
        return False
