"""External sampling: samples are the exact counterfactual advantages on average, and the policies that were played."""

import numpy as np
import pytest

from actors.dream import external_sampling
from actors.dream.external_sampling import ExternalTraverser, TooManyNodes
from actors.dream.traversal import TraversalTask, TraversalWeights
from envs.leduc import Leduc
from learners.networks.settings import NetworkSettings
from learners.samples import unpack_mask
from tests.actors.dream.test_traversal import GAMES, NET, make_weights
from tests.games import sudden_kuhn, unpack
from tests.trees import Tree, net_policy


def traverse(game, traverser: int, games: int, uniform: bool = False, seed: int = 0):
    nets = (None, None) if uniform else (make_weights(game, NET, 1), make_weights(game, NET, 2))
    task = TraversalTask((5, seed), 3, traverser, games)
    stats, block = ExternalTraverser(game, NET).traverse(task, TraversalWeights(2, nets, None))
    tree = Tree(game)
    policy = tree.merge(*(net_policy(tree, NET, net) for net in nets))
    return tree, policy, stats, block


@pytest.mark.parametrize("traverser", [0, 1])
@pytest.mark.parametrize("name", GAMES)
def test_advantages_are_counterfactual_ones_on_average(name: str, traverser: int) -> None:
    """30 chunks of 400 games with a seed each; the mean of every infostate and action within 5 standard errors."""
    game, chunks, games = GAMES[name], 30, 400
    sums, returns = np.zeros((chunks, game.infostates, game.spec.num_actions)), np.zeros(chunks)
    for chunk in range(chunks):
        tree, policy, stats, block = traverse(game, traverser, games, seed=chunk)
        rows = block["advantages"]
        np.add.at(sums[chunk], unpack(rows["infostate"]), rows["advantage"] / games)
        returns[chunk] = stats["returns"]
        assert stats["advantage_rows"] == len(rows)
        assert (rows["log_weight"] == 0).all()
        assert set(rows["iteration"]) == {3}
    exact = tree.counterfactual_advantages(policy, traverser)
    error = sums.std(axis=0, ddof=1) / np.sqrt(chunks)
    assert (np.abs(sums.mean(axis=0) - exact) <= 5 * error + 1e-5).all()
    assert (np.abs(exact) > 20 * error + 1e-3).any()  # so that zeros everywhere would not do
    value = (1 - 2 * traverser) * float(game.chance @ tree.values(policy)[: len(game.chance)])
    error = returns.std(ddof=1) / np.sqrt(chunks)
    assert abs(returns.mean() - value) <= 5 * error
    assert name == "kuhn" or abs(value) > 20 * error  # so that the wrong sign would not do


@pytest.mark.parametrize("traverser", [0, 1])
@pytest.mark.parametrize("name", GAMES)
def test_policies_are_those_of_the_other_player_as_often_as_he_gets_there(name: str, traverser: int) -> None:
    game, games = GAMES[name], 20_000
    tree, policy, _, block = traverse(game, traverser, games)
    rows = block["policies"]
    at = unpack(rows["infostate"])
    assert set(at) <= set(tree.own(1 - traverser))
    np.testing.assert_allclose(rows["policy"], policy[at], atol=1e-6)
    assert np.array_equal(unpack_mask(rows["legal"], game.spec.num_actions), tree.legal[at])
    reach = tree.reach({1 - traverser: policy}, chance=True)  # the traverser goes everywhere
    expected = np.zeros(game.infostates)
    theirs = np.flatnonzero(game.player == 1 - traverser)
    np.add.at(expected, tree.infostate[theirs], reach[theirs])
    most = np.zeros(game.infostates)  # histories of an infostate may be met several times in one game
    np.add.at(most, tree.infostate[theirs], 1)
    found = np.bincount(at, minlength=game.infostates) / games
    assert (np.abs(found - expected) <= 5 * np.sqrt(most * np.maximum(expected, 1e-9) / games)).all()


def test_uniform_play_on_leduc_has_the_value_of_the_game_under_it() -> None:
    from learners.cfr.exact_evaluation import evaluate_policy
    from tests.learners.cfr.oracle import form_of

    game = Leduc()
    net = NetworkSettings(trunk="flat", width=8, depth=1, norm="none", outputs="action")
    task, weights = TraversalTask((7,), 1, 1, 4000), TraversalWeights(0, (None, None), None)
    stats, block = ExternalTraverser(game, net).traverse(task, weights)
    form = form_of(game)
    value = evaluate_policy(form, form.tree.uniform()).value
    assert stats["returns"] == pytest.approx(-value, abs=0.25)  # 5 standard errors
    assert stats["decisions"] == len(block["advantages"]) + len(block["policies"])
    again, same = ExternalTraverser(game, net).traverse(task, weights)
    assert again == stats
    assert all(same[part].tobytes() == block[part].tobytes() for part in block)


def test_a_game_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external_sampling, "MOST_NODES", 1000)
    net = NetworkSettings(trunk="flat", width=8, depth=1, norm="none", outputs="action")
    task, weights = TraversalTask((1,), 1, 0, 200), TraversalWeights(0, (None, None), None)
    with pytest.raises(TooManyNodes, match=r"more than 1,000 decisions in a chunk of 200 games of leduc: lower chunk"):
        ExternalTraverser(Leduc(), net).traverse(task, weights)


def test_games_that_end_before_a_decision_count_with_their_returns() -> None:
    """Uniform players of Kuhn poker win 1/8 a game, and a game that ends immediately brings 1."""
    game, task = sudden_kuhn(), TraversalTask((5, 1), 3, 0, 6000)
    stats, _ = ExternalTraverser(game, NET).traverse(task, TraversalWeights(2, (None, None), None))
    assert stats["endings"][0] == 0
    assert stats["returns"] == pytest.approx(0.25 + 0.75 / 8, abs=0.06)
    alone = ExternalTraverser(game, NET)
    for seed in range(12):  # of chunks of one game, some end immediately
        stats, block = alone.traverse(TraversalTask((seed,), 3, 0, 1), TraversalWeights(2, (None, None), None))
        assert stats["advantage_rows"] == len(block["advantages"])
