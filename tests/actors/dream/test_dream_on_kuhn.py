"""DREAM as a whole on Kuhn poker, without the program around it: its average policy comes near an equilibrium."""

import numpy as np
import pytest
import torch

from actors.dream.traversal import DreamTraverser, TraversalTask, TraversalWeights
from learners.buffers import CircularBuffer, ReservoirBuffer
from learners.deep_cfr.advantage import AdvantageLearner
from learners.dream.baseline import BaselineLearner
from learners.dream.settings import SamplingSettings
from learners.networks.settings import NetworkSettings, Weights
from learners.samples import advantage_dtype, transition_dtype
from learners.settings import TrainingSettings
from tests.games import kuhn
from tests.trees import Tree, net_policy

NET = NetworkSettings(trunk="flat", width=32, depth=2, norm="layer", outputs="action")
BATCH = 256
UNIFORM = 0.9167  # NashConv of uniform play


def train(*, iterations: int, warm_start: bool, importance: str, baseline: bool, seed: int) -> list[list[Weights]]:
    """Both players in turn, 300 traversals each at epsilon 0.5, unbounded; the advantage nets of every iteration."""
    game, rng = kuhn(), np.random.default_rng(seed)
    worker = DreamTraverser(game, NET, NET if baseline else None, SamplingSettings(epsilon=0.5))
    training = TrainingSettings(batch=BATCH, warm_start=warm_start)
    advantage = [AdvantageLearner(game, NET, training, importance=importance, seed=2 * p) for p in (0, 1)]
    values = [BaselineLearner(game, NET, TrainingSettings(batch=BATCH), seed=2 * p + 1) for p in (0, 1)]
    reservoirs = [ReservoirBuffer(100_000, advantage_dtype(game.spec)) for _ in (0, 1)]
    rings = [CircularBuffer(20_000, transition_dtype(game.spec)) for _ in (0, 1)]
    nets: list[list[Weights]] = [[], []]
    baselines: list[Weights | None] = [None, None]
    for t in range(1, iterations + 1):
        for player in (0, 1):
            current = tuple(own[-1] if own else None for own in nets)
            task = TraversalTask((seed, t, player), t, player, 300)
            _, block = worker.traverse(task, TraversalWeights(t - 1, current, baselines[player]))
            reservoirs[player].add(block["advantages"], rng)
            advantage[player].fit((reservoirs[player].sample(BATCH, rng) for _ in range(100)), t)
            nets[player].append(advantage[player].weights())
            if baseline:
                rings[player].add(block["transitions"], rng)
                values[player].fit((rings[player].sample(BATCH, rng) for _ in range(30)), t)
                baselines[player] = values[player].weights()
    return nets


def nash_conv(nets: list[list[Weights]]) -> float:
    tree = Tree(kuhn())
    averages = []
    for player, own in enumerate(nets):
        policies = [net_policy(tree, NET, weights) for weights in own]
        averages.append(tree.average(policies, np.arange(1.0, len(own) + 1), player))
    return tree.nash_conv(tree.merge(*averages))


@pytest.mark.parametrize(
    ("warm_start", "importance", "baseline", "bound"),
    [(True, "none", True, 0.2), (False, "full", True, 0.2), (True, "full", False, 0.25)],
    ids=["warm", "reference", "no-baseline"],
)
def test_the_average_policy_comes_near_an_equilibrium(warm_start, importance, baseline, bound):
    torch.set_num_threads(1)
    tree = Tree(kuhn())
    assert tree.nash_conv(tree.uniform()) == pytest.approx(UNIFORM, abs=1e-4)
    nets = train(iterations=12, warm_start=warm_start, importance=importance, baseline=baseline, seed=1)
    assert nash_conv(nets) < bound
