"""TensorBoard's event files: they have the whole record of a run, also of one that went back or was killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from dancfr.methods.launch import TrainRequest, train
from dancfr.methods.options import TrainOptions
from dancfr.runs.run import Run
from dancfr.watch.tensorboard_reader import FOLDER, Writer
from dancfr.watch.tracking import Tracker
from tests.dancfr.watch.test_tracking import create, evaluation


def scalars(path: Path) -> dict[str, list[tuple[int, float]]]:
    """Steps and values by tag, as TensorBoard reads them."""
    (events,) = (path / FOLDER).glob("events.out.tfevents.*")
    read = EventAccumulator(str(events)).Reload()
    return {tag: [(one.step, one.value) for one in read.Scalars(tag)] for tag in read.Tags()["scalars"]}


def test_it_has_the_rows_of_all_kinds(tmp_path: Path) -> None:
    with create(tmp_path / "run") as run, Tracker(run, "off", tensorboard=True) as tracker:
        tracker.log({"iteration": 1, "loss/a": 0.5, "elapsed_s": 10.0, "note": "text"})
        tracker.log({"iteration": 1, "kind": "event", "event": "recovered"})
        tracker.log(evaluation(1, 0.25))
        tracker.log({"iteration": 2, "kind": "exploitability", "policy": "average", "nash_conv": 1.5})
        tracker.log({"iteration": 2, "loss/a": 0.125, "elapsed_s": 20.0})
    assert scalars(tmp_path / "run") == {
        "loss/a": [(1, 0.5), (2, 0.125)],
        "elapsed_s": [(1, 10.0), (2, 20.0)],
        "events/recovered": [(1, 1.0)],
        "evaluation/average/rush/win_rate": [(1, 0.25)],
        "evaluation/average/nash_conv": [(2, 1.5)],
    }


def test_times_are_those_of_training(tmp_path: Path) -> None:
    with create(tmp_path / "run") as run, Tracker(run, "off", tensorboard=True) as tracker:
        for iteration, seconds in ((1, 10.0), (2, 25.0)):
            tracker.log({"iteration": iteration, "elapsed_s": seconds})
    read = EventAccumulator(str(tmp_path / "run" / FOLDER)).Reload()
    first, second = read.Scalars("elapsed_s")
    assert second.wall_time - first.wall_time == pytest.approx(15.0)
    assert "iterations" in str(read.Tensors("settings/text_summary")[0].tensor_proto.string_val[0])


def test_a_run_that_goes_back_has_each_row_once(tmp_path: Path) -> None:
    with create(tmp_path / "run") as run:
        writer = Writer(run)
        for iteration in (1, 2, 3):
            run.append_metrics({"kind": "train", "iteration": iteration, "loss/a": float(iteration)})
        run.metrics.flush()
        writer.update()
        run.metrics.path.write_text('{"kind": "train", "iteration": 1, "loss/a": 1.0}\n')
        writer.update()
        with run.metrics.path.open("a") as file:
            file.write('{"kind": "train", "iteration": 2, "loss/a": 7.0}\n')
        writer.close()
    assert scalars(tmp_path / "run")["loss/a"] == [(1, 1.0), (2, 7.0)]


def test_a_run_that_goes_back_to_its_start_has_each_row_once(tmp_path: Path) -> None:
    """Its record is empty for a while."""
    with create(tmp_path / "run") as run:
        for iteration in (1, 2, 3):
            run.append_metrics({"kind": "train", "iteration": iteration, "loss/a": float(iteration)})
        writer = Writer(run)
        writer.update()
        run.truncate_metrics(0)
        writer.update()
        writer.update()
        for iteration in (1, 2):
            run.append_metrics({"kind": "train", "iteration": iteration, "loss/a": 7.0})
            writer.update()
        writer.close()
    assert scalars(tmp_path / "run")["loss/a"] == [(1, 7.0), (2, 7.0)]


KILLED = """
import os, sys
from dancfr.runs.run import Run
from dancfr.watch.tracking import Tracker
from tests.dancfr.watch.test_tracking import create
from pathlib import Path

with create(Path(sys.argv[1])) as run:
    tracker = Tracker(run, "off", tensorboard=True)
    tracker.log({"iteration": 1, "loss/a": 2.0})
    run.metrics.flush()
    os.kill(os.getpid(), 9)
"""


def test_the_rows_of_a_killed_training_are_written(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "run")], timeout=60, env=os.environ)
    assert done.returncode == -signal.SIGKILL
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if scalars(tmp_path / "run")["loss/a"] == [(1, 2.0)]:
                return
        except (ValueError, KeyError):
            time.sleep(0.2)
    pytest.fail("the row has not been written within a minute")


def test_a_folder_that_cannot_be_written_costs_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with create(tmp_path / "run") as run, Tracker(run, "off", tensorboard=True) as tracker:
        (tmp_path / "run" / FOLDER).write_text("a file")
        tracker.log({"iteration": 1, "loss/a": 2.0})
    (line,) = capfd.readouterr().err.strip().splitlines()
    assert line.startswith("warning: TensorBoard failed (")
    assert len(Run.open(tmp_path / "run").read_metrics()) == 1


def test_a_training_writes_it_if_asked_to(tmp_path: Path) -> None:
    settings = ("game=kuhn", "iterations=2", "games=64", "chunk=64", "evaluation.every=2", "evaluation.games=4")
    options = TrainOptions(inline=True, progress=False, tensorboard=True)
    train(TrainRequest("leduc-policy-gradient", settings, tmp_path / "run", "off", options))
    found = scalars(tmp_path / "run")
    assert [step for step, _ in found["selfplay/decisions"]] == [1, 2]
    assert "evaluation/average/random/win_rate" in found
