"""W&B online: its own client sends runs to a stand-in of its server on this machine (`tests.wandb_server`)."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from dancfr.runs.checkpoints import writing
from dancfr.runs.config import Config
from dancfr.runs.recorded_games import Player, Writer
from dancfr.runs.run import Run
from dancfr.watch import reader_process
from dancfr.watch.progress import Speed
from dancfr.watch.tracking import Tracker
from tests.faults.training import SHORT
from tests.processes import processes_given
from tests.waiting import wait_for
from tests.wandb_server import FEATURES, SentRun, Server, Sweep

TUNING = Path(__file__).parents[3] / "docs" / "how-to" / "tuning.md"
SPEED = Speed("traversal/decisions_per_second", "decisions")
WIN_RATE = "evaluation/average/rush/win_rate"
EVALUATED = ("evaluation.every=100000", "evaluation.games=20")
"""The last iteration is evaluated, and no other."""


class Settings(Config):
    iterations: int = 5
    seed: int = 7


def create(path: Path) -> Run:
    return Run.create(path, "quick", "dream", Settings())


def train_row(iteration: int) -> dict[str, Any]:
    counted = {"samples/decisions": 1000 * iteration, "elapsed_s": 0.5 * iteration}
    return {"iteration": iteration, "loss/advantage": 1 / iteration, **counted}


def evaluation(iteration: int, win_rate: float) -> dict[str, Any]:
    named = {"kind": "evaluation", "iteration": iteration, "policy": "average", "opponent": "rush"}
    return {**named, "win_rate": win_rate, "ci95": [win_rate - 0.1, win_rate + 0.1], "games": 400, "elapsed_s": 9.5}


def only_run(server: Server) -> SentRun:
    (run,) = server.runs.values()
    return run


def sent_iterations(run: SentRun) -> list[int]:
    """Iterations of the training rows, in the order of the stream."""
    return [row["iteration"] for row in run.rows() if "loss/advantage" in row]


def table(run: SentRun, name: str) -> list[dict[str, Any]]:
    """The rows of the newest table of a name."""
    path = [row[name]["path"] for row in run.rows() if name in row][-1]
    stored = json.loads(run.files[path])
    return [dict(zip(stored["columns"], values, strict=True)) for values in stored["data"]]


@pytest.mark.parametrize("features", [(), FEATURES], ids=["none", "all"])
def test_online_run_has_what_the_folder_has(
    features: tuple[str, ...], tmp_path: Path, server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    server.features = features
    path = tmp_path / "a run"
    bound = {"agent": "runs/a", "game": "geister", "exact": False, "exploitability_at_least": 0.25, "value": 0.5}
    with create(path) as run, Tracker(run, "online", SPEED, decisions="samples/decisions") as tracker:
        for iteration in (1, 2, 3):
            tracker.log(train_row(iteration))
            run.save_strategy(0, iteration, {"w": np.zeros(3)}, {})
        tracker.log(evaluation(2, 0.75))  # comes in after the row of iteration 3
        tracker.log({"kind": "exploitability", "iteration": 3, "policy": "average", "nash_conv": 0.125})
        with writing(run, 3) as folder:
            (folder / "buffer").write_bytes(b"large")
        (path / "games").mkdir()
        Writer(path / "games", "leduc", {}, 7, [Player(kind="user", name="x"), Player(kind="agent", name="y")])
        (path / "games" / "other.jsonl").write_text("{}\n")
        (path / "response").mkdir()
        (path / "response" / "exploit.json").write_text(json.dumps({**bound, "value_ci95": [0.25, 0.75]}))
    assert capfd.readouterr() == ("", "")

    sent = only_run(server)
    assert (sent.exit_code, sent.starts) == (0, 1)
    settings = {key: sent.settings[key] for key in ("project", "groupName", "displayName", "jobType", "tags")}
    assert settings == {
        "project": "dancfr", "groupName": "quick", "displayName": "a run", "jobType": "train", "tags": ["dream"],
    }  # fmt: skip
    assert (sent.config["seed"], sent.config["method"]) == (7, "dream")
    assert [row for row in sent.rows() if "loss/advantage" in row] == [train_row(n) for n in (1, 2, 3)]
    (evaluated,) = (row for row in sent.rows() if WIN_RATE in row)
    assert evaluated == {
        WIN_RATE: 0.75, "evaluation/iteration": 2, "evaluation/decisions": 2000, "evaluation/elapsed_s": 9.5,
    }  # fmt: skip
    assert sent.summary()[WIN_RATE] == {"max": 0.75, "last": 0.75}
    assert sent.summary()["loss/advantage"] == {"min": pytest.approx(1 / 3), "last": pytest.approx(1 / 3)}

    (row,) = table(sent, "tables/evaluations")
    assert row == {
        "iteration": 2, "decisions": 2000, "elapsed_s": 9.5, "policy": "average", "opponent": "rush", "games": 400,
        "win_rate": 0.75, "low": 0.65, "high": 0.85, "mean_return": None,
    }  # fmt: skip
    (exact,) = table(sent, "tables/exploitability")
    assert (exact["policy"], exact["decisions"], exact["nash_conv"]) == ("average", 3000, 0.125)
    (response,) = table(sent, "tables/best_responses")
    assert {key: response[key] for key in (*bound, "low", "high", "file")} == {
        **bound, "low": 0.25, "high": 0.75, "file": "response/exploit.json",
    }  # fmt: skip

    (checkpoint,) = server.of_type("checkpoint")
    assert set(checkpoint.files) == {"manifest.json", *(f"strategies/p0-00000{n}.safetensors" for n in (1, 2, 3))}
    stored = path / "strategies" / "p0-000002.safetensors"
    assert checkpoint.files["strategies/p0-000002.safetensors"] == stored.read_bytes()
    (record,) = server.of_type("record")
    (game,) = (name for name in record.files if name.startswith("games/leduc-"))
    assert set(record.files) == {"config.json", "metrics.jsonl", "response/exploit.json", game}
    assert record.files["metrics.jsonl"] == run.metrics.path.read_bytes()


DENIED = {"errors": [{"message": "permission denied", "path": ["upsertBucket"]}], "data": {"upsertBucket": None}}


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (200, DENIED, "has no project for this key there: set WANDB_ENTITY and WANDB_PROJECT; "),
        (403, {"errors": [{"message": "permission denied"}]}, "set WANDB_ENTITY and WANDB_PROJECT; permission denied"),
        (404, {"errors": [{"message": "could not find entity none"}]}, "could not find entity none"),
        (429, {"error": "rate limit exceeded"}, "takes no more requests of this key for now; "),
    ],
    ids=["graphql", "403", "404", "429"],
)
def test_refused_run_costs_one_line_that_says_why(
    status: int, body: dict[str, Any], says: str, tmp_path: Path, server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    """The client itself tries 21 times where the server asks to wait."""
    server.refusals["UpsertBucket"] = (status, body)
    with create(tmp_path / "run") as run, Tracker(run, "online", SPEED) as tracker:
        tracker.log(train_row(1))
    (line,) = capfd.readouterr().err.strip().splitlines()
    assert line.startswith(f"warning: W&B failed ({server.address} ")
    assert says in line
    assert line.endswith("metrics.jsonl has everything")
    assert [row["iteration"] for row in Run.open(tmp_path / "run").read_metrics()] == [1]
    assert not server.runs


def test_refused_artifact_costs_one_line_that_names_it(
    tmp_path: Path, server: Server, capfd: pytest.CaptureFixture[str]
) -> None:
    reason = {
        "errors": [{"message": "no artifacts here", "path": ["createArtifact"]}],
        "data": {"createArtifact": None},
    }
    server.refusals["CreateArtifact"] = (200, reason)
    with create(tmp_path / "a run") as run, Tracker(run, "online", SPEED) as tracker:
        tracker.log(train_row(1))
        run.save_strategy(0, 1, {"w": np.zeros(3)}, {})
        with writing(run, 1) as folder:
            (folder / "buffer").write_bytes(b"large")
    sent = only_run(server)
    (line,) = capfd.readouterr().err.strip().splitlines()
    names = ", ".join(f"a-run-{sent.settings['name']}-{kind}" for kind in ("checkpoint", "record"))
    assert line.startswith(f"warning: W&B: {server.address} does not take {names}: ")
    assert "no artifacts here" in line
    assert line.endswith("metrics.jsonl has everything")
    assert (sent.exit_code, sent_iterations(sent)) == (0, [1])


def test_resume_of_a_killed_training_continues_its_wandb_run(tmp_path: Path, server: Server) -> None:
    path = tmp_path / "run"
    command = [
        sys.executable,
        "-m",
        "dancfr",
        "train",
        "geister-quick",
        *SHORT,
        *EVALUATED,
        "--inline",
        "--run-dir",
        str(path),
    ]
    with subprocess.Popen([*command, "iterations=100000", "--wandb", "online"], stderr=subprocess.PIPE) as killed:
        try:
            wait_for(lambda: server.runs and len(sent_iterations(only_run(server))) >= 5, 150)
        finally:
            killed.send_signal(signal.SIGKILL)
    wait_for(lambda: only_run(server).exit_code is not None)  # the reader notices, and sends the last rows
    wait_for(lambda: not processes_given(path))
    sent = only_run(server)
    first = sent_iterations(sent)
    assert sent.exit_code == 1, "a training that was killed has failed"
    assert first == [row["iteration"] for row in Run.open(path).read_metrics("train")]

    total = first[-1] + 3
    resumed = [*command, f"iterations={total}", "--resume", "--wandb", "online"]
    done = subprocess.run(resumed, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert "W&B" not in done.stderr
    assert only_run(server) is sent, "there is no second run"
    assert (sent.starts, sent.exit_code) == (2, 0)
    assert sent_iterations(sent) == list(range(1, total + 1)), "what was done again is sent once"
    last = [row for row in sent.rows() if "evaluation/iteration" in row][-1]
    decisions = Run.open(path).read_metrics("train")[-1]["samples/decisions"]
    assert (last["evaluation/iteration"], last["evaluation/decisions"]) == (total, decisions)


def sync(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wandb", "sync", str(folder)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_wandb_sync_sends_the_newest_offline_piece_whole(tmp_path: Path, server: Server) -> None:
    path = tmp_path / "run"
    for iterations in ((1, 2, 3), (4, 5)):
        run = Run.open(path, writing=True) if path.exists() else create(path)
        with run, Tracker(run, "offline", SPEED) as tracker:
            for iteration in iterations:
                tracker.log(train_row(iteration))
            tracker.log(evaluation(iterations[-1], 0.5 + iterations[-1] / 100))
    assert not server.runs, "offline sends nothing"
    older, newer = (path / "wandb" / piece for piece in json.loads((path / "wandb.json").read_text())["pieces"])
    sync(newer)
    sent = only_run(server)
    assert list(server.runs) == [json.loads((path / "wandb.json").read_text())["id"]]
    assert sent_iterations(sent) == [1, 2, 3, 4, 5]
    assert [row[WIN_RATE] for row in sent.rows() if WIN_RATE in row] == [0.53, 0.55]
    assert [row["iteration"] for row in table(sent, "tables/evaluations")] == [3, 5]
    (record,) = server.of_type("record")
    assert record.files["metrics.jsonl"] == run.metrics.path.read_bytes()
    assert older.exists()


def test_rows_that_a_lost_server_lacks_are_sent_when_the_run_is_resumed(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reader_process, "FINISH_TIMEOUT_S", 5.0)
    path = tmp_path / "run"
    with create(path) as run, Tracker(run, "online") as tracker:
        for iteration in (1, 2):
            tracker.log(train_row(iteration))
        wait_for(lambda: server.runs and len(sent_iterations(only_run(server))) == 2)
        server.away = True
        for iteration in (3, 4):
            tracker.log(train_row(iteration))
    (line,) = capfd.readouterr().err.strip().splitlines()
    assert line.startswith("warning: W&B failed (no answer within 5 s); the run continues")
    assert [row["iteration"] for row in Run.open(path).read_metrics()] == [1, 2, 3, 4]
    assert sent_iterations(only_run(server)) == [1, 2]

    server.away = False
    monkeypatch.setattr(reader_process, "FINISH_TIMEOUT_S", 60.0)
    with Run.open(path, writing=True) as run, Tracker(run, "online") as tracker:
        tracker.log(train_row(5))
    assert capfd.readouterr().err == ""
    assert sent_iterations(only_run(server)) == [1, 2, 3, 4, 5]


def test_agent_of_a_sweep_trains_by_its_parameters(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    (written,) = re.findall(r"```yaml\n(program: dancfr\n.*?)```", TUNING.read_text(), re.DOTALL)
    sweep = yaml.safe_load(written)
    here = {"dancfr": [sys.executable, "-m", "dancfr"], "samples=100000": ["samples=2000", "--inline"]}
    sweep["command"] = [part for word in sweep["command"] for part in here.get(word, [word])]
    rates = {"first": 0.002, "second": 0.008}
    given = {name: {"training.learning_rate": rate, "network.width": 32} for name, rate in rates.items()}
    server.sweep = Sweep(yaml.safe_dump(sweep), dict(given))
    monkeypatch.chdir(tmp_path)
    agent = [sys.executable, "-m", "wandb", "agent", "stand-in/dancfr/sweep1"]
    done = subprocess.run(agent, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert server.sweep.begun == list(server.runs) == list(rates), done.stderr
    for name, rate in rates.items():
        sent = server.runs[name]
        assert (sent.exit_code, sent.settings["sweep"]) == (0, "sweep1")
        assert (sent.config["training"]["learning_rate"], sent.config["network"]["width"]) == (rate, 32)
        assert any("evaluation/average/nash_conv" in row for row in sent.rows())
    stored = {json.loads(path.read_text())["id"] for path in tmp_path.glob("runs/*/wandb.json")}
    assert stored == set(rates), "a resumed run stays the run of the sweep"
