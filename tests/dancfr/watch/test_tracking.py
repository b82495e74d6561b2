"""Tracking: metrics.jsonl always has everything; W&B (the real one, offline) gets it too, or fails harmlessly."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr.errors import UsageError
from dancfr.runs.checkpoints import writing
from dancfr.runs.config import Config
from dancfr.runs.run import Run
from dancfr.watch import wandb_reader
from dancfr.watch.progress import Speed
from dancfr.watch.status import Watched
from dancfr.watch.tracking import Tracker, choose_mode
from tests.processes import processes_given
from tests.waiting import wait_for
from tests.wandb_server import serving


class Settings(Config):
    iterations: int = 5
    seed: int = 7


def create(path: Path) -> Run:
    return Run.create(path, "quick", "dream", Settings())


def evaluation(iteration: int, win_rate: float) -> dict[str, Any]:
    return {"kind": "evaluation", "iteration": iteration, "policy": "average", "opponent": "rush", "win_rate": win_rate}


def records(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The records that W&B stored for a run, by type."""
    command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    found: dict[str, list[dict[str, Any]]] = {}
    for line in result.stdout.splitlines():
        record = json.loads(line)
        found.setdefault(record["type"], []).append(record.get(record["type"], {}))
    return found


def history(stored: dict[str, list[dict[str, Any]]]) -> dict[int, dict[str, Any]]:
    return {
        entry["step"]["num"]: {key: value for key, value in entry["item"].items() if not key.startswith("_")}
        for entry in stored["history"]
    }


def of_iteration(steps: dict[int, dict[str, Any]], iteration: int) -> dict[str, Any]:
    """The values of the one step with a training row of an iteration."""
    (values,) = (step for step in steps.values() if step.get("iteration") == iteration)
    return values


def win_rates(steps: dict[int, dict[str, Any]]) -> dict[int, float]:
    """Win rates of the average by iteration."""
    name = "evaluation/average/rush/win_rate"
    return {step["evaluation/iteration"]: step[name] for step in steps.values() if name in step}


def points_of_chart(steps: dict[int, dict[str, Any]]) -> list[int]:
    """How many points the chart of all win rates has each time it is drawn."""
    rows = "Custom Chart Tables/curves/win_rate_table.nrows"
    return [step[rows] for step in steps.values() if rows in step]


def test_an_offline_run_holds_what_the_record_holds_and_goes_on_when_resumed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a run"
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    with create(path) as run, Tracker(run, "offline") as tracker:
        for iteration in (1, 2, 3):
            tracker.log({"iteration": iteration, "loss": np.float32(1 / iteration), "bad": float("inf")})
            run.save_strategy(0, iteration, {"w": np.zeros(3)}, {})
        tracker.log(evaluation(2, 0.75))  # comes in after the row of iteration 3
        with writing(run, 3) as folder:
            (folder / "buffer").write_bytes(b"large")
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    with Run.open(path, writing=True) as run, Tracker(run, "offline") as tracker:
        tracker.log({"iteration": 4, "loss": 0.25})
        tracker.log(evaluation(4, 0.5))
    out, err = capfd.readouterr()
    assert out + err == "", "W&B is silent"
    rows = Run.open(path).read_metrics()
    assert [row["iteration"] for row in rows] == [1, 2, 3, 2, 4, 4]
    assert rows[0] == {"kind": "train", "iteration": 1, "loss": 1.0, "bad": None}

    newer, older = sorted((path / "wandb").glob("offline-run-*"))  # by local time
    first, second = records(older), records(newer)
    sent = Watched(path).look()["wandb"]
    assert (sent["to_sync"], sent["offline_pieces"]) == (str(newer), 2)
    steps, resumed_steps = history(first), history(second)
    assert of_iteration(steps, 1) == {"loss": 1, "iteration": 1}
    assert win_rates(steps) == {2: 0.75}
    assert points_of_chart(steps) == [1]
    for iteration in (1, 2, 3, 4):
        assert of_iteration(resumed_steps, iteration)["loss"] == pytest.approx(1 / iteration), "a piece is complete"
    assert win_rates(resumed_steps) == {2: 0.75, 4: 0.5}
    assert points_of_chart(resumed_steps)[-1] == 2, "the whole curve"
    started, resumed = first["run"][0], second["run"][0]
    assert started["run_group"] == "quick"
    assert started["job_type"] == "train"
    assert started["tags"] == ["dream"]
    assert started["display_name"] == "a run"
    assert started["config"]["update"]["seed"] == 7
    assert started["config"]["update"]["method"] == "dream"
    assert started["run_id"] == resumed["run_id"] == json.loads((path / "wandb.json").read_text())["id"]
    (artifact,) = (found for found in first["artifact"] if found["type"] == "checkpoint")
    assert {entry["path"] for entry in artifact["manifest"]["contents"]} == {
        "manifest.json", "strategies/p0-000001.safetensors", "strategies/p0-000002.safetensors",
        "strategies/p0-000003.safetensors",
    }  # fmt: skip
    assert artifact["name"] == f"a-run-{started['run_id']}-checkpoint"
    check_definitions(first)


