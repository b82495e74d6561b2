"""Bootstrapped cumulative advantages: with nets that fit exactly they are the tables of DCFR+ and PDCFR+."""

from typing import Any

import numpy as np
import pytest
import torch

from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.sequence_form import sequence_form
from learners.deep_cfr.bootstrapped import BootstrappedAdvantageLearner, discount
from learners.networks.settings import NetworkSettings
from learners.settings import TrainingSettings
from learners.storage import ForeignState
from tests.games import TreeGame, kuhn, random_game
from tests.learners.cfr.oracle import PlainCfr, tree_of_table
from tests.learners.dream.test_learners import advantages_of, samples
from tests.trees import Floats, Tree

GAMES = {"kuhn": kuhn(), "ragged": random_game(0)}
NET = NetworkSettings(trunk="flat", width=128, depth=1, norm="none", outputs="action")
EXACT = TrainingSettings(batch=256, minibatches=400, learning_rate=5e-3, anneal=True, clip=100.0)
"""Long enough that a net with a hidden layer has the values of a table at one-hot infostates."""


class Tables:
    """DCFR+ and PDCFR+ (Xu et al. 2024, arXiv 2404.13891) in turn, on tables; the oracle of this file.

    Args:
        tree: The game.
        predictive: PDCFR+.
        alpha, gamma: Exponents of the discount and of the average.
        advantages: Divide the regrets of an infostate by the counterfactual reach probability, as nets see them.
    """

    def __init__(self, tree: Tree, predictive: bool, alpha: float, gamma: float, advantages: bool) -> None:
        self.tree, self.predictive, self.alpha, self.gamma, self.advantages = tree, predictive, alpha, gamma, advantages
        self.policy = tree.uniform()
        self.sums, self.regrets, self.predicted = np.zeros((3, *tree.legal.shape))
        self.played: tuple[list[Floats], list[Floats]] = [], []

    def update(self, t: int, player: int) -> Floats:
        """One iteration of a player; returns its immediate regrets or advantages."""
        own = self.tree.own(player)
        self.played[player].append(self.policy.copy())
        gained = immediate(self.tree, self.policy, player, self.advantages)
        before = (t - 1) ** self.alpha / ((t - 1) ** self.alpha + 1)
        after = t**self.alpha / (t**self.alpha + 1)
        self.sums[own] = before * self.regrets[own] + gained[own]
        self.regrets[own] = np.maximum(self.sums[own], 0)
        self.predicted[own] = after * self.regrets[own] + gained[own]
        self.policy[own] = matched(self.predicted if self.predictive else self.regrets, self.tree)[own]
        return gained

    def average(self) -> Floats:
        weights = np.arange(1.0, len(self.played[0]) + 1) ** self.gamma
        return self.tree.merge(*(self.tree.average(self.played[p], weights, p) for p in (0, 1)))


def matched(regrets: Floats, tree: Tree) -> Floats:
    """Regret matching; uniform where no regret is positive, as in the tabular algorithms."""
    positive = np.where(tree.legal, np.maximum(regrets, 0), 0)
    total = positive.sum(1, keepdims=True)
    return np.where(total > 1e-12, positive / np.where(total > 1e-12, total, 1), tree.uniform())


def immediate(tree: Tree, policy: Floats, player: int, advantages: bool) -> Floats:
    """Immediate counterfactual regrets; as advantages, the mean over the histories of an infostate, and 0 where the
    other player never gets."""
    regrets = tree.counterfactual_advantages(policy, player)
    if not advantages:
        return regrets
    mine = np.flatnonzero(tree.game.player == player)
    reach = np.zeros(len(regrets))
    np.add.at(reach, tree.infostate[mine], tree.reach({1 - player: policy}, chance=True)[mine])
    return regrets / np.where(reach > 0, reach, 1)[:, None]


@pytest.mark.parametrize("name", GAMES)
def test_the_oracle_is_dcfr_plus(name: str) -> None:
    """Discounting after the floor, as the solver does, only scales the input of regret matching."""
    tree = Tree(GAMES[name])
    tables = Tables(tree, predictive=False, alpha=1.5, gamma=4.0, advantages=False)
    whole = tree_of_table(GAMES[name])
    plain = PlainCfr(whole, floor=True, alternating=True, alpha=1.5, gamma=4.0)
    for t in range(1, 21):
        for player in (0, 1):
            tables.update(t, player)
        plain.iterate()
    number = whole.observed.view("<u2").ravel()[whole.slot_infoset]
    np.testing.assert_allclose(tables.policy[number, whole.slot_action], plain.policy, atol=1e-9)
    found = tables.average()[number, whole.slot_action]
    np.testing.assert_allclose(found, plain.average(), atol=1e-9)
    assert evaluate_policy(sequence_form(whole), found).nash_conv == pytest.approx(tree.nash_conv(tables.average()))


