"""Learners of one player each compute and store the same as one server of all players, and fit at the same time."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actors.buffer import BufferServer
from actors.data_parallel import LearnerGroup, start_learner
from actors.dream.traversal import DreamTraverser, TraversalTask, TraversalWeights
from actors.learner_per_player import LearnerPerPlayer
from actors.learning import LearnerServer
from actors.remote import Handle, InlineRuntime, RayRuntime, WorkerDied
from learners.buffers import CircularBuffer
from learners.dream.baseline import BaselineLearner
from learners.dream.settings import SamplingSettings
from learners.networks.settings import NetworkSettings
from learners.settings import TrainingSettings
from learners.storage import ForeignState
from tests.games import kuhn

GAME = kuhn()
NET = NetworkSettings(trunk="flat", width=32, depth=2, norm="layer", outputs="action")


def players(*, minibatches: int = 20, count: int = 2) -> dict[int, dict[str, Any]]:
    training = TrainingSettings(batch=101, minibatches=minibatches)
    return {p: {"game": GAME, "network": NET, "training": training, "seed": p} for p in range(count)}


def start(runtime: Any, given: dict[int, dict[str, Any]], **more: Any) -> Handle[LearnerServer]:
    options: dict[str, Any] = {"name": "learner", "apart": True, "cpus": 0} | more
    return start_learner(runtime, BaselineLearner, given, "cpu", **options)


def filled(runtime: Any) -> Handle[BufferServer]:
    """A buffer with transitions of Kuhn poker."""
    worker = DreamTraverser(GAME, NET, NET, SamplingSettings(epsilon=0.5))
    _, block = worker.traverse(TraversalTask((1, 1, 0), 3, 0, 500), TraversalWeights(0, (None, None), None))
    rows = block["transitions"]
    buffer: Handle[BufferServer] = runtime.start(BufferServer, CircularBuffer, len(rows), rows.dtype, cpus=0)
    runtime.get(buffer.call(BufferServer.add, (0,), rows, (0,)))
    return buffer


def test_they_compute_and_store_what_a_single_server_does(ray_module: RayRuntime, tmp_path: Path) -> None:
    apart, inline = start(ray_module, players()), InlineRuntime()
    assert isinstance(apart, LearnerPerPlayer)
    one = start(inline, players())
    assert not isinstance(one, LearnerPerPlayer), "without Ray there is one process"
    theirs, ours = filled(ray_module), filled(inline)

    def fit_all(t: int) -> None:
        fits = [apart.call_pair(LearnerServer.fit, p, t, theirs, (7, t, p)) for p in (0, 1)]
        for p, (metrics, weights) in enumerate(fits):
            expected = inline.get(list(one.call_pair(LearnerServer.fit, p, t, ours, (7, t, p))))
            assert ray_module.get(metrics)["loss"] == expected[0]["loss"]
            found = ray_module.get(weights)
            assert all(np.array_equal(found[name], array) for name, array in expected[1].items())

    fit_all(1)
    ray_module.get(apart.call(LearnerServer.save, str(tmp_path / "apart")))
    inline.get(one.call(LearnerServer.save, str(tmp_path / "one")))
    assert (tmp_path / "apart").read_bytes() == (tmp_path / "one").read_bytes()
    saved = inline.get(one.call(LearnerServer.weights, 1))
    fit_all(2)
    for path in (tmp_path / "one", tmp_path / "apart"):  # each reads the other's file
        ray_module.get(apart.call(LearnerServer.load, str(path)))
        inline.get(one.call(LearnerServer.load, str(path)))
        found = ray_module.get(apart.call(LearnerServer.weights, 1))
        assert all(np.array_equal(found[name], array) for name, array in saved.items())
        fit_all(3)


def test_a_short_fit_does_not_wait_for_the_long_one_of_another_player(ray_runtime: RayRuntime) -> None:
    given = {0: players(minibatches=10**6)[0], 1: players()[1]}
    learner = start(ray_runtime, given)
    buffer = filled(ray_runtime)
    long, _ = learner.call_pair(LearnerServer.fit, 0, 1, buffer, (7, 1))
    short, _ = learner.call_pair(LearnerServer.fit, 1, 1, buffer, (7, 2))
    assert ray_runtime.wait([long, short], 1, 60) == [short]
    assert ray_runtime.wait([long], 1, 0.0) == []


@pytest.mark.parametrize(("count", "held"), [(1, "0"), (3, "0, 1, 2")])
def test_files_of_other_players_are_refused(ray_runtime: RayRuntime, tmp_path: Path, count: int, held: str) -> None:
    path, inline = str(tmp_path / "learner"), InlineRuntime()
    inline.get(start(inline, players(count=count)).call(LearnerServer.save, path))
    with pytest.raises(ForeignState, match=f"learners of players {held}, expected players 0, 1"):
        ray_runtime.get(start(ray_runtime, players()).call(LearnerServer.load, path))


def test_learners_that_cannot_be_made_or_are_gone_are_told(ray_runtime: RayRuntime) -> None:
    given = players()
    broken = start(ray_runtime, {0: given[0], 1: given[1] | {"seed": "no seed"}})
    with pytest.raises((TypeError, ValueError)):
        ray_runtime.get(broken.ready())
    learner = start(ray_runtime, given)
    assert isinstance(learner, LearnerPerPlayer)
    ray_runtime.get(learner.ready())
    ray_runtime.stop(learner.servers[1])
    with pytest.raises(WorkerDied, match="learner-1"):
        ray_runtime.get(learner.call(LearnerServer.weights, 1), timeout=30)
    assert ray_runtime.get(learner.call(LearnerServer.weights, 0))


def test_they_share_the_cpus_of_a_learner(ray_runtime: RayRuntime) -> None:
    learner = start(ray_runtime, players(), cpus=0.5)
    assert isinstance(learner, LearnerPerPlayer)
    assert [cpus for _, cpus, _ in ray_runtime._handles.values()] == [0.25, 0.25]


def test_learners_that_train_every_net_together_stay_together(ray_runtime: RayRuntime) -> None:
    assert isinstance(start(ray_runtime, players(), learners=2), LearnerGroup)
