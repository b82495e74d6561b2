"""`dancfr status`: its report on runs that train, were stopped, killed, damaged, and that it changes nothing."""

import json
import os
import pty
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dancfr.cli.status import facts_of
from dancfr.cli.status_text import describe
from dancfr.runs.checkpoints import writing
from dancfr.runs.config import Config
from dancfr.runs.run import Run
from dancfr.runs.step import write_step
from dancfr.watch.progress import Speed
from dancfr.watch.status import Facts, Watched
from dancfr.watch.tracking import Tracker
from tests.dancfr.outcomes import Command, refused
from tests.privileges import obeying_modes


class Settings(Config):
    iterations: int = 20
    minutes: float | None = None
    games: int | None = None


def train_row(iteration: int, **more: Any) -> dict[str, Any]:
    row = {"iteration": iteration, "elapsed_s": 2.0 * iteration, "samples/values": 100 * iteration}
    return row | {"selfplay/decisions_per_second": 1234.0, "buffer/fill": 0.25} | more


def win(iteration: int, opponent: str, wins: int) -> dict[str, Any]:
    row = {"kind": "evaluation", "iteration": iteration, "policy": "agent", "opponent": opponent}
    return row | {"games": 10, "wins": wins, "draws": 0, "losses": 10 - wins, "win_rate": wins / 10, "ci95": [0.1, 0.9]}