def check_definitions(stored: dict[str, list[dict[str, Any]]]) -> None:
    """Charts are drawn over iterations, there is one of all win rates, and the machine is watched."""
    defined = {entry["name"]: entry for entry in stored["metric"] if "name" in entry}
    assert defined["loss"]["step_metric"] == "iteration"
    win_rate = defined["evaluation/average/rush/win_rate"]
    assert win_rate["step_metric"] == "evaluation/iteration"
    assert win_rate["summary"] == {"last": True, "max": True}
    assert defined["elapsed_s"]["options"]["hidden"]
    panels = [key for entry in stored["config"] for key in entry["update"] if "visualize" in key]
    assert panels == ["_wandb.visualize.curves/win_rate"]
    watched = {name.split(".")[0] for entry in stored["stats"] for name in entry["item"]}
    assert {"disk", "memory_percent", "network", "proc"} <= watched, watched


KILLED = """
import os, signal, sys
from dancfr.runs.config import Config
from dancfr.runs.run import Run
from dancfr.watch.tracking import Tracker
with Run.create(sys.argv[1], "quick", "dream", Config()) as run, Tracker(run, "offline") as tracker:
    for iteration in range(1, 31):
        tracker.log({"iteration": iteration, "loss": 1.0 / iteration})
    os.killpg(0, signal.SIGKILL)
"""


def test_a_killed_training_costs_wandb_nothing_and_what_is_done_again_is_sent_once(tmp_path: Path) -> None:
    path = tmp_path / "run"
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], start_new_session=True, timeout=60)
    assert killed.returncode == -9
    wait_for(lambda: not processes_given(path))
    with Run.open(path, writing=True) as run:
        assert len(run.read_metrics()) == 30
        with Tracker(run, "offline") as tracker:
            wait_for(lambda: len(list((path / "wandb").glob("offline-run-*"))) == 2)  # and is reading the record
            run.truncate_metrics(20)  # as a run does when it resumes from its checkpoint
            for iteration in range(21, 33):
                tracker.log({"iteration": iteration, "loss": 1.0 / iteration})
        assert len(run.read_metrics()) == 32
    first, second = (history(records(folder)) for folder in sorted((path / "wandb").glob("offline-run-*")))
    for steps, iterations in ((first, 30), (second, 32)):
        losses = [(step["iteration"], step["loss"]) for step in steps.values() if "loss" in step]
        assert losses == [(iteration, pytest.approx(1 / iteration)) for iteration in range(1, iterations + 1)]


def test_evaluations_that_come_in_together_keep_their_iterations_and_events_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "run"
    recovered = {"kind": "event", "event": "recovered", "cause": "WorkerDied: gone", "lost_iterations": 2}
    speed = Speed("traversal/decisions_per_second", "decisions")
    with create(path) as run, Tracker(run, "offline", speed) as tracker:
        workers = {"workers/alive": 4, "traversal/decisions_per_second": 1000.0, "queue/depth": 3}
        tracker.log({"iteration": 5, **workers})
        for row in (evaluation(2, 0.25), evaluation(4, 0.5)):
            tracker.log(row)
        exact = {"kind": "exploitability", "iteration": 4, "policy": "average", "nash_conv": 0.125}
        tracker.log(exact)
        tracker.log({**recovered, "iteration": 5, "seconds": 1.5})
        tracker.log({"iteration": 4, "loss": 9.0})  # done again after the recovery: W&B has it
        tracker.log({**recovered, "iteration": 6, "seconds": 2.5})
        wait_for(lambda: any((path / "wandb").glob("offline-run-*")))
        (reader,) = (each for each in processes_given(path) if each.ppid() == os.getpid())
        reader.terminate()  # a signal for all processes of a training does not cut the rows off
        tracker.log({"iteration": 6, "loss": 0.5})
    assert [row["kind"] for row in run.read_metrics()] == [
        "train", "evaluation", "evaluation", "exploitability", "event", "train", "event", "train",
    ]  # fmt: skip
    assert run.read_metrics("event")[0]["cause"] == "WorkerDied: gone"
    (folder,) = (path / "wandb").glob("offline-run-*")
    steps = history(records(folder))
    values = list(steps.values())
    counted = [step for step in values if "events/recovered" in step]
    assert values[0] == {**workers, "iteration": 5, "workers/decisions_per_second_each": 250}
    assert win_rates(steps) == {2: 0.25, 4: 0.5}
    (nash_conv,) = (step for step in values if "evaluation/average/nash_conv" in step)
    assert nash_conv == {"evaluation/average/nash_conv": 0.125, "evaluation/iteration": 4}
    assert [step["events/recovered"] for step in counted] == [1, 2]
    assert [step["events/recovered_lost_iterations"] for step in counted] == [2, 4]
    assert counted[-1]["events/recovered_seconds"] == 4
    assert [step["loss"] for step in values if "loss" in step] == [0.5]
    assert sorted({step["iteration"] for step in values if "iteration" in step}) == [5, 6]


