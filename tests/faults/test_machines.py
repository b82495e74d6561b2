"""A machine of the cluster is lost, and another one joins."""

import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.cluster.nodes import Nodes, copy_tree, end, wait_for
from tests.faults.training import SHORT, assert_as_if_undisturbed, rows

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    """A head without CPUs of its own, and two workers with one each."""
    cluster = Nodes(tmp_path, workers=2)
    yield cluster
    cluster.stop()


def players(nodes: Nodes) -> dict[str, float]:
    """Actors that play: their ids, and when they were made."""
    answer = nodes.ask("/api/v0/actors?detail=true&limit=1000", nodes.token)
    actors = answer.json()["data"]["result"]["result"]
    playing = [a for a in actors if a["state"] == "ALIVE" and a.get("required_resources", {}).get("CPU", 0) >= 1]
    return {actor["actor_id"]: actor["node_id"] for actor in playing}


def test_a_machine_is_lost_and_another_one_joins(nodes: Nodes, longer_calm: Path, tmp_path: Path) -> None:
    folder = nodes.home / "dancfr-runs" / "lost"
    tree = copy_tree(tmp_path / "tree")
    words = ("--run-dir", "lost", "--workers", "2", "--wandb", "off", "--working-dir", str(tree))
    job = nodes.result("submit", "geister-quick", *SHORT, "iterations=2000", *words, "--no-follow")["job"]

    def reached() -> int:
        return max((row["iteration"] for row in rows(folder, "train")), default=0)

    wait_for(lambda: reached() >= 4, 300, "four iterations")
    lost = nodes.started.pop()
    end([psutil.Process(lost.pid), *psutil.Process(lost.pid).children(recursive=True)])
    begin, at = time.monotonic(), reached()
    wait_for(lambda: reached() >= at + 2, 60, "iterations without the machine")
    alone = time.monotonic() - begin
    known = set(players(nodes))
    nodes.add("127.0.0.9")
    begin = time.monotonic()
    wait_for(lambda: set(players(nodes)) - known, 60, "a worker on the new machine")
    joined = time.monotonic() - begin
    at = reached()
    wait_for(lambda: reached() >= at + 2, 60, "iterations with the new machine")
    assert nodes.result("jobs", "stop", job)["status"] == "STOPPED"
    print(f"two iterations {alone:.1f} s after the loss; a worker on the new machine {joined:.1f} s after it joined")
    assert alone < 30
    assert joined < 30
    assert rows(folder, "train")[-1]["workers/died"] >= 1
    assert_as_if_undisturbed(folder, longer_calm)
