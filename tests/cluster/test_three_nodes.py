"""A training as a job of a cluster of three nodes: submitted, watched, stopped and resumed; and who may submit one."""

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from dancfr.runs.run import Run
from tests.cluster.nodes import ROOT, Nodes, copy_tree, listening, wait_for
from tests.dancfr.outcomes import refused
from tests.projects import make_project
from tests.proxies import proxied

pytestmark = pytest.mark.timeout(600)  # a machine that does other things takes minutes for all the starts

TINY = (
    "game=kuhn", "updates=alternating",  # kernels few enough for each process of a cluster to compile its own
    "traversals=48", "chunk=16", "minutes=none", "reservoir=4000", "circular=4000",
    "advantage_training.minibatches=3", "advantage_training.batch=64", "baseline_training.minibatches=2",
    "baseline_training.batch=64", "evaluation.every=2", "evaluation.games=4", "checkpoint_every=2",
)  # fmt: skip


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """A head without CPUs of its own, and two workers with one each."""
    cluster = Nodes(tmp_path_factory.mktemp("cluster"), workers=2)
    yield cluster
    cluster.stop()
    assert not [process for process in cluster.processes() if process.status() != psutil.STATUS_ZOMBIE]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_tree(tmp_path_factory.mktemp("tree"))


@pytest.fixture(scope="module")
def strangers(nodes: Nodes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """Who wants to get in with another token: a program, and a node. Both try for a while, so they try in parallel."""
    join = "from actors import cluster\ntry: cluster.join({!r})\nexcept cluster.RayUnavailable as error: print(error)"
    words = {
        "program": ["-c", join.format(nodes.address)],
        "node": [
            "-m", "ray.scripts.scripts", "start", f"--address={nodes.address}", "--num-cpus=1",
            "--node-ip-address=127.0.0.9", "--min-worker-port=0", "--max-worker-port=0",
        ],
    }  # fmt: skip
    environment = nodes.environment(HOME=str(tmp_path_factory.mktemp("stranger")), RAY_AUTH_TOKEN="another")
    started = {
        who: subprocess.Popen(
            [sys.executable, *more],
            cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        ) for who, more in words.items()
    }  # fmt: skip
    yield started
    for process in started.values():
        process.kill()
        process.communicate()


def rows_of(folder: Path) -> list[dict]:
    """Rows of the record that are whole."""
    file = folder / "metrics.jsonl"
    lines = file.read_text().splitlines(True) if file.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def check_record(folder: Path, iterations: int) -> None:
    """Every iteration once, every evaluation once, a strategy of each iteration, a checkpoint of the last."""
    run = Run.open(folder)
    rows = run.read_metrics()
    trained = [row["iteration"] for row in rows if row["kind"] == "train"]
    assert trained == list(range(1, iterations + 1))
    evaluated = Counter((r["iteration"], r["policy"], r["opponent"]) for r in rows if r["kind"] == "evaluation")
    assert set(evaluated.values()) <= {1}
    assert [file.iteration for file in run.list_strategies()] == list(range(1, iterations + 1))
    assert max((int(path.name) for path in (folder / "checkpoints").iterdir()), default=0) == iterations


def test_a_training_is_submitted_watched_stopped_and_resumed(nodes: Nodes, tree: Path) -> None:
    """By name only: the run lies below the home of who started the head, and outlives the job."""
    common = ("--run-dir", "tiny", "--workers", "2", "--wandb", "off", "--working-dir", str(tree))
    first = nodes.result("submit", "leduc-dream", *TINY, "iterations=100000", *common, "--no-follow")
    assert first["run_dir"] == "~/dancfr-runs/tiny"
    folder = nodes.home / "dancfr-runs" / "tiny"

    def progress() -> bool:
        """Asks the record and the dashboard, not the program: that takes seconds to start, and a core from the job."""
        (job,) = nodes.ask("/api/jobs/", nodes.token).json()
        logs = ("jobs", "logs", first["job"], "--address", nodes.url)
        assert job["status"] in ("PENDING", "RUNNING"), nodes.dancfr(*logs)
        return sum(row["kind"] == "train" for row in rows_of(folder)) >= 3

    wait_for(progress, 240, "three iterations")
    (job,) = nodes.result("jobs")["jobs"]
    assert (job["job"], job["preset"], job["status"]) == (first["job"], "leduc-dream", "RUNNING")
    assert (job["command"], job["run_dir"]) == ("train", "~/dancfr-runs/tiny")
    assert workers_by_node(nodes) == [1, 1], "one worker on each of the two nodes that have a CPU"
    begin = time.monotonic()
    assert nodes.result("jobs", "stop", first["job"]) == {"job": first["job"], "status": "STOPPED"}
    assert time.monotonic() - begin < 60
    assert "stopping after this iteration" in nodes.result("jobs", "logs", first["job"])["log"]
    done = max(row["iteration"] for row in rows_of(folder) if row["kind"] == "train")
    check_record(folder, done)

    goal = f"iterations={done + 2}"
    second = nodes.dancfr("submit", "leduc-dream", *TINY, goal, *common, "--resume", "--address", nodes.url, "--json")
    assert second.code == 0, second.err
    told = second.err.splitlines()
    assert told[0] == f"connecting to {nodes.url}"
    assert re.fullmatch(rf"sending [\d,]+ kB: {re.escape(str(tree))}", told[1])
    assert re.fullmatch(r"waiting for raysubmit_\w+ to start", told[3])
    assert f"resumed after iteration {done}" in second.err, "the job's log is followed"
    assert json.loads(second.out)["status"] == "SUCCEEDED"
    check_record(folder, done + 2)


@pytest.mark.long
def test_ray_s_own_command_submits_too(nodes: Nodes, tree: Path) -> None:
    """`ray job submit --working-dir . -- python -m dancfr train ...`: nothing but the environment is needed."""
    folder = nodes.home / "by-ray"
    words = ("leduc-dream", *TINY, "iterations=3", "--workers", "2", "--run-dir", str(folder))
    done = subprocess.run(
        [sys.executable, "-m", "ray.scripts.scripts", "job", "submit", "--working-dir", ".", "--", "python", "-m",
         "dancfr", "train", *words],
        cwd=tree, env=nodes.environment(RAY_API_SERVER_ADDRESS=nodes.url), capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    check_record(folder, 3)
    job = nodes.result("jobs")["jobs"][-1]
    assert (job["command"], job["preset"], job["run_dir"]) == ("train", "leduc-dream", str(folder))


def workers_by_node(nodes: Nodes) -> list[int]:
    """How many processes that play each node has that has any."""
    answer = nodes.ask("/api/v0/actors?detail=true&limit=100", nodes.token)
    actors = answer.json()["data"]["result"]["result"]
    playing = [a for a in actors if a["state"] == "ALIVE" and a.get("required_resources", {}).get("CPU", 0) >= 1]
    return sorted(Counter(actor["node_id"] for actor in playing).values())


def test_a_failed_job_is_a_failed_command(nodes: Nodes, tree: Path) -> None:
    wrong = nodes.dancfr(
        "submit", "geister-quick", "--run-dir", "absent", "--resume", "--address", nodes.url, "--working-dir", str(tree)
    )
    assert wrong.code == 1
    assert "absent holds no run: it does not exist" in wrong.err.splitlines()[-1]


@pytest.mark.parametrize("way", ["train", "submit"])
def test_project_with_packages_of_our_names_does_not_disturb(
    nodes: Nodes, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in the folder of a driver that joins the cluster, here by RAY_ADDRESS and with a proxy in the environment
    that must not be asked, nor as the working directory of a job."""
    project, folder = make_project(tmp_path / "project"), tmp_path / "run"
    words = ("leduc-dream", *TINY, "iterations=1", "--workers", "1", "--run-dir", str(folder), "--wandb", "off")
    place = () if way == "train" else ("--address", nodes.url, "--working-dir", str(project))
    with proxied(monkeypatch) as asked:
        done = nodes.dancfr(way, *words, *place, cwd=project, RAY_ADDRESS=nodes.address)
    assert done.code == 0, done.err
    assert f"Ray: joined {nodes.address}, which RAY_ADDRESS names" in done.err
    assert [request for request in asked if "127.0." in request] == []
    check_record(folder, 1)


def test_only_who_has_the_token_gets_in(
    nodes: Nodes, strangers: dict[str, subprocess.Popen[str]], tmp_path: Path
) -> None:
    jobs = ("jobs", "--address", nodes.url)
    assert "requires a token, and none was found" in refused(nodes.dancfr(*jobs, HOME=str(tmp_path)))
    assert "rejects the token in RAY_AUTH_TOKEN" in refused(nodes.dancfr(*jobs, RAY_AUTH_TOKEN="another"))
    for path in ("/api/version", "/api/jobs/", "/api/v0/nodes", "/nodes?view=summary", "/logs"):
        assert nodes.ask(path).status_code == 401, path
        assert nodes.ask(path, "another").status_code == 403, path
    assert nodes.ask("/api/jobs/", nodes.token).status_code == 200
    told, _ = strangers["program"].communicate(timeout=90)
    assert strangers["program"].returncode == 0, told
    assert "no Ray could be joined" in told


def test_the_dashboard_listens_on_the_loopback_interface_alone(nodes: Nodes) -> None:
    open_ports = listening(nodes.processes())
    dashboard = int(nodes.url.rpartition(":")[2])
    assert [ip for ip, port in open_ports if port == dashboard] == ["127.0.0.1"]
    clients = {ip for ip, port in open_ports if port == nodes.port}
    assert clients <= {"::", "0.0.0.0", "127.0.0.2"}, "the control service is for the other nodes"


def test_a_node_without_the_token_cannot_join(nodes: Nodes, strangers: dict[str, subprocess.Popen[str]]) -> None:
    told, _ = strangers["node"].communicate(timeout=90)
    assert strangers["node"].returncode != 0, told
    known = nodes.ask("/api/v0/nodes", nodes.token).json()["data"]["result"]["result"]
    assert [node["state"] for node in known].count("ALIVE") == 3


def test_variables_for_others_do_not_redirect_a_submission(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray's own client would prefer RAY_ADDRESS to the address that it is given, and ask a proxy for every address."""
    with proxied(monkeypatch) as asked:
        outcome = nodes.dancfr("jobs", "--address", nodes.url, "--json", RAY_ADDRESS="http://127.0.0.1:9")
    assert asked == []
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["address"] == nodes.url
    assert "RAY_ADDRESS" not in os.environ
