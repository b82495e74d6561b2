"""Workers whose nets are on a GPU play the games, and give the samples, of those whose nets are on a CPU.

Both round differently, so a draw may fall on another action once in a million.
"""

from typing import Any

import numpy as np
import pytest

from actors.belief_search import BeliefSampler
from actors.candidate_policy import CandidatePolicyPlayer
from actors.dmc import DmcPlayer
from actors.dream.external_sampling import ExternalTraverser
from actors.dream.traversal import DreamTraverser, TraversalTask, TraversalWeights
from actors.listed_play import SelfPlayTask, SelfPlayWeights
from actors.trajectories import TrajectoryPlayer
from actors.trajectory_tasks import Rival, TrajectoryWeights
from learners.belief_search.settings import SearchSettings
from learners.candidate_policy.learner import CandidatePolicyLearner
from learners.dmc.learner import QLearner
from learners.dream.settings import SamplingSettings
from learners.networks.settings import NetworkSettings
from learners.networks.torch_inference import TorchInference
from learners.networks.torch_q_inference import TorchQInference
from tests.actors.dream.test_traversal import make_weights
from tests.actors.test_belief_search import GAME, TASK
from tests.actors.test_trajectories import MINI, WEIGHTS, fresh, task
from tests.games import kuhn
from tests.learners.belief_search.nets import NETWORK, VALUE, random_weights
from tests.learners.candidate_policy import test_learner as policies
from tests.learners.dmc import test_learner

OUTCOME = NetworkSettings(trunk="conv", width=16, depth=2, norm="layer", outputs="ghost")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The evaluations by torch so far."""
    made: list[str] = []
    for kind, method in (
        (TorchInference, "__call__"),
        (TorchInference, "action_values"),
        (TorchQInference, "__call__"),
    ):
        original = getattr(kind, method)

        def counted(self: Any, *given: Any, original: Any = original, **more: Any) -> Any:
            made.append(type(self).__name__)
            return original(self, *given, **more)

        monkeypatch.setattr(kind, method, counted)
    return made


def check_equal(expected: dict[str, np.ndarray], found: dict[str, np.ndarray]) -> None:
    """The same rows, in which floats may differ by rounding."""
    assert expected.keys() == found.keys()
    for part, rows in expected.items():
        assert len(rows) == len(found[part]) > 0
        for name in rows.dtype.names or ():
            if rows[name].dtype.kind == "f":
                np.testing.assert_allclose(found[part][name], rows[name], rtol=2e-3, atol=2e-3, err_msg=name)
            else:
                np.testing.assert_array_equal(found[part][name], rows[name], err_msg=name)


def test_outcome_sampling(gpu: str, calls: list[str]) -> None:
    nets = make_weights(MINI, OUTCOME, 1), make_weights(MINI, OUTCOME, 2)
    weights = TraversalWeights(2, nets, make_weights(MINI, OUTCOME, 3, views=2, scale=0.4))
    chunk = TraversalTask((4, 5), 3, 1, 40)
    blocks = [
        DreamTraverser(MINI, OUTCOME, OUTCOME, SamplingSettings(), 32, device).traverse(chunk, weights)[1]
        for device in ("cpu", gpu)
    ]
    check_equal(*blocks)
    assert len(calls) > 30, "a batch for each ply of a few games, and the baselines"


def test_external_sampling(gpu: str, calls: list[str]) -> None:
    game, settings = kuhn(), NetworkSettings(trunk="flat", width=16, depth=2, norm="none", outputs="sum")
    weights = TraversalWeights(2, (make_weights(game, settings, 1), make_weights(game, settings, 2)), None)
    chunk = TraversalTask((4, 5), 3, 1, 40)
    check_equal(*(ExternalTraverser(game, settings, device).traverse(chunk, weights)[1] for device in ("cpu", gpu)))
    assert calls


def test_searches_below_belief_states(gpu: str, calls: list[str]) -> None:
    weights = random_weights(GAME)
    players = [BeliefSampler(GAME, NETWORK, VALUE, SearchSettings(), device) for device in ("cpu", gpu)]
    check_equal(*(player.sample(TASK, weights)[1] for player in players))
    assert calls


@pytest.mark.parametrize("former", [False, True])
def test_policy_gradients(gpu: str, calls: list[str], former: bool) -> None:
    weights = WEIGHTS
    if former:
        weights = TrajectoryWeights(
            1, WEIGHTS.network, WEIGHTS.nets, (Rival("former", 7, (fresh(MINI, WEIGHTS.network, 2),)),)
        )
    tables = task((20, (0, 1)), (20, (1, 0))) if former else task((40, (0, 0)))
    players = [TrajectoryPlayer(MINI, 1.0, 0.9, device=device) for device in ("cpu", gpu)]
    check_equal(*(player.play(tables, weights)[1] for player in players))
    assert calls


def test_deep_monte_carlo(gpu: str, calls: list[str]) -> None:
    game, network = test_learner.GAME, test_learner.NET
    weights = SelfPlayWeights(1, QLearner(game, network, test_learner.training(), seed=1).weights())
    players = [DmcPlayer(game, network, 0.1, device=device) for device in ("cpu", gpu)]
    check_equal(*(player.play(SelfPlayTask((1, 2), 64, 32), weights)[1] for player in players))
    assert set(calls) == {"TorchQInference"}


def test_policies_over_proposals(gpu: str, calls: list[str]) -> None:
    game, network = policies.GAME, policies.NET
    weights = SelfPlayWeights(1, CandidatePolicyLearner(game, network, policies.training(), seed=1).weights())
    players = [CandidatePolicyPlayer(game, network, 3, 0.9, device=device) for device in ("cpu", gpu)]
    check_equal(*(player.play(SelfPlayTask((1, 2), 64, 32), weights)[1] for player in players))
    assert set(calls) == {"TorchQInference"}
