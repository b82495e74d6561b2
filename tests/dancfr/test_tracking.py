"""Tracking: metrics.jsonl always has everything; W&B (the real one, offline) gets it too, or fails harmlessly."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dancfr import tracking
from dancfr.checkpoints import writing
from dancfr.config import Config
from dancfr.errors import UsageError
from dancfr.runs import Run
from dancfr.tracking import Tracker, choose_mode


class Settings(Config):
    iterations: int = 5
    seed: int = 7


def create(path: Path) -> Run:
    return Run.create(path, "quick", "dream", Settings())


def evaluation(iteration: int, win_rate: float) -> dict[str, Any]:
    return {"kind": "evaluation", "iteration": iteration, "policy": "average", "opponent": "rush", "win_rate": win_rate}


def records(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """What W&B stored of one of its runs, by type of record."""
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


def test_an_offline_run_holds_what_the_record_holds_and_goes_on_when_resumed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a run"
    with create(path) as run, Tracker(run, "offline") as tracker:
        for iteration in (1, 2, 3):
            tracker.log({"iteration": iteration, "loss": np.float32(1 / iteration), "bad": float("inf")})
            run.save_strategy(0, iteration, {"w": np.zeros(3)}, {})
        tracker.log(evaluation(2, 0.75))  # comes in after the row of iteration 3
        with writing(run, 3) as folder:
            (folder / "buffer").write_bytes(b"large")
        tracker.checkpoint(3)
    with Run.open(path, writing=True) as run, Tracker(run, "offline") as tracker:
        tracker.log({"iteration": 4, "loss": 0.25})
    out, err = capfd.readouterr()
    assert out + err == "", "W&B is silent"
    rows = Run.open(path).read_metrics()
    assert [row["iteration"] for row in rows] == [1, 2, 3, 2, 4]
    assert rows[0] == {"kind": "train", "iteration": 1, "loss": 1.0, "bad": None}

    first, second = (records(folder) for folder in sorted((path / "wandb").glob("offline-run-*")))
    steps = history(first)
    assert steps[1] == {"loss": 1}
    assert steps[3] == {
        "loss": pytest.approx(1 / 3),
        "evaluation/average/rush/win_rate": 0.75,
        "evaluation/iteration": 2,
    }
    assert history(second) == {4: {"loss": 0.25}}
    started, resumed = first["run"][0], second["run"][0]
    assert started["run_group"] == "quick"
    assert started["display_name"] == "a run"
    assert started["config"]["update"]["seed"] == 7
    assert started["config"]["update"]["method"] == "dream"
    assert started["run_id"] == resumed["run_id"] == json.loads((path / "wandb.json").read_text())["id"]
    (artifact,) = first["artifact"]
    assert artifact["type"] == "checkpoint"
    assert {entry["path"] for entry in artifact["manifest"]["contents"]} == {
        "manifest.json", "strategies/p0-000001.safetensors", "strategies/p0-000002.safetensors",
        "strategies/p0-000003.safetensors",
    }  # fmt: skip


SERVICE_KILLED = """
import sys
from pathlib import Path
import psutil
from dancfr.config import Config
from dancfr.runs import Run
from dancfr.tracking import Tracker
with Run.create(sys.argv[1], "quick", "dream", Config()) as run, Tracker(run, "offline") as tracker:
    tracker.log({"iteration": 1})
    services = [child for child in psutil.Process().children() if child.name().startswith("wandb-core")]
    assert services
    for service in services:
        service.kill()
        service.wait()
    for iteration in range(2, 6):
        tracker.log({"iteration": iteration})
    tracker.checkpoint(5)
"""


def test_the_death_of_its_service_costs_one_line(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, "-c", SERVICE_KILLED, str(tmp_path / "run")], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr
    (line,) = result.stderr.strip().splitlines()
    assert line.startswith("warning: W&B failed (")
    assert "the run goes on" in line
    assert [row["iteration"] for row in Run.open(tmp_path / "run").read_metrics()] == [1, 2, 3, 4, 5]


def test_a_server_that_does_not_answer_costs_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WANDB_API_KEY", "0" * 40)
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")  # the discard port: nobody listens
    monkeypatch.setattr(tracking, "INIT_TIMEOUT_S", 1.0)
    with create(tmp_path / "run") as run, Tracker(run) as tracker:
        tracker.log({"iteration": 1})
        tracker.log(evaluation(1, 0.5))
    assert len(Run.open(tmp_path / "run").read_metrics()) == 2
    assert [line[:20] for line in capfd.readouterr().err.strip().splitlines()] == ["warning: W&B failed "]


def test_off_means_off(tmp_path: Path) -> None:
    with create(tmp_path / "run") as run, Tracker(run, "off") as tracker:
        tracker.log({"iteration": 1})
        tracker.checkpoint(1)
        with pytest.raises(KeyError):
            tracker.log({"loss": 1.0})
    assert not (tmp_path / "run" / "wandb").exists()
    assert not (tmp_path / "run" / "wandb.json").exists()


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
    with pytest.raises(UsageError, match=r"needs a key: set WANDB_API_KEY, run `wandb login`, or choose --wandb off"):
        choose_mode("online")
    with pytest.raises(UsageError, match="not 'sometimes'"):
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


def test_a_damaged_id_file_makes_a_new_wandb_run(tmp_path: Path) -> None:
    with create(tmp_path / "run") as run:
        made = tracking._wandb_id(run)
        assert tracking._wandb_id(run) == made
        (run.path / "wandb.json").write_text('{"id": "../../elsewhere"}')
        again = tracking._wandb_id(run)
        assert again != made
        assert os.sep not in again
