"""Traversals by history values (ESCHER), and samples of the average policy from outcome sampling."""

import numpy as np
import pytest

from actors.dream.traversal import DreamTraverser, SamplingSettings, TraversalTask, TraversalWeights
from learners.networks.inference import Inference, action_values
from learners.samples import unpack_mask
from tests.actors.dream.test_traversal import BASELINE, GAMES, NET, behaviour, make_weights
from tests.games import TreeGame, pack, unpack
from tests.trees import Floats, Tree, net_policy

ESCHER = SamplingSettings(epsilon=1.0, estimator="history")
CHUNKS, PLAYED = 30, 300


def history_values(tree: Tree, weights) -> Floats:
    """Q(h, a) of the acting player by the net, at every node where one moves, `[N, A]`."""
    game, nodes = tree.game, tree.decisions
    mover = game.player[nodes]
    actor, other = (pack(game.observation[nodes, who]) for who in (mover, 1 - mover))
    outputs = Inference(BASELINE, [weights])([game.encode(view)[None] for view in (actor, other)])
    values = np.zeros((1, len(nodes), game.spec.num_actions), np.float32)
    action_values(outputs, game.output_slots(actor, BASELINE.outputs, other), game.children[nodes] >= 0, values)
    found = np.zeros(game.children.shape)
    found[nodes] = values[0]
    return found


def play(game: TreeGame, traverser: int, sampling: SamplingSettings, seed: int, games: int = PLAYED):
    nets = make_weights(game, NET, 1), make_weights(game, NET, 2)
    values = make_weights(game, BASELINE, 3, views=2, scale=0.4)
    worker = DreamTraverser(game, NET, BASELINE, sampling, policies=True)
    _, block = worker.traverse(TraversalTask((9, seed), 3, traverser, games), TraversalWeights(2, nets, values))
    tree = Tree(game)
    return tree, tree.merge(*(net_policy(tree, NET, net) for net in nets)), values, block


@pytest.mark.parametrize("traverser", [0, 1])
@pytest.mark.parametrize("name", GAMES)
def test_samples_add_up_to_the_regrets_of_the_history_values(name: str, traverser: int) -> None:
    """30 chunks of 300 games with a seed each. For a net Q, right or wrong, the mean of an infostate's samples a game
    is the sum over its histories of (chance, opponent's policy, uniform sampling) * (Q(h, a) - Q(h, pi)), within 5
    standard errors of each entry. Where Q is exact, this is the regret (`test_recursion`)."""
    game = GAMES[name]
    sums = np.zeros((CHUNKS, game.infostates, game.spec.num_actions))
    for chunk in range(CHUNKS):
        tree, policy, values, block = play(game, traverser, ESCHER, chunk)
        rows = block["advantages"]
        np.add.at(sums[chunk], unpack(rows["infostate"]), rows["advantage"] / PLAYED)
    uniform = tree.uniform()
    played = tree.merge(uniform, policy) if traverser == 0 else tree.merge(policy, uniform)
    mine = np.flatnonzero(game.player == traverser)
    q, at = history_values(tree, values), tree.infostate[mine]
    advantage = np.where(game.children[mine] >= 0, q[mine] - (policy[at] * q[mine]).sum(1, keepdims=True), 0)
    exact = np.zeros((game.infostates, game.spec.num_actions))
    np.add.at(exact, at, tree.reach({0: played, 1: played}, chance=True)[mine, None] * advantage)
    error = sums.std(axis=0, ddof=1) / np.sqrt(CHUNKS)
    assert (np.abs(sums.mean(axis=0) - exact) <= 5 * error + 1e-5).all()
    assert (np.abs(exact) > 20 * error + 1e-3).any()  # so that zeros everywhere would not do


@pytest.mark.parametrize("traverser", [0, 1])
def test_the_returns_of_the_games_do_not_enter(traverser: int) -> None:
    """All samples of a pair of infostates are equal, whatever happened afterwards, unlike those of DREAM."""
    game = GAMES["kuhn"]
    for sampling, equal in ((ESCHER, True), (ESCHER.model_copy(update={"estimator": "sampled"}), False)):
        tree, _, _, block = play(game, traverser, sampling, seed=0)
        rows, pairs = block["advantages"], own_pairs(tree, block["transitions"], traverser)
        spread = [np.ptp(rows["advantage"][(pairs == pair).all(1)], axis=0).max() for pair in np.unique(pairs, axis=0)]
        assert (max(spread) < 1e-6) == equal


def own_pairs(tree: Tree, transitions: np.ndarray, traverser: int) -> np.ndarray:
    """Both infostates at each decision of the traverser, in the order of the advantage rows."""
    pairs = np.stack([unpack(transitions["infostates"][:, view]) for view in (0, 1)], axis=1)
    return pairs[np.isin(pairs[:, 0], tree.own(traverser))]


@pytest.mark.parametrize("traverser", [0, 1])
@pytest.mark.parametrize("name", GAMES)
def test_policy_samples_are_as_frequent_as_both_players_get_there(name: str, traverser: int) -> None:
    """20,000 games: within 5 standard errors of the reach probability by the policy and the traverser's sampling."""
    game, games, sampling = GAMES[name], 20_000, SamplingSettings(epsilon=0.5)
    tree, policy, _, block = play(game, traverser, sampling, seed=1, games=games)
    rows = block["policies"]
    at = unpack(rows["infostate"])
    assert set(at) <= set(tree.own(1 - traverser))
    np.testing.assert_allclose(rows["policy"], policy[at], atol=1e-6)
    assert np.array_equal(unpack_mask(rows["legal"], game.spec.num_actions), tree.legal[at])
    assert set(rows["iteration"]) == {3}
    xi = behaviour(tree, policy, sampling, traverser)
    theirs = np.flatnonzero(game.player == 1 - traverser)
    expected, found = np.zeros(game.infostates), np.bincount(at, minlength=game.infostates) / games
    np.add.at(expected, tree.infostate[theirs], tree.reach({0: xi, 1: xi}, chance=True)[theirs])
    assert (np.abs(found - expected) <= 5 * np.sqrt(expected / games) + 1e-9).all()
