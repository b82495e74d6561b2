"""Workers die, hang or raise exceptions: they are replaced, and the samples are those of an undisturbed run."""

import os
import random
import re
import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.faults.training import BUFFER, LEARNER, TRAVERSER, alive, assert_as_if_undisturbed, training


def workers_seen(run) -> set[int]:
    return {process.pid for process in run.actors(TRAVERSER)}


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_worker_that_is_stopped_is_replaced_at_its_deadline(longer_calm: Path, tmp_path: Path) -> None:
    deadline = 8
    with training(tmp_path / "run", "iterations=20", "--workers", "2", f"resources.deadline_s={deadline}") as run:
        run.reach(3)
        victim = run.actors(TRAVERSER)[0].pid
        before = workers_seen(run)
        os.kill(victim, signal.SIGSTOP)
        begin = time.monotonic()
        run.wait_for(lambda: workers_seen(run) - before, deadline + 15)
        assert time.monotonic() - begin < deadline + 15
        assert run.end() == 0, run.told()
    assert not alive(victim)
    assert run.rows()[-1]["workers/late"] == 1
    assert f"TimeoutError: no result within {deadline} s" in run.told()
    assert_as_if_undisturbed(tmp_path / "run", longer_calm)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_worker_is_killed_every_five_seconds_for_a_minute(longer_calm: Path, tmp_path: Path) -> None:
    back = []
    with training(tmp_path / "run", "iterations=100000", "--workers", "2") as run:
        run.reach(2)
        for _ in range(12):
            before = workers_seen(run)
            begin = time.monotonic()
            run.kill(TRAVERSER, len(back) % 2)
            run.wait_for(lambda before=before: workers_seen(run) - before, 30)
            back.append(time.monotonic() - begin)
            time.sleep(max(0.0, 5 - back[-1]))
        reached = run.iteration()
        run.reach(reached + 2)
        run.process.send_signal(signal.SIGTERM)
        assert run.end() == 0, run.told()
    print(f"a worker is back after {min(back):.1f} to {max(back):.1f} s; {reached} iterations in the minute")
    assert max(back) < 10
    assert not run.rows("event"), "neither learners nor buffers were touched"
    assert run.rows()[-1]["workers/died"] >= 12
    assert_as_if_undisturbed(tmp_path / "run", longer_calm)


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_twenty_actors_at_random_are_killed_in_ten_minutes(longer_calm: Path, tmp_path: Path) -> None:
    draw = random.Random(20)
    killed = 0
    with training(tmp_path / "run", "iterations=100000", "--workers", "2") as run:
        run.reach(2)
        end = time.monotonic() + 600
        while time.monotonic() < end:
            kind = draw.choice([TRAVERSER, TRAVERSER, TRAVERSER, LEARNER, BUFFER])
            if found := run.actors(kind):
                draw.choice(found).kill()
                killed += 1
            time.sleep(draw.uniform(15, 30))
        assert run.process.poll() is None, run.told()
        run.reach(run.iteration() + 2)
        run.process.send_signal(signal.SIGTERM)
        assert run.end() == 0, run.told()
    assert killed >= 20
    lost = [row["lost_iterations"] for row in run.rows("event")]
    print(f"{killed} actors killed, {len(lost)} recoveries of {max(lost, default=0)} iterations at most")
    assert max(lost) <= 3
    assert_as_if_undisturbed(tmp_path / "run", longer_calm)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (
            "step",
            r"chunk \d of traverse: TraversalTask\(seed=\(1, 1, 0, \d\).* failed 5 times, last: ZeroDivisionError: ",
        ),
        pytest.param(
            "constructor",
            r"failed 5 times, last: OSError: the cards are missing",
            marks=pytest.mark.long,
        ),
    ],
)
def test_what_always_raises_ends_the_run_with_seed_and_cause(
    fault: str, says: str, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    monkeypatch.setenv("FAULT", fault)
    game = (
        "game=pettingzoo:faulty_game",
        "game_options.max_return=2",
        "network.outputs=action",
        "baseline_network.outputs=action",
    )
    with training(tmp_path / "run", *game, "--workers", "2") as run:
        begin = time.monotonic()
        while "raised" not in run.told() and run.process.poll() is None:
            begin = time.monotonic()
            time.sleep(0.05)
        assert run.end(60) == 1, run.told()
        took = time.monotonic() - begin
    told = run.told().splitlines()
    assert re.search(says, told[-1]), told[-1]
    assert all(
        line.startswith(("game=", "Ray: ", "starting ", "compiling ", "training ", "worker ", "dancfr: "))
        for line in told
    ), "a line each, no traceback"
    assert took < 30
    assert not [p for p in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(p.info["cmdline"] or [])]
