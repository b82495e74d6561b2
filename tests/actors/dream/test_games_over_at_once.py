"""Games that chance may end before the first decision, and in which one player never moves."""

import numpy as np
import pytest
import torch

from actors.dream.external_sampling import ExternalTraverser
from actors.dream.traversal import DreamTraverser, SamplingSettings, TraversalTask, TraversalWeights
from actors.trajectories import TrajectoryPlayer
from actors.trajectory_tasks import LEARNER, TrajectoryTask, TrajectoryWeights
from learners.deep_cfr.advantage import AdvantageLearner
from learners.deep_cfr.bootstrapped import BootstrappedAdvantageLearner
from learners.networks.settings import NetworkSettings
from learners.policy_gradient.network import policy_net
from learners.settings import TrainingSettings
from tests.actors.dream.test_traversal import BASELINE, NET
from tests.games import TreeGame

NATURAL = TreeGame(
    "natural",
    chance=np.array([0.5, 0.5]),
    player=np.array([-1, 0, -1, -1], np.int8),
    children=np.array([[-1, -1], [2, 3], [-1, -1], [-1, -1]], np.int32),
    payoff=np.array([1.0, 0.0, -1.0, 0.5], np.float32),
    observation=np.array([[0, 1], [2, 3], [4, 5], [6, 7]], np.int16),
)
"""In half of the games player 0 wins immediately; in the others he chooses between -1 and 0.5. Player 1 never moves."""

UNIFORM = TraversalWeights(0, (None, None), None)
VALUE = 0.5 * 1 + 0.5 * -0.25


@pytest.mark.parametrize("slots", [4, 4096])
@pytest.mark.parametrize("baseline", [None, BASELINE], ids=["without", "baseline"])
def test_outcome_sampling_counts_them_and_makes_no_rows_of_them(slots: int, baseline: NetworkSettings | None) -> None:
    worker = DreamTraverser(NATURAL, NET, baseline, SamplingSettings(epsilon=0.5), slots, policies=True)
    stats, block = worker.traverse(TraversalTask((1, 2), 1, 0, 4000), UNIFORM)
    assert stats["endings"] == [0, 4000]
    assert stats["returns"] == pytest.approx(VALUE, abs=0.06)
    assert stats["decisions"] == len(block["advantages"]) == pytest.approx(2000, abs=160)
    assert len(block["policies"]) == 0
    assert {int(row[0]) for row in block["advantages"]["infostate"]} == {2}
    stats, block = worker.traverse(TraversalTask((1, 2), 1, 1, 4000), UNIFORM)
    assert len(block["advantages"]) == 0
    assert len(block["policies"]) == stats["decisions"]


def test_external_sampling_counts_them_too() -> None:
    for traverser, value in ((0, VALUE), (1, -VALUE)):
        stats, block = ExternalTraverser(NATURAL, NET).traverse(TraversalTask((1, 2), 1, traverser, 4000), UNIFORM)
        assert stats["endings"][0] == 0
        assert stats["returns"] == pytest.approx(value, abs=0.06)
        assert len(block["advantages" if traverser == 0 else "policies"]) == stats["decisions"]
        assert len(block["policies" if traverser == 0 else "advantages"]) == 0


def test_external_sampling_of_a_chunk_without_a_decision() -> None:
    one = next(seed for seed in range(20) if NATURAL.reset(1, np.random.default_rng((seed,)))["node"][0] == 0)
    stats, block = ExternalTraverser(NATURAL, NET).traverse(TraversalTask((one,), 1, 0, 1), UNIFORM)
    assert (stats["decisions"], stats["returns"], stats["endings"]) == (0, 1.0, [0, 1])
    assert [len(rows) for rows in block.values()] == [0, 0]


def test_policy_gradients_learn_from_decisions_alone() -> None:
    torch.manual_seed(1)
    network = NetworkSettings(trunk="flat", width=8, depth=1, outputs="action")
    weights = TrajectoryWeights(1, network, (policy_net(network, NATURAL.spec).inference_weights(),))
    player = TrajectoryPlayer(NATURAL, 0.99, 0.9)
    stats, block = player.play(TrajectoryTask((1, 1, 1), ((4000, (LEARNER, LEARNER)),)), weights)
    rows = block["net0"]
    assert len(rows) == pytest.approx(2000, abs=160)
    assert {int(row[0]) for row in rows["infostate"]} == {2}
    assert set(rows["action"].tolist()) == {0, 1}
    assert stats["decisions"] == len(rows)


@pytest.mark.parametrize("bootstrapped", [False, True])
def test_a_net_of_a_player_who_never_moves_stays_as_it_is(bootstrapped: bool) -> None:
    training = TrainingSettings(batch=8, minibatches=2)
    learner = (
        BootstrappedAdvantageLearner(NATURAL, NET, training, predictive=True, discount_power=1.0)
        if bootstrapped
        else AdvantageLearner(NATURAL, NET, training, merge=True)
    )
    before = learner.weights()
    metrics = learner.fit([], 1)
    assert (metrics["loss"], metrics["rows"]) == (0, 0)
    assert all((array == before[name]).all() for name, array in learner.weights().items())
