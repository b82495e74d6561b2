"""A training whose learners need a GPU that only another machine of the cluster has."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dancfr.runs.run import Run
from tests.cluster.nodes import ROOT, Nodes, wait_for
from tests.cluster.test_three_nodes import TINY

pytestmark = pytest.mark.timeout(600)  # a machine that does other things takes minutes for all the starts

TRAIN = ("leduc-dream", *TINY, "iterations=3", "--workers", "1", "--wandb", "off")


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """A head without a GPU, and a worker with one CPU: who has a GPU joins later."""
    cluster = Nodes(tmp_path_factory.mktemp("cluster"), workers=1)
    yield cluster
    cluster.stop()


def placed_with_gpu(nodes: Nodes) -> dict[str, tuple[str, str, float]]:
    """Of each actor so far that has asked for a GPU, by its id: name, node and share."""
    answer = nodes.ask("/api/v0/actors?detail=true&limit=200", nodes.token)
    return {
        actor["actor_id"]: (actor["name"].split(" #")[0], actor["node_id"], actor["required_resources"]["GPU"])
        for actor in answer.json()["data"]["result"]["result"]
        if actor["required_resources"].get("GPU")
    }


def node_ids(nodes: Nodes, ip: str) -> list[str]:
    found = nodes.ask("/api/v0/nodes?detail=true", nodes.token).json()["data"]["result"]["result"]
    return [node["node_id"] for node in found if node["node_ip"] == ip and node["state"] == "ALIVE"]


def test_learners_wait_for_a_gpu_and_are_placed_on_the_node_that_brings_it(nodes: Nodes, tmp_path: Path) -> None:
    """The node declares a GPU; the placement is real, and only the arithmetic is on its CPU."""
    folder, log = tmp_path / "run", tmp_path / "log"
    with log.open("w") as file:
        started = subprocess.Popen(
            [sys.executable, "-m", "dancfr", "train", *TRAIN, "--run-dir", str(folder), "--device", "cuda",
             "--address", nodes.address],
            cwd=ROOT, env=nodes.environment(), stdout=file, stderr=file,
        )  # fmt: skip
        wait_for(lambda: "waiting up to 900 s" in log.read_text() or started.poll() is not None, 120, "a message")
        (line,) = [line for line in log.read_text().splitlines() if "waiting up to" in line]
        assert "advantages-learner asks for 0.5 GPUs, but Ray has 0" in line
        assert started.poll() is None
        nodes.add("127.0.0.7", "--num-gpus=1", DANCFR_CUDA_DEVICE="cpu")
        assert started.wait(240) == 0, log.read_text()
    assert log.read_text().count("waiting up to") == 1
    assert [row["iteration"] for row in Run.open(folder).read_metrics() if row["kind"] == "train"] == [1, 2, 3]
    (home,) = node_ids(nodes, "127.0.0.7")
    found = sorted(placed_with_gpu(nodes).values())
    assert found == [("advantages-learner", home, 0.5), ("transitions-learner", home, 0.5)], "they share its one GPU"


def test_auto_is_the_gpu_of_another_machine(nodes: Nodes, tmp_path: Path) -> None:
    """Where the driver runs there is none. Two learners of each net would need four."""
    before = placed_with_gpu(nodes)
    words = ("--run-dir", str(tmp_path / "run"), "--address", nodes.address, "resources.learners=2")
    done = nodes.dancfr("train", *TRAIN, *words)
    assert done.code == 0, done.err
    (line,) = [line for line in done.err.splitlines() if "resources.learners=2" in line]
    assert "1 learner per net instead" in line
    assert "needs 4 GPUs (1 joined so far)" in line
    new = [placed for actor, placed in placed_with_gpu(nodes).items() if actor not in before]
    assert sorted(name for name, _, _ in new) == ["advantages-learner", "transitions-learner"]


def test_a_machine_whose_torch_sees_no_gpu_is_named(nodes: Nodes, tmp_path: Path) -> None:
    """It says that it has one."""
    nodes.add("127.0.0.8", "--num-gpus=4")
    folder = tmp_path / "run"
    words = ("--run-dir", str(folder), "--address", nodes.address, "--device", "cuda", "resources.learner_gpus=2")
    outcome = nodes.dancfr("train", *TRAIN, *words)
    assert (outcome.code, outcome.out) == (2, "")
    (line,) = (line for line in outcome.err.splitlines() if line.startswith("dancfr: "))
    assert "no CUDA device is visible to torch" in line
    assert "use --device cpu, or install a CUDA build of torch there" in line
    assert not folder.exists()
