"""Learner and workers of unequal speed: nothing piles up, and nothing is trained on twice as often as it should be."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.faults.training import SHORT, TRAVERSER, assert_as_if_undisturbed, training

WATCHED = """
import json, sys, threading, time
from pathlib import Path
import ray
from dancfr.methods.launch import TrainRequest, train
from dancfr.methods.options import TrainOptions

shares = []
def look():
    while not over.wait(0.1):
        if ray.is_initialized():
            total = ray.cluster_resources().get("object_store_memory", 0)
            if total:
                shares.append(1 - ray.available_resources().get("object_store_memory", 0) / total)
over = threading.Event()
threading.Thread(target=look, daemon=True).start()
options = TrainOptions(workers=2, progress=False)
train(TrainRequest("geister-quick", sys.argv[2:], Path(sys.argv[1]), "off", options))
over.set()
print(json.dumps({"looks": len(shares), "most": max(shares)}))
"""


@pytest.mark.long
def test_a_slow_learner_does_not_fill_the_store(tmp_path: Path) -> None:
    """Sampling takes a fraction of the time of the fits, so that workers would run ahead if nothing held them."""
    slow = ("iterations=4", "traversals=1536", "advantage_training.minibatches=3000")
    command = [sys.executable, "-c", WATCHED, str(tmp_path / "run"), *SHORT, *slow]
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as folder:  # its sockets need a short name
        environment = {**os.environ, "RAY_TMPDIR": folder}
        ended = subprocess.run(command, capture_output=True, text=True, timeout=230, env=environment)
        spilled = [file for file in Path(folder).rglob("ray_spilled_objects*/*") if file.is_file()]
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    assert found["looks"] > 20
    print(f"the object store was never fuller than {100 * found['most']:.1f} %")
    assert found["most"] < 0.8
    assert not spilled


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_learner_waits_for_workers_that_are_away(calm: Path, tmp_path: Path) -> None:
    with training(tmp_path / "run", "iterations=12", "--workers", "2") as run:
        run.reach(3)
        workers = run.actors(TRAVERSER)
        for worker in workers:
            worker.send_signal(signal.SIGSTOP)
        time.sleep(2)  # what was under way ends
        before = run.iteration()
        time.sleep(4)
        assert run.iteration() == before, "it trained without new samples"
        for worker in workers:
            worker.send_signal(signal.SIGCONT)
        assert run.end() == 0, run.told()
    assert not run.rows("event")
    assert_as_if_undisturbed(tmp_path / "run", calm)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        pytest.param(
            ("--workers", "2", "resources.worker_cpus=64"),
            "worker 0 asks for 64 CPUs, but Ray has",
            marks=pytest.mark.long,
        ),
        (("--workers", "999"), "999 workers do not fit: this machine has"),
    ],
)
def test_resources_that_do_not_exist_are_an_error_within_ten_seconds(more, says, tmp_path: Path) -> None:
    with training(tmp_path / "run", "iterations=2", *more) as run:
        begin = time.monotonic()
        while run.process.poll() is None and "raylet" not in run.family():
            begin = time.monotonic()  # Ray's own start is not counted
            time.sleep(0.1)
        assert run.end(60) == 2, run.told()
        assert time.monotonic() - begin < 10
    assert says in run.told()
    assert not (tmp_path / "run").exists(), "no run is left behind"
