"""Every learner on a GPU: it learns the same as on a CPU, resumes from a checkpoint, and waits for the device once a
fit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from actors.belief_search import BeliefSampler
from actors.data_parallel import start_learner
from actors.dream.external_sampling import ExternalTraverser
from actors.dream.traversal import DreamTraverser, TraversalTask, TraversalWeights
from actors.listed_play import SelfPlayTask, SelfPlayWeights
from actors.runtime import InlineRuntime
from actors.trajectories import TrajectoryPlayer
from actors.trajectory_tasks import TrajectoryWeights
from learners.belief_search.settings import SearchSettings
from learners.belief_search.value import ValueLearner
from learners.belief_search.view import BeliefGeister
from learners.candidate_policy.learner import CandidatePolicyLearner
from learners.deep_cfr.advantage import AdvantageLearner
from learners.deep_cfr.average_policy import AveragePolicyLearner
from learners.devices import be_deterministic, choose_device
from learners.dmc.learner import QLearner
from learners.dream.baseline import BaselineLearner
from learners.dream.settings import SamplingSettings
from learners.networks.settings import NetworkSettings
from learners.policy_gradient.learner import PolicyLearner
from learners.policy_gradient.settings import PolicyTrainingSettings
from learners.settings import TrainingSettings
from learners.value_functions.learner import RangeValueLearner
from learners.value_functions.limit import Limit
from tests.actors import test_belief_search as beliefs
from tests.actors.test_trajectories import MINI, NET, fresh, task
from tests.games import kuhn
from tests.learners.belief_search.nets import NETWORK, VALUE, random_weights
from tests.learners.candidate_policy import test_learner as choices
from tests.learners.dmc import test_learner as dmc
from tests.learners.value_functions import test_learner as values

CONV = NetworkSettings(trunk="conv", width=16, depth=2, norm="batch", outputs="move")
UNDONE = "hidden1.b"
"""Of `CONV`: batch normalisation removes the effect of this bias on a unit that all rows activate. The gradient is
then rounding alone, which Adam scales to the size of any other."""
BATCH = 64
FIT = TrainingSettings(batch=BATCH, learning_rate=1e-3, clip=1.0, weight_average=2.0)

Make = Callable[..., Any]


def traversed(part: str) -> np.ndarray:
    worker = DreamTraverser(MINI, CONV, CONV, SamplingSettings())
    return worker.traverse(TraversalTask((1,), 1, 0, 40), TraversalWeights(0, (None, None), None))[1][part]


def policies() -> np.ndarray:
    chunk = TraversalTask((1,), 1, 0, 40)
    return ExternalTraverser(kuhn(), NET).traverse(chunk, TraversalWeights(0, (None, None), None))[1]["policies"]


def searched() -> np.ndarray:
    sampler = BeliefSampler(beliefs.GAME, NETWORK, VALUE, SearchSettings())
    return sampler.sample(beliefs.TASK, random_weights(beliefs.GAME))[1]["values"]


def chosen() -> np.ndarray:
    learner = CandidatePolicyLearner(choices.GAME, choices.NET, choices.training(), seed=1)
    return choices.player(trace=0.9).play(SelfPlayTask((1,), 200, 64), SelfPlayWeights(0, learner.weights()))[1][
        "values"
    ]


def played() -> np.ndarray:
    weights = TrajectoryWeights(0, NET, (fresh(MINI, NET, 1),))
    return TrajectoryPlayer(MINI, 1.0, 0.9).play(task((40, (0, 0))), weights)[1]["net0"]


LEARNERS: dict[str, tuple[Make, Callable[[], np.ndarray]]] = {
    "advantage": (lambda **more: AdvantageLearner(MINI, CONV, FIT, **more), lambda: traversed("advantages")),
    "baseline": (lambda **more: BaselineLearner(MINI, CONV, FIT, **more), lambda: traversed("transitions")),
    "average policy": (
        lambda **more: AveragePolicyLearner(kuhn(), NetworkSettings(width=16, outputs="action"), FIT, **more),
        policies,
    ),
    "belief value": (lambda **more: ValueLearner(BeliefGeister.of(beliefs.GAME), VALUE, FIT, **more), searched),
    "range value": (
        lambda **more: RangeValueLearner(values.GAME, Limit.parse(values.LIMIT), values.NETWORK, FIT, "huber", **more),
        lambda: values.samples(20),
    ),
    "q": (
        lambda **more: QLearner(dmc.GAME, dmc.NET, dmc.training(staleness=None, batch=BATCH), **more),
        lambda: dmc.uniform_rows(400),
    ),
    "choice": (
        lambda **more: CandidatePolicyLearner(choices.GAME, choices.NET, choices.training(batch=BATCH), **more),
        chosen,
    ),
    "policy": (
        lambda **more: PolicyLearner(MINI, NET, PolicyTrainingSettings(batch=BATCH, magnet=0.1), **more),
        played,
    ),
}


def blocks(rows: np.ndarray, batches: int) -> list[np.ndarray]:
    """That many minibatches."""
    return [rows[np.random.default_rng(number).integers(0, len(rows), BATCH)] for number in range(batches)]


@pytest.mark.parametrize("name", LEARNERS)
def test_it_learns_what_it_learns_on_a_cpu(name: str, gpu: str) -> None:
    make, sample = LEARNERS[name]
    rows = sample()
    cpu, other = (make(device=choose_device(device), seed=3) for device in ("cpu", gpu))
    for iteration in (1, 2):
        expected, found = (learner.fit(blocks(rows, 5), iteration) for learner in (cpu, other))
        assert found["rows"] == expected["rows"] > 0
        assert found["loss"] == pytest.approx(expected["loss"], rel=5e-3, abs=1e-4)
    for key, array in cpu.weights().items():
        if key != UNDONE or name not in ("advantage", "baseline"):
            np.testing.assert_allclose(other.weights()[key], array, atol=5e-3, err_msg=key)


@pytest.mark.parametrize("name", LEARNERS)
def test_it_goes_on_from_a_checkpoint(name: str, gpu: str) -> None:
    """Also on the other kind of device."""
    make, sample = LEARNERS[name]
    rows = sample()
    first = make(device=choose_device(gpu), seed=3)
    first.fit(blocks(rows, 3), 1)
    arrays, meta = first.state_arrays()
    second, third = (make(device=choose_device(device), seed=4) for device in (gpu, "cpu"))
    losses = []
    for learner in (first, second, third):
        if learner is not first:
            learner.load_state_arrays(arrays, meta)
        losses.append(learner.fit(blocks(rows, 3), 2)["loss"])
    assert losses[1:] == pytest.approx([losses[0]] * 2, rel=5e-3, abs=1e-4)


@pytest.mark.parametrize("name", LEARNERS)
def test_no_step_waits_for_the_device(name: str, gpu: str, waits: Callable[[], int]) -> None:
    """Twelve minibatches wait no more often than two."""
    make, sample = LEARNERS[name]
    rows, learner = sample(), make(device=choose_device(gpu), seed=3)
    learner.fit(blocks(rows, 2), 1)
    counts = [waits()]
    for batches in (2, 12):
        learner.fit(blocks(rows, batches), 2)
        counts.append(waits())
    assert counts[2] - counts[1] == counts[1] - counts[0] > 0


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.usefixtures("any_algorithms")
def test_deterministic_fits_are_equal_bit_for_bit(name: str, gpu: str) -> None:
    """Of two learners; otherwise a GPU adds up the gradients of shared outputs in any order."""
    be_deterministic()
    make, sample = LEARNERS[name]
    rows = sample()
    first, second = (make(device=choose_device(gpu), seed=3) for _ in range(2))
    for iteration in (1, 2):
        losses = [learner.fit(blocks(rows, 5), iteration)["loss"] for learner in (first, second)]
        assert losses[0] == losses[1]
    for key, array in first.weights().items():
        np.testing.assert_array_equal(second.weights()[key], array, err_msg=key)


@pytest.mark.usefixtures("any_algorithms")
def test_a_learner_is_deterministic_on_request(gpu: str) -> None:
    runtime = InlineRuntime()
    for deterministic in (False, True):
        torch.use_deterministic_algorithms(False)
        arguments = {"game": MINI, "network": CONV, "training": FIT, "seed": 3}
        start_learner(runtime, AdvantageLearner, {0: arguments}, gpu, name="learner", deterministic=deterministic)
        assert torch.are_deterministic_algorithms_enabled() == deterministic