@contextmanager
def trained(path: Path, iterations: int, saved: int, **settings: Any) -> Iterator[Run]:
    """A run of some iterations with a checkpoint, still open."""
    with Run.create(path, "quick", "dmc", Settings(**settings)) as run, Tracker(run, "off") as tracker:
        for iteration in range(1, iterations + 1):
            tracker.log(train_row(iteration))
            if iteration % 5 == 0:
                tracker.log(win(iteration, "random", 5 + iteration // 5))
                run.save_strategy(0, iteration, {"w": np.zeros(3)}, {})
            if iteration == saved:
                with writing(run, iteration) as folder:
                    (folder / "buffer.safetensors").write_bytes(b"content")
        yield run


def contents(path: Path) -> dict[str, tuple[int, int]]:
    """Size and time of change of everything in a folder."""
    return {str(file): (file.stat().st_size, file.stat().st_mtime_ns) for file in sorted(path.rglob("*"))}


def test_a_run_that_trains_is_told_of_and_left_alone(tmp_path: Path, command: Command) -> None:
    with trained(tmp_path / "run", iterations=12, saved=10):
        before = contents(tmp_path / "run")
        outcome = command("status", "run", "--json")
        assert contents(tmp_path / "run") == before
        told = json.loads(outcome.out)
        text = command("status", "run").out
    assert outcome.code == 0
    assert told["state"] == "running"
    assert told["holder"] == {"process": os.getpid(), "host": socket.gethostname(), "here": True}
    assert (told["iteration"], told["iterations"], told["elapsed_s"]) == (12, 20, 24)
    assert (told["seconds_each"], told["eta_s"]) == (2, 16)
    assert told["samples"] == {"values": 1200}
    assert told["buffers"] == {"fill": 0.25}
    (evaluated,) = told["evaluations"]
    assert (evaluated["opponent"], evaluated["win_rate"], evaluated["iteration"]) == ("random", 0.7, 10)
    assert (told["checkpoint"]["iteration"], told["checkpoint"]["damage"], told["checkpoint"]["checked"]) == (
        10,
        None,
        True,
    )
    assert 0 <= told["checkpoint"]["age_s"] < 60
    assert (told["strategies"]["stored"], told["strategies"]["newest"]) == (2, 10)
    assert told["disk"]["bytes"] == sum(size for name, (size, _) in before.items() if Path(name).is_file())
    assert told["rate"] == {"value": 1234, "unit": "decisions", "during": "in self-play", "overall": None}
    assert told["warnings"] == []
    for line in (
        f"run: quick (dmc), running: process {os.getpid()} on {socket.gethostname()} holds its lock",
        "  trained     24 s, without evaluations and checkpoints",
        "  pace        2.0 s each, 1.2k decisions/s in self-play",
        "  left        16 s",
        "  buffers     25 % full",
        "  agent   random   70.0 [10.0, 90.0]          10     10",
    ):
        assert line in text.splitlines(), text


def test_the_speed_of_all_training_is_told_beside_that_of_its_part(tmp_path: Path) -> None:
    """1,234 decisions a second are played in traversals, but 1,200 are all that 24 s of training have."""
    speed = Speed("selfplay/decisions_per_second", "decisions", "in traversals", "samples/values")
    with trained(tmp_path / "run", iterations=12, saved=10) as run:
        told = Watched(run.path, lambda _: Facts(speed)).look()
    assert told["rate"] == {"value": 1234, "unit": "decisions", "during": "in traversals", "overall": 50}
    assert "2.0 s each, 1.2k decisions/s in traversals, 50/s over all of the training" in describe(told)


def test_mean_returns_stand_where_the_numbers_of_games_won_do_not_tell_them(tmp_path: Path) -> None:
    with trained(tmp_path / "run", iterations=12, saved=10) as run:
        run.metrics.append(win(11, "random", 4) | {"mean_return": -0.2})
        assert "mean return" not in describe(Watched(tmp_path / "run").look())
        run.metrics.append(win(12, "random", 4) | {"mean_return": 0.35})
        lines = describe(Watched(tmp_path / "run").look()).splitlines()
    (heading,) = (line for line in lines if line.endswith("mean return  games  iteration"))
    assert lines[lines.index(heading) + 1].split()[-3:] == ["+0.35", "10", "12"]


def test_a_run_before_its_first_iteration_says_what_it_does(tmp_path: Path, command: Command) -> None:
    with trained(tmp_path / "run", iterations=0, saved=0) as run:
        write_step(run.path, "starting Ray")
        told = json.loads(command("status", "run", "--json").out)["step"]
        assert told["name"] == "starting Ray"
        assert 0 <= told["seconds"] < 60
        lines = command("status", "run").out.splitlines()
        assert re.fullmatch(r"  now         starting Ray, since \d+ s", lines[1])
        assert re.search(r"running, starting Ray, since \d+ s", command("status", "run", ".").out)
        write_step(run.path, None)
        assert json.loads(command("status", "run", "--json").out)["step"] is None
        write_step(run.path, "recovering: a learner died")
    told = json.loads(command("status", "run", "--json").out)
    assert (told["state"], told["step"]) == ("stopped", None)  # the process was killed while it recovered


def test_a_run_that_was_killed_says_what_is_lost(tmp_path: Path, command: Command) -> None:
    with trained(tmp_path / "run", iterations=12, saved=10) as run:
        pass
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write('{"kind":"tra\nnull\n{"kind":"train","itera')
    told = json.loads(command("status", "run", "--json").out)
    assert (told["state"], told["holder"], told["iteration"], told["eta_s"]) == ("stopped", None, 12, None)
    torn, again = told["warnings"]
    assert "3 torn lines" in torn
    assert "2 iterations" in again
    assert "checkpoint of iteration 10" in again
    (run.path / "checkpoints" / "000010" / "buffer.safetensors").write_bytes(b"CONTENT")
    text = command("status", "run").out
    assert re.search(r"checkpoint  of iteration 10, \d+ s old, DAMAGED", text)
    assert "buffer.safetensors is damaged: its content has changed since it was written" in text


def test_a_run_whose_checkpoints_or_record_are_gone_is_told_apart(tmp_path: Path, command: Command) -> None:
    def warnings() -> list[str]:
        found: list[str] = json.loads(command("status", "run", "--json").out)["warnings"]
        return found

    with trained(tmp_path / "run", iterations=12, saved=10) as run:
        pass
    record = (run.path / "metrics.jsonl").read_bytes()
    (run.path / "metrics.jsonl").write_bytes(record.split(b"\n", 3)[0] + b"\n")
    assert any("metrics.jsonl lacks rows before the checkpoint of iteration 10" in each for each in warnings())
    (run.path / "metrics.jsonl").write_bytes(record)
    shutil.rmtree(run.path / "checkpoints")
    (gone,) = warnings()
    assert "the checkpoints are gone: restore " in gone


def test_faults_so_far_are_added_up_over_resumptions(tmp_path: Path, command: Command) -> None:
    with trained(tmp_path / "run", iterations=20, saved=20) as run, Tracker(run, "off") as tracker:
        for iteration, replaced in ((21, 1), (22, 3), (23, 0), (24, 2)):  # resumed after 22
            pool = {"workers/alive": 4, "workers/died": replaced, "workers/replaced": replaced, "queue/depth": 8}
            tracker.log(train_row(iteration, **pool))
        told = json.loads(command("status", "run", "--json").out)
        assert (told["workers"], told["queue_depth"]) == ({"alive": 4, "died": 5, "replaced": 5}, 8)
        assert "  workers     4 alive, 5 died, 5 replaced, 8 chunks queued" in command("status", "run").out.splitlines()
        event = {"kind": "event", "event": "recovered", "cause": "RayLost: a node is gone", "lost_iterations": 3}
        tracker.log({**event, "iteration": 24, "seconds": 9.0})
    told = json.loads(command("status", "run", "--json").out)
    assert told["state"] == "finished"
    assert (told["workers"], told["queue_depth"]) == ({"alive": 0, "died": 5, "replaced": 5}, None)
    assert told["events"]["counts"] == {"recovered": 1}
    assert told["events"]["lost_iterations"] == 3
    lines = command("status", "run").out.splitlines()
    assert "  workers     none now, 5 died, 5 replaced" in lines
    assert (
        "  recovered   recovered 1 time, 3 iterations done again; last at iteration 24: RayLost: a node is gone"
        in lines
    )


def test_a_time_limit_ends_a_run_too(tmp_path: Path) -> None:
    with trained(tmp_path / "run", iterations=12, saved=12, minutes=0.5) as run:
        watched = Watched(run.path)
        assert watched.look()["eta_s"] == 6, "less than the 16 s of the iterations"
        with Tracker(run, "off") as tracker:
            tracker.log(train_row(13, elapsed_s=30.5))
        assert watched.look()["eta_s"] == 0
    assert watched.look()["state"] == "finished"


def test_a_limit_of_games_ends_a_run_too(tmp_path: Path) -> None:
    with trained(tmp_path / "run", iterations=12, saved=12, games=500) as run:
        watched = Watched(run.path, lambda _: Facts(budgets={"games": "games"}))
        assert watched.look()["eta_s"] == 16, "the rows have no games"
        with Tracker(run, "off") as tracker:
            tracker.log(train_row(13, games=400))
            status = watched.look()
            assert status["budget"] == {"key": "games", "total": 500, "spent": 0.8}
            assert status["eta_s"] == pytest.approx(26 / 4)
            assert "13 of 20, or 500 games" in describe(status)
            tracker.log(train_row(14, games=500))
        assert watched.look()["eta_s"] == 0
    assert watched.look()["state"] == "finished"
    assert Watched(run.path).look()["state"] == "stopped", "games limit the methods that say so"


def test_a_lock_of_another_machine_is_not_taken_for_ours(tmp_path: Path) -> None:
    with trained(tmp_path / "run", iterations=3, saved=3) as run, Tracker(run, "off") as tracker:
        tracker.log(train_row(4, **{"workers/alive": 4, "queue/depth": 8}))
    (run.path / "run.lock").write_text("process 12 on elsewhere.example\n")
    status = Watched(run.path).look()
    assert "  workers     4 alive, 8 chunks queued, as of the newest row" in describe(status).splitlines()
    assert (status["state"], status["holder"]["host"]) == ("elsewhere", "elsewhere.example")


def test_folders_of_runs_take_a_line_each_and_what_is_no_run_is_refused(tmp_path: Path, command: Command) -> None:
    for name in ("b", "a"):
        with trained(tmp_path / "runs" / name, iterations=20 if name == "a" else 7, saved=5):
            pass
    (tmp_path / "runs" / "empty").mkdir()
    damaged = tmp_path / "runs" / "damaged"
    damaged.mkdir()
    (damaged / "config.json").write_text("{")
    lines = command("status", "runs").out.splitlines()
    assert command("status").out.splitlines()[1:] == lines[1:], "runs is the default"
    assert [line.split()[:4] for line in lines[1:]] == [
        ["runs/a", "quick", "finished", "20/20"],
        ["runs/b", "quick", "stopped", "7/20"],
    ]
    told = json.loads(command("status", "runs/b", "runs/a", "--json").out)
    assert [run["name"] for run in told["runs"]] == ["b", "a"]
    assert "holds no run" in refused(command("status", "runs/empty"))
    assert "is damaged" in refused(command("status", "runs/damaged"))
    assert "holds no run" in refused(command("status", "nowhere"))
    file = tmp_path / "runs" / "a" / "config.json"
    whole = file.read_text()
    for value in ('"20"', f"{10**400}"):  # the second is more than a float can hold
        file.write_text(whole.replace('"iterations": 20', f'"iterations": {value}'))
        assert f"config.iterations must be a number, got {value}" in refused(command("status", "runs/a"))
    file.write_text(whole)
    with (file.parent / "metrics.jsonl").open("a") as record:
        record.writelines(
            f'{{"kind": "train", {row}}}\n'
            for row in (f'"iteration": {10**400}', f'"iteration": 20, "elapsed_s": {10**400}')
        )
    assert "has 1 torn line" in command("status", "runs/a").out
    assert command("status", "runs/empty", "runs/damaged").code == 2
    assert "leave out --watch" in refused(command("status", "runs", "--json", "--watch", "1"))
    assert "0.1 to 86400" in refused(command("status", "runs", "--watch", "0"))


def test_runs_that_begin_while_a_folder_is_watched_are_shown(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(trained(tmp_path / "runs" / "seed-1", iterations=7, saved=5))
        steps = iter(
            [
                lambda: second.enter_context(trained(tmp_path / "runs" / "seed-2", iterations=6, saved=5)),
                first.close,
                second.close,
            ]
        )
        monkeypatch.setattr("dancfr.cli.status.time", SimpleNamespace(sleep=lambda _: next(steps)()))
        lines = command("status", "runs", "--watch", "5").out.splitlines()
    states = [line.split()[:3:2] for line in lines if line.startswith("runs/")]
    assert [state for run, state in states if run == "runs/seed-1"] == ["running", "running", "stopped", "stopped"]
    assert [state for run, state in states if run == "runs/seed-2"] == ["running", "running", "stopped"]


def test_missing_strategies_of_an_average_are_found(tmp_path: Path) -> None:
    from dancfr.methods import find_preset

    preset = find_preset("geister-quick")
    with Run.create(tmp_path / "run", preset.name, "dream", preset.config) as run, Tracker(run, "off") as tracker:
        for iteration in range(1, 7):
            tracker.log(train_row(iteration))
            run.save_strategy((iteration - 1) % 2, iteration, {"w": np.zeros(3)}, {})
    assert Watched(run.path, facts_of).look()["strategies"]["missing"] == []
    for name in ("p0-000003", "p1-000006"):
        (run.path / "strategies" / f"{name}.safetensors").unlink()
    status = Watched(run.path, facts_of).look()
    assert status["strategies"]["missing"] == ["p0-000003.safetensors", "p1-000006.safetensors"]
    assert "strategies/ lacks p0-000003.safetensors and 1 more" in status["warnings"]


TRAIN = [
    *(
        "train",
        "leduc-dream-quick",
        "traversals=32",
        "advantage_training.minibatches=2",
        "baseline_training.minibatches=2",
        "chunk=16",
        "checkpoint_every=10",
        "evaluation.every=0",
        "iterations=100000",
    ),
    *("minutes=none", "--inline", "--wandb", "off", "--run-dir"),
]


def test_a_training_is_watched_until_it_ends(tmp_path: Path) -> None:
    """A real one: running, stopped by SIGTERM, and on a terminal as well as without."""
    run, dancfr = tmp_path / "run", [sys.executable, "-m", "dancfr"]
    training = subprocess.Popen([*dancfr, *TRAIN, str(run)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 90
        while not (run / "metrics.jsonl").exists() and time.monotonic() < deadline and training.poll() is None:
            time.sleep(0.1)
        watched = Watched(run)
        while (status := watched.look())["checkpoint"] is None and time.monotonic() < deadline:
            assert training.poll() is None
            time.sleep(0.1)
        assert status["state"] == "running"
        assert status["holder"]["process"] == training.pid
        ours, theirs = pty.openpty()
        watch = [*dancfr, "status", str(run), "--watch", "0.5"]
        plain = subprocess.Popen(watch, stdout=subprocess.PIPE, text=True)
        drawn = subprocess.Popen(watch, stdout=theirs, env={**os.environ, "TERM": "xterm", "COLUMNS": "200"})
        os.close(theirs)
        assert plain.stdout is not None
        first = plain.stdout.readline()
        screen = b""
        while b"running: process" not in screen:  # what it draws before that is how it draws
            part = _read(ours)
            assert part, screen
            screen += part
        training.send_signal(signal.SIGTERM)
        assert training.wait(30) == 0
        rest, _ = plain.communicate(timeout=30)
        while part := _read(ours):
            screen += part
        assert drawn.wait(30) == plain.returncode == 0
    finally:
        training.kill()
    assert re.search(r"leduc-dream-quick \(dream\), running: process \d+", first)
    assert re.search(r"leduc-dream-quick \(dream\), stopped", rest)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.decode())
    assert "running: process" in text
    assert "(dream), stopped" in text
    final = watched.look()
    assert final["checkpoint"]["iteration"] == final["iteration"] > 3
    assert final["warnings"] == []


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # its other end is closed
        return b""


def test_a_lock_without_a_note_is_seen_while_it_is_held(tmp_path: Path, command: Command) -> None:
    """A full disk costs the note only."""
    with trained(tmp_path / "run", iterations=1, saved=1) as run:
        (run.path / "run.lock").write_text("")
        status = Watched(run.path).look()
        assert (status["state"], status["holder"]["process"]) == ("running", None)
        assert "running: process unknown" in command("status", "run").out
    assert Watched(run.path).look()["state"] == "stopped"


def test_run_whose_name_has_a_line_break_takes_one_line(tmp_path: Path, command: Command) -> None:
    for name in ("a\nb", "c"):
        with trained(tmp_path / "runs" / name, iterations=7, saved=5):
            pass
    lines = command("status", "runs").out.splitlines()
    assert [line.split()[0] for line in lines] == ["run", r"runs/a\nb", "runs/c"]


def test_a_folder_that_may_not_be_entered_is_one_line(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o400)
    for folder in (closed, closed / "run"):
        command = [*obeying_modes(), sys.executable, "-m", "dancfr", "status", str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert f"cannot read {folder}/config.json: Permission denied" in line
