"""The net of the average: it learns the weighted mean of the policies it is shown, and plays it."""

import numpy as np
import pytest

from envs.kuhn import Kuhn
from envs.leduc import Leduc
from learners.deep_cfr.average_agent import AveragePolicyAgent
from learners.deep_cfr.average_policy import AveragePolicyLearner
from learners.networks.settings import NetworkSettings
from learners.samples import pack_mask, policy_dtype
from learners.settings import TrainingSettings
from tests.envs.small_trees import tree_of

NET = NetworkSettings(trunk="flat", width=32, depth=2, norm="none", outputs="action")


def samples(tree, policies: list[np.ndarray], spec) -> np.ndarray:
    """Every infoset once with each policy, `float64[S]`, which stands for an iteration."""
    legal = tree.legal()
    rows = np.zeros((len(policies), len(legal)), policy_dtype(spec))
    for t, policy in enumerate(policies, start=1):
        rows[t - 1]["infostate"] = tree.observed
        rows[t - 1]["policy"] = tree.to_table(policy)
        rows[t - 1]["legal"] = pack_mask(legal)
        rows[t - 1]["iteration"] = t
    return rows.ravel()


def random_policy(tree, rng: np.random.Generator) -> np.ndarray:
    weight = rng.exponential(size=tree.num_slots)
    return weight / np.add.reduceat(weight, tree.slots[:-1])[tree.slot_infoset]


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_it_learns_the_weighted_mean(power: float) -> None:
    game, rng = Kuhn(), np.random.default_rng(1)
    tree = tree_of(game)
    policies = [random_policy(tree, rng) for _ in range(3)]
    rows = samples(tree, policies, game.spec)
    training = TrainingSettings(batch=len(rows), warm_start=False, learning_rate=1e-2)
    learner = AveragePolicyLearner(game, NET, training, iteration_power=power, seed=3)
    metrics = learner.fit((rows for _ in range(600)), 3)
    assert metrics["rows"] == 600 * len(rows)
    agent = AveragePolicyAgent(game, NET, {0: learner.weights(), 1: learner.weights()})
    weights = np.arange(1.0, 4.0) ** power
    wanted = sum(w * p for w, p in zip(weights, policies, strict=True)) / weights.sum()
    found = agent.tree_policy(tree)
    assert found == pytest.approx(wanted, abs=0.02)
    assert np.add.reduceat(found, tree.slots[:-1]) == pytest.approx(1, abs=1e-12)


def test_it_plays_what_it_says() -> None:
    game, rng = Leduc(), np.random.default_rng(2)
    tree = tree_of(game)
    rows = samples(tree, [random_policy(tree, rng)], game.spec)
    learner = AveragePolicyLearner(game, NET, TrainingSettings(batch=512, warm_start=False), seed=1)
    learner.fit((rows for _ in range(20)), 1)
    agent = AveragePolicyAgent(game, NET, {0: learner.weights(), 1: learner.weights()})
    agent.begin(game, 20_000, rng)
    states = game.reset(1, rng)
    infoset = int(np.flatnonzero((tree.observed == game.observe(states, np.zeros(1, np.int8))).all(1))[0])
    wanted = tree.to_table(agent.tree_policy(tree))[infoset]
    actions = agent.act(np.repeat(states, 20_000), np.arange(20_000), rng)
    shares = np.bincount(actions, minlength=3) / 20_000
    assert (np.abs(shares - wanted) <= 5 * np.sqrt(wanted * (1 - wanted) / 20_000)).all()


def test_a_player_without_a_net_is_named() -> None:
    with pytest.raises(ValueError, match="no average-policy net yet for player 0: one is trained at each evaluation"):
        AveragePolicyAgent(Kuhn(), NET, {})


def test_the_tree_of_another_game_is_named() -> None:
    net = AveragePolicyLearner(Kuhn(), NET, TrainingSettings()).weights()
    told = "run x was made for infostates of kuhn of 5 bytes, but those of this tree of leduc have 11"
    with pytest.raises(ValueError, match=told):
        AveragePolicyAgent(Kuhn(), NET, {0: net, 1: net}, "run x").tree_policy(tree_of(Leduc()))