SERVICE = """
import sys, time
from contextlib import suppress
import psutil
from dancfr.runs.config import Config
from dancfr.runs.run import Run
from dancfr.watch import reader_process
from dancfr.watch.tracking import Tracker

def find_services():
    found = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            found += [child] if child.name().startswith("wandb-core") else []
    return found

reader_process.FINISH_TIMEOUT_S = float(sys.argv[3])
with Run.create(sys.argv[1], "quick", "dream", Config()) as run, Tracker(run, "offline") as tracker:
    tracker.log({"iteration": 1})
    while not (services := find_services()):
        time.sleep(0.05)
    for service in services:
        service.send_signal(int(sys.argv[2]))
    before = time.monotonic()
    for iteration in range(2, 2002):
        tracker.log({"iteration": iteration, **{f"value/{n}": float(n) for n in range(50)}})
    print(time.monotonic() - before)
for service in services:
    with suppress(psutil.NoSuchProcess):
        service.kill()
"""


def disturb(path: Path, number: signal.Signals, patience: float) -> tuple[float, str]:
    """Sends a signal to W&B's service while a process logs 2,000 rows; their seconds, and standard error."""
    command = [sys.executable, "-c", SERVICE, str(path), str(int(number)), str(patience)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert result.returncode == 0, result.stderr
    assert len(Run.open(path).read_metrics()) == 2001
    return float(result.stdout), result.stderr


def test_the_death_of_its_service_costs_one_line(tmp_path: Path) -> None:
    _, told = disturb(tmp_path / "run", signal.SIGKILL, 60)
    (line,) = told.strip().splitlines()
    assert line.startswith("warning: W&B failed (")
    assert "the run continues" in line


def test_a_service_that_hangs_holds_up_neither_the_rows_nor_the_end(tmp_path: Path) -> None:
    seconds, told = disturb(tmp_path / "run", signal.SIGSTOP, 2)
    (line,) = told.strip().splitlines()
    assert line.startswith("warning: W&B failed (no answer within 2 s)")
    assert seconds < 10


@pytest.fixture(scope="module")
def refusing() -> Iterator[str]:
    """A W&B server that knows another key."""
    with serving() as server:
        yield server.address


@pytest.mark.parametrize(
    ("server", "key", "why"),
    [
        ("http://127.0.0.1:9", "0" * 40, "(no answer from http://127.0.0.1:9);"),  # the discard port: nothing listens
        ("refusing", "0" * 40, "does not accept the key: set WANDB_API_KEY or run `wandb login`"),
        ("http://127.0.0.1:9", "short", "does not accept the key: set WANDB_API_KEY or run `wandb login`"),
        ("127.0.0.1:9", "0" * 40, "base_url Input should be a valid URL"),
    ],
)
def test_a_server_that_cannot_be_used_costs_one_line_that_says_why(
    server: str,
    key: str,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    refusing: str,
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", key)
    monkeypatch.setenv("WANDB_BASE_URL", refusing if server == "refusing" else server)
    monkeypatch.setenv("WANDB_INIT_TIMEOUT", "1" if server.startswith("http") else "20")
    with create(tmp_path / "run") as run, Tracker(run) as tracker:
        tracker.log({"iteration": 1})
        tracker.log(evaluation(1, 0.5))
    assert len(Run.open(tmp_path / "run").read_metrics()) == 2
    (line,) = capfd.readouterr().err.strip().splitlines()
    assert line.startswith("warning: W&B failed (")
    assert why in line


def test_off_means_off(tmp_path: Path) -> None:
    with create(tmp_path / "run") as run, Tracker(run, "off") as tracker:
        tracker.log({"iteration": 1})
        with pytest.raises(KeyError):
            tracker.log({"loss": 1.0})
    assert not (tmp_path / "run" / "wandb").exists()
    assert not (tmp_path / "run" / "wandb.json").exists()


def test_rows_are_shown_once_they_are_written(tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def watch(row: Mapping[str, Any]) -> None:
        assert run.read_metrics()[-1] == row
        if row["kind"] == "evaluation":
            raise Enough

    with create(tmp_path / "run") as run, Tracker(run, "off", on_row=watch) as tracker:
        tracker.log({"iteration": 1, "loss/a": 0.5})
        with pytest.raises(Enough):
            tracker.log(evaluation(1, 0.25))
    assert len(Run.open(tmp_path / "run").read_metrics()) == 2


@pytest.fixture
def no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without any key; the path where a netrc file would be."""
    for name in ("WANDB_API_KEY", "WANDB_MODE", "WANDB_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    return tmp_path / "netrc"


def test_without_a_key_online_is_refused_and_off_is_the_default(no_key: Path) -> None:
    assert choose_mode(None) == "off"
    assert choose_mode("offline") == "offline"
    with pytest.raises(UsageError, match="WANDB_API_KEY"):
        choose_mode("online")
    with pytest.raises(UsageError, match="'sometimes'"):
        choose_mode("sometimes")


def test_a_key_makes_online_the_default(no_key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_key.write_text("machine elsewhere.example login user password x\n")
    assert choose_mode(None) == "off"
    no_key.write_text("machine api.wandb.ai login user password x\n")
    assert choose_mode(None) == choose_mode("online") == "online"
    monkeypatch.setenv("WANDB_BASE_URL", "https://wandb.example")
    assert choose_mode(None) == "off"
    monkeypatch.setenv("WANDB_API_KEY", "x")
    assert choose_mode(None) == "online"
    assert choose_mode("off") == "off"
    monkeypatch.setenv("WANDB_MODE", "offline")
    assert choose_mode(None) == "offline"
    assert choose_mode("online") == "online"
    monkeypatch.setenv("WANDB_MODE", "disabled")
    assert choose_mode(None) == "off"


def test_copy_of_a_run_is_a_wandb_run_of_its_own(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with create(tmp_path / "r9") as run, Tracker(run, "offline") as tracker:
        tracker.log({"iteration": 1, "loss": 1.0})
    shutil.copytree(tmp_path / "r9", tmp_path / "r9copy", symlinks=True)
    ids = {}
    for name in ("r9copy", "r9"):
        with Run.open(tmp_path / name, writing=True) as run:
            run.resume_as("quick", "dream", Settings())
            ids[name] = run.info["id"]
            with Tracker(run, "offline" if name == "r9copy" else "off") as tracker:
                tracker.log({"iteration": 2, "loss": 0.5})
    told = f"{tmp_path / 'r9copy'} is a copy of {tmp_path / 'r9'}: it continues as a run of its own\n"
    assert capfd.readouterr().err == told
    status, original = (Watched(tmp_path / name).look() for name in ("r9copy", "r9"))
    assert (status["name"], status["origin"]["path"], original["origin"]) == ("r9copy", str(tmp_path / "r9"), None)
    assert ids["r9"] == status["origin"]["id"] != ids["r9copy"]
    assert status["wandb"]["id"] != original["wandb"]["id"]
    assert (status["wandb"]["offline_pieces"], original["wandb"]["offline_pieces"]) == (1, 1)
    stored = records(Path(status["wandb"]["to_sync"]))
    assert [of_iteration(history(stored), iteration)["loss"] for iteration in (1, 2)] == [1, 0.5]
    (started,) = stored["run"]
    assert (started["run_id"], started["display_name"]) == (status["wandb"]["id"], "r9copy")
    assert started["config"]["update"]["origin"]["path"] == str(tmp_path / "r9")


def test_a_damaged_id_file_makes_a_new_wandb_run(tmp_path: Path) -> None:
    with create(tmp_path / "run") as run:
        made = wandb_reader.wandb_id(run)
        assert wandb_reader.wandb_id(run) == made
        (run.path / "wandb.json").write_text('{"id": "../../elsewhere"}')
        again = wandb_reader.wandb_id(run)
        assert again != made
        assert os.sep not in again
