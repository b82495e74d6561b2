"""Players by a table: they play its probabilities in every game, and report unknown infosets."""

import numpy as np
import pytest
from scipy.stats import chi2

from envs.goofspiel import Goofspiel
from envs.kuhn import Kuhn
from envs.leduc import Leduc
from envs.oshi_zumo import OshiZumo
from learners.cfr.agent import TabularAgent, UnknownInfostate
from learners.cfr.exact_evaluation import evaluate_policy
from tests.envs.small_trees import tree_of
from tests.learners.cfr.oracle import LEDUC_2B2R, form_of

GAMES = (Kuhn(), Kuhn(cards=5), Leduc(), LEDUC_2B2R, Goofspiel(4), Goofspiel(3, prizes="random"), OshiZumo(8, size=1))


def random_policy(tree, seed):
    """Probabilities of both players by slot, a quarter of them 0 where another action is left."""
    rng = np.random.default_rng(seed)
    weight = rng.exponential(size=tree.num_slots)
    kept = weight * (rng.random(tree.num_slots) > 1 / 4)
    starts, infoset = tree.slots[:-1], tree.slot_infoset
    weight = np.where(np.add.reduceat(kept, starts)[infoset] > 0, kept, weight)
    return weight / np.add.reduceat(weight, starts)[infoset]


def shuffled(tree, policy, seed=0):
    """The agent of a policy whose infostates come in any order."""
    order = np.random.default_rng(seed).permutation(len(tree.player))
    return TabularAgent(tree.observed[order], tree.to_table(policy)[order], "table")


@pytest.mark.parametrize("game", GAMES, ids=lambda game: f"{game.spec.name}-{game.spec.num_actions}")
def test_a_policy_on_a_tree_comes_back_from_its_table(game):
    tree = tree_of(game)
    policy = random_policy(tree, 1)
    np.testing.assert_array_equal(shuffled(tree, policy).tree_policy(tree), policy)


@pytest.mark.parametrize("game", [Kuhn(), Leduc(), Goofspiel(3, prizes="random")], ids=lambda game: game.spec.name)
def test_actions_are_as_frequent_as_the_table_says_and_earn_its_value(game):
    """Counts of each action at each infoset by chi-square, and the mean return within 4.5 standard errors."""
    tree, games, rng = tree_of(game), 40_000, np.random.default_rng(2)
    policy = random_policy(tree, 3)
    agent = shuffled(tree, policy)
    agent.begin(game, games, rng)
    counts, states = np.zeros(tree.to_table(policy).shape), game.reset(games, rng)
    rows = {row.tobytes(): infoset for infoset, row in enumerate(tree.observed)}
    while len(running := np.flatnonzero(~game.finished(states))):
        part = states[running]
        actions = agent.act(part, running, rng)
        at = [rows[row.tobytes()] for row in game.observe(part, game.to_move(part))]
        np.add.at(counts, (at, actions), 1)
        game.step(part, actions, rng)
        states[running] = part
    expected = tree.to_table(policy) * counts.sum(axis=1, keepdims=True)
    assert (counts[expected == 0] == 0).all()
    cells = expected > 5
    freedom = cells.sum() - cells.any(axis=1).sum()
    assert freedom >= 5
    assert chi2.sf((np.square(counts - expected)[cells] / expected[cells]).sum(), freedom) > 1e-4
    earned = game.returns(states)[:, 0]
    value = evaluate_policy(form_of(game), policy).value
    assert abs(earned.mean() - value) < 4.5 * earned.std() / np.sqrt(games)


def test_the_generator_decides_what_is_played():
    game = Leduc()
    tree = tree_of(game)
    agent = shuffled(tree, tree.uniform())
    states = game.reset(200, np.random.default_rng(0))
    agent.begin(game, 200, np.random.default_rng(0))
    first, again, other = (agent.act(states, np.arange(200), np.random.default_rng(seed)) for seed in (4, 4, 5))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_infostates_that_end_in_zeros_are_told_apart():
    """NumPy's texts of bytes drop zeros at their end."""
    observed = np.array([[1, 0, 0], [1, 0, 1], [0, 0, 0], [0, 1, 0]], np.uint8)
    agent = TabularAgent(observed, np.eye(4))
    sorted_rows = agent.find(observed)
    assert sorted(sorted_rows) == [0, 1, 2, 3]
    with pytest.raises(UnknownInfostate, match="tabular has no policy for infostate 000001"):
        agent.find(np.array([[1, 0, 0], [0, 0, 1]], np.uint8))


def test_an_infostate_that_is_not_in_the_table_is_named():
    small, large = tree_of(Kuhn()), tree_of(Kuhn(cards=4))
    agent = TabularAgent(small.observed, small.to_table(small.uniform()), "kuhn of 3 cards")
    with pytest.raises(UnknownInfostate, match="kuhn of 3 cards has no policy for infostate 0003ffffff"):
        agent.tree_policy(large)


def test_tables_that_say_nothing_clear_are_refused():
    observed, table = np.array([[1], [2], [1]], np.uint8), np.full((3, 2), 0.5)
    with pytest.raises(ValueError, match=r"twice: .* twice"):
        TabularAgent(observed, table, "twice")
    with pytest.raises(ValueError, match=r"short: .*\[3, 1\].*\[2, 2\]"):
        TabularAgent(observed, table[:2], "short")
    with pytest.raises(ValueError, match=r"flat: .*\[3\]"):
        TabularAgent(observed[:, 0], table, "flat")