@pytest.mark.parametrize("predictive", [False, True], ids=["dcfr+", "pdcfr+"])
def test_the_oracle_converges_on_advantages_too(predictive: bool) -> None:
    tree = Tree(kuhn())
    tables = Tables(tree, predictive, alpha=2.3 if predictive else 1.5, gamma=2.0, advantages=True)
    for t in range(1, 301):
        for player in (0, 1):
            tables.update(t, player)
    assert tree.nash_conv(tables.average()) < 0.01


def learner(
    game: TreeGame, predictive: bool, alpha: float, *, training: TrainingSettings = EXACT, seed: int = 0, **more: Any
) -> BootstrappedAdvantageLearner:
    """A learner whose settings of the training may be changed by name."""
    fields = {key: more.pop(key) for key in list(more) if key in TrainingSettings.model_fields}
    return BootstrappedAdvantageLearner(
        game,
        NET,
        training.model_copy(update=fields),
        predictive=predictive,
        discount_power=alpha,
        seed=seed,
        **more,
    )


CASES = {
    "dcfr+": ("kuhn", False, {}),
    "pdcfr+": ("kuhn", True, {}),
    "fresh nets, merged samples": ("ragged", True, {"warm_start": False, "merge": True}),
    "averaged weights": ("ragged", False, {"weight_average": 30.0, "importance": "full"}),
}


@pytest.mark.parametrize("case", CASES)
def test_exact_nets_have_the_tables_of_the_algorithm(case: str) -> None:
    """Three iterations of both players, with samples whose mean at each infostate is the advantage. The nets learn the
    tables in which negative sums are not cut off yet."""
    torch.set_num_threads(1)
    name, predictive, more = CASES[case]
    game, alpha = GAMES[name], 2.3 if predictive else 1.5
    tree = Tree(game)
    tables = Tables(tree, predictive, alpha, gamma=2.0, advantages=True)
    nets = [learner(game, predictive, alpha, seed=player, **more) for player in (0, 1)]
    for t in range(1, 4):
        for player in (0, 1):
            own = tree.own(player)
            gained = tables.update(t, player)[own]
            noise = np.random.default_rng((t, player)).normal(size=gained.shape)
            rows = samples(game, np.tile(own, 2), np.concatenate([gained + noise, gained - noise]), t)
            nets[player].fit([rows[: len(own)], rows[len(own) :]], t)
            found = advantages_of(nets[player], game)[own]
            expected = (tables.predicted if predictive else tables.sums)[own]
            legal = tree.legal[own]
            np.testing.assert_allclose(found[legal], expected[legal], atol=0.02)


@pytest.mark.parametrize("predictive", [False, True], ids=["dcfr+", "pdcfr+"])
def test_a_restored_learner_continues_bit_for_bit(predictive: bool) -> None:
    game, rng = GAMES["ragged"], np.random.default_rng(3)
    training = TrainingSettings(batch=8, minibatches=5, weight_average=1.0)
    whole, halves = (learner(game, predictive, 1.5, training=training, seed=4) for _ in range(2))
    own = Tree(game).own(0)
    rows = [samples(game, own, rng.normal(size=(len(own), game.spec.num_actions)), t) for t in (1, 2)]
    for each in (whole, halves):
        each.fit([rows[0]], 1)
    restored = learner(game, predictive, 1.5, training=training, seed=5)
    restored.load_state_arrays(*halves.state_arrays())
    for each in (whole, restored):
        each.trainer.seed = 4
        if each.prediction is not None:
            each.prediction.trainer.seed = 4
        each.fit([rows[1]], 2)
    expected, found = whole.weights(), restored.weights()
    assert all(np.array_equal(expected[key], found[key]) for key in expected)
    assert any((expected[key] != halves.weights()[key]).any() for key in expected)


def test_a_state_without_a_prediction_is_refused() -> None:
    plain, predictive = (learner(GAMES["ragged"], each, 1.5) for each in (False, True))
    with pytest.raises(ForeignState, match="no prediction net: it was trained with another bootstrap"):
        predictive.load_state_arrays(*plain.state_arrays())


def test_discounts_of_dcfr_plus() -> None:
    assert [discount(t, 1.5) for t in (1, 4)] == pytest.approx([1 / 2, 8 / 9])
    assert discount(3, 0.0) == 0.5
    assert discount(100_000, 100.0) == 1.0
