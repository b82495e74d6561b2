"""Lock-step traversals: every sample follows from the rules, the policies and the seed."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from actors.dream.traversal import (
    DreamTraverser,
    SamplingSettings,
    TraversalTask,
    TraversalWeights,
    effective_sample_size,
    log_moments,
)
from envs.geister.game import Geister
from learners.networks.modules import ValueNet
from learners.networks.settings import NetworkSettings, Weights
from learners.samples import advantage_dtype, unpack_mask
from tests.games import TreeGame, kuhn, random_game, sudden_kuhn, unpack
from tests.trees import Floats, Tree, net_policy

NET = NetworkSettings(trunk="flat", width=16, depth=2, norm="none", outputs="sum")
BASELINE = NetworkSettings(trunk="flat", width=16, depth=2, norm="layer", outputs="dense")
GAMES = {"kuhn": kuhn(), "ragged": random_game(0)}


def make_weights(game, settings: NetworkSettings, seed: int, views: int = 1, scale: float = 1.0) -> Weights:
    torch.manual_seed(seed)
    net = ValueNet(settings, game.spec, views)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.normal_(0, scale * parameter.shape[-1] ** -0.5)
    return net.inference_weights()


def traverse(game: TreeGame, sampling: SamplingSettings, traverser: int, games: int, slots: int = 512, seed: int = 0):
    """One chunk by random nets and a random baseline net; the exact policies beside it."""
    nets = (make_weights(game, NET, 1), make_weights(game, NET, 2))
    worker = DreamTraverser(game, NET, BASELINE, sampling, slots)
    task = TraversalTask((9, seed), 3, traverser, games)
    stats, block = worker.traverse(task, TraversalWeights(2, nets, make_weights(game, BASELINE, 3, views=2, scale=0.4)))
    tree = Tree(game)
    policy = tree.merge(*(net_policy(tree, NET, net) for net in nets))
    return tree, policy, stats, block


def behaviour(tree: Tree, policy: Floats, sampling: SamplingSettings, traverser: int) -> Floats:
    epsilon = np.zeros((len(policy), 1))
    epsilon[tree.own(traverser)] = sampling.epsilon
    epsilon[tree.own(1 - traverser)] = sampling.opponent_epsilon
    return epsilon * tree.uniform() + (1 - epsilon) * policy


def nodes_of(tree: Tree, transitions: np.ndarray, field: str = "infostates") -> np.ndarray:
    """The node at which both infostates of a row are seen, the mover's first: cards and history say all."""
    pair = np.stack([unpack(transitions[field][:, view]) for view in (0, 1)], axis=1)
    mover = tree.game.player[tree.decisions]
    seen = tree.game.observation[tree.decisions[:, None], np.stack([mover, 1 - mover], axis=1)]
    found = {tuple(one): node for one, node in zip(seen.tolist(), tree.decisions, strict=True)}
    assert len(found) == len(tree.decisions)
    return np.array([found[tuple(one)] for one in pair.tolist()])


@pytest.mark.parametrize("traverser", [0, 1])
@pytest.mark.parametrize("name", GAMES)
def test_transitions_follow_the_tree(name, traverser):
    game = GAMES[name]
    tree, policy, stats, block = traverse(game, SamplingSettings(epsilon=0.5), traverser, games=300)
    rows = block["transitions"]
    node, action = nodes_of(tree, rows), rows["action"].astype(int)
    following = game.children[node, action]
    assert (following >= 0).all()
    ended = game.player[following] < 0
    assert np.array_equal(rows["next_sign"] == 0, ended)
    sign = np.where(game.player[node] == 0, 1, -1)
    np.testing.assert_array_equal(rows["reward"], np.where(ended, sign * game.payoff[following], 0))
    onward = rows[~ended]
    assert np.array_equal(nodes_of(tree, onward, "next_infostates"), following[~ended])
    np.testing.assert_allclose(onward["next_policy"], policy[tree.infostate[following[~ended]]], atol=1e-6)
    same = game.player[following[~ended]] == game.player[node[~ended]]
    assert np.array_equal(onward["next_sign"], np.where(same, 1, -1))
    assert ended.sum() == (tree.depth[node] == 0).sum() == stats["games"] == 300
    assert stats["decisions"] == len(rows)
    assert stats["endings"] == [0, 300]
    for_traverser = np.where(game.player[node[ended]] == traverser, 1, -1) * rows["reward"][ended]
    assert stats["returns"] == pytest.approx(for_traverser.mean(), abs=1e-6)


@pytest.mark.parametrize("traverser", [0, 1])
@pytest.mark.parametrize("name", GAMES)
def test_advantage_rows_are_the_traversers_decisions(name, traverser):
    game = GAMES[name]
    sampling = SamplingSettings(epsilon=0.5)
    tree, policy, stats, block = traverse(game, sampling, traverser, games=300)
    rows, transitions = block["advantages"], block["transitions"]
    at, node = unpack(rows["infostate"]), nodes_of(tree, transitions)
    assert np.array_equal(at, tree.infostate[node[game.player[node] == traverser]])
    assert stats["advantage_rows"] == len(rows)
    assert set(rows["iteration"]) == {3}
    legal = unpack_mask(rows["legal"], game.spec.num_actions)
    assert np.array_equal(legal, tree.legal[at])
    assert (rows["advantage"][~legal] == 0).all()
    assert np.isfinite(rows["advantage"]).all()
    reach = tree.reach({traverser: behaviour(tree, policy, sampling, traverser)})
    own = np.full(game.infostates, np.nan)
    own[tree.infostate[tree.decisions]] = reach[tree.decisions]
    np.testing.assert_allclose(rows["log_weight"], -np.log(own[at]), atol=1e-5)


@pytest.mark.parametrize("traverser", [0, 1])
@pytest.mark.parametrize("name", GAMES)
def test_actions_are_as_frequent_as_xi_says(name, traverser):
    game, games = GAMES[name], 20_000
    sampling = SamplingSettings(epsilon=0.4, opponent_epsilon=0.1)
    tree, policy, _, block = traverse(game, sampling, traverser, games, slots=1000)
    xi = behaviour(tree, policy, sampling, traverser)
    counts = np.zeros(game.children.shape)
    np.add.at(counts, (nodes_of(tree, block["transitions"]), block["transitions"]["action"]), 1)
    reach = tree.reach({0: xi, 1: xi}, chance=True)
    share = np.where(game.children >= 0, reach[:, None] * xi[tree.infostate], 0)
    assert (np.abs(counts / games - share) <= 5 * np.sqrt(share * (1 - share) / games)).all()


@pytest.mark.parametrize("traverser", [0, 1])
@pytest.mark.parametrize("name", GAMES)
def test_weighted_samples_of_played_games_estimate_the_counterfactual_regrets(name, traverser):
    """The whole chain, with nets for the policies and a bad baseline net: exact regrets within 5 standard errors."""
    game, games = GAMES[name], 40_000
    tree, policy, _, block = traverse(game, SamplingSettings(epsilon=0.5), traverser, games, slots=1000)
    rows = block["advantages"]
    weighted = np.exp(rows["log_weight"].astype(np.float64))[:, None] * rows["advantage"]
    at = unpack(rows["infostate"])
    total, square = np.zeros((2, *tree.legal.shape))
    np.add.at(total, at, weighted)
    np.add.at(square, at, np.square(weighted))
    mean = total / games  # an infostate is met at most once a game
    error = np.sqrt(np.maximum(square / games - np.square(mean), 0) / games)
    exact = tree.counterfactual_advantages(policy, traverser)
    assert (np.abs(mean - exact) <= 5 * error + 1e-5).all()
    assert np.abs(exact).max() > 15 * error.ravel()[np.abs(exact).argmax()]


@pytest.mark.parametrize("baseline_at", ["all", "own"])
@pytest.mark.parametrize("traverser", [0, 1])
@pytest.mark.parametrize("name", GAMES)
def test_advantages_at_each_history_stay_unbiased_when_the_other_player_explores(name, traverser, baseline_at):
    game = GAMES[name]
    sampling = SamplingSettings(epsilon=0.5, opponent_epsilon=0.4, baseline_at=baseline_at)
    tree, policy, _, block = traverse(game, sampling, traverser, 40_000, slots=1000)
    node = nodes_of(tree, block["transitions"])
    node = node[game.player[node] == traverser]
    advantage = block["advantages"]["advantage"].astype(np.float64)
    total, square = np.zeros((2, *game.children.shape))
    np.add.at(total, node, advantage)
    np.add.at(square, node, np.square(advantage))
    often = np.bincount(node, minlength=len(total)) >= 200
    count = np.bincount(node, minlength=len(total))[often, None]
    mean = total[often] / count
    error = np.sqrt(np.maximum(square[often] / count - np.square(mean), 0) / count)
    exact = tree.history_advantages(policy, traverser)[often]
    assert often.sum() >= 8
    assert (np.abs(mean - exact) <= 5 * error + 1e-5).all()


def test_a_baseline_at_own_decisions_leaves_those_of_the_other_player_alone():
    """The other player's rows have no baseline, and the traverser's rows have the same one as with both."""
    game, found = GAMES["kuhn"], {}
    nets, baseline = (None, None), make_weights(game, BASELINE, 3, views=2)
    for where in ("all", "own"):
        worker = DreamTraverser(game, NET, BASELINE, SamplingSettings(baseline_at=where))
        worker.traverse(TraversalTask((9,), 1, 0, 200), TraversalWeights(0, nets, baseline))
        mine = worker._rows["actor"] == 0
        found[where] = worker._rows["baseline"][mine].copy(), worker._rows["baseline"][~mine].copy()
    np.testing.assert_allclose(found["own"][0], found["all"][0], rtol=1e-5)  # rounded otherwise in other batches
    assert not found["own"][1].any()
    assert found["all"][1].any()


@dataclass(frozen=True)
class Shifted(TreeGame):
    """The game with 4 more for each player."""

    def returns(self, states):
        return super().returns(states) + 4


@pytest.mark.parametrize("estimator", ["sampled", "history"])
def test_a_constant_sum_other_than_0_changes_no_sample(estimator):
    game = GAMES["kuhn"]
    shifted = Shifted(game.name, game.chance, game.player, game.children, game.payoff, game.observation)
    sampling = SamplingSettings(epsilon=0.5, estimator=estimator)
    (_, _, told, plain), (_, _, more, found) = (traverse(each, sampling, 1, games=200) for each in (game, shifted))
    assert all((plain[part] == found[part]).all() for part in ("advantages", "transitions"))
    assert more["returns"] == pytest.approx(told["returns"] + 4)


def test_uniform_play_without_baseline():
    """Iteration 1: no nets. The last decision's sampled advantage is (1 / xi - pi / xi) * return there."""
    game = kuhn()
    tree, worker = Tree(game), DreamTraverser(game, NET, None, SamplingSettings(epsilon=0.5))
    _, block = worker.traverse(TraversalTask((1,), 1, 1, 500), TraversalWeights(0, (None, None), None))
    assert set(block) == {"advantages"}
    rows = block["advantages"]
    at = unpack(rows["infostate"])
    assert set(at) == set(tree.own(1))
    final = np.abs(rows["advantage"][:, 0] + rows["advantage"][:, 1]) < 1e-6  # u - v = (1 / xi) v' (1 - 1/2) at both
    assert final.all()
    assert set(np.abs(rows["advantage"][:, 0]).tolist()) <= {1.0, 2.0}


@pytest.mark.parametrize("slots", [1, 2, 7, 512])
@pytest.mark.parametrize("name", GAMES)
def test_every_game_is_played_once_however_many_slots(name, slots):
    """Slots are refilled after each even number of moves, or when all games have ended after an odd one."""
    tree, _, stats, block = traverse(GAMES[name], SamplingSettings(), 0, games=101, slots=slots)
    rows = block["transitions"]
    assert (tree.depth[nodes_of(tree, rows)] == 0).sum() == 101
    assert (rows["next_sign"] == 0).sum() == 101
    assert stats["endings"] == [0, 101]
    assert stats["plies"] == pytest.approx(len(rows) / 101)


@pytest.mark.parametrize("slots", [1, 7, 512])
def test_games_that_end_before_a_decision_give_no_samples(slots):
    _, _, stats, block = traverse(sudden_kuhn(), SamplingSettings(), 0, games=400, slots=slots)
    played = int((block["transitions"]["next_sign"] == 0).sum())
    assert 260 < played < 340, "of 400 games a quarter ends immediately"
    assert stats["endings"] == [0, 400]
    assert np.isfinite(block["advantages"]["log_weight"]).all()


def test_one_seed_gives_the_same_bytes_and_another_gives_others():
    game = random_game(0)
    nets = (make_weights(game, NET, 1), None)
    weights = TraversalWeights(2, nets, make_weights(game, BASELINE, 3, views=2))
    worker = DreamTraverser(game, NET, BASELINE, SamplingSettings(), slots=64)

    def sample(*words: int, by: DreamTraverser = worker) -> dict[str, bytes]:
        _, block = by.traverse(TraversalTask((5, *words), 1, 0, 200), weights)
        return {name: rows.tobytes() for name, rows in block.items()}

    first, second = sample(1, 0), sample(1, 1)
    assert first["advantages"] != second["advantages"]
    assert first["transitions"] != second["transitions"]
    assert sample(1, 0) == first
    assert sample(1, 0, by=DreamTraverser(game, NET, BASELINE, SamplingSettings(), slots=64)) == first


def test_clipped_targets_are_the_free_ones_clipped():
    game = random_game(0)
    free = traverse(game, SamplingSettings(), 0, games=200)[3]["advantages"]
    clipped = traverse(game, SamplingSettings(target_clip=0.5), 0, games=200)[3]["advantages"]
    np.testing.assert_array_equal(clipped["advantage"], np.clip(free["advantage"], -0.5, 0.5))
    assert np.abs(free["advantage"]).max() > 1
    assert np.array_equal(clipped["infostate"], free["infostate"])


def test_bounds_keep_targets_small():
    game = random_game(0)
    free, bounded = (
        np.abs(traverse(game, SamplingSettings(epsilon=0.1, **bounds), 0, games=500)[3]["advantages"]["advantage"])
        for bounds in ({}, {"ratio_bound": 1.0, "inverse_bound": 2.0})
    )
    assert bounded.max() < 0.75 * free.max()


def test_effective_sample_size():
    def moments(*weights: float) -> tuple[int, float, float]:
        log = np.log(weights)
        return len(log), float(np.logaddexp.reduce(log)), float(np.logaddexp.reduce(2 * log))

    assert effective_sample_size([moments(3, 3, 3, 3)]) == pytest.approx(1)
    assert effective_sample_size([moments(1e-9, 1e-9, 1e-9, 1)]) == pytest.approx(0.25)
    assert effective_sample_size([moments(1, 2), moments(3), (0, -np.inf, -np.inf)]) == pytest.approx(36 / (3 * 14))
    assert effective_sample_size([]) == 0
    assert log_moments(np.log([20.0, 30.0, 5.0])) == pytest.approx(moments(20, 30, 5))
    assert log_moments(np.zeros(0)) == (0, -np.inf, -np.inf)


GEISTER_NETS = [
    (6, NetworkSettings(trunk="flat", width=32, depth=2, norm="layer", outputs="square")),
    (6, NetworkSettings(trunk="conv", width=32, depth=2, norm="batch", outputs="ghost")),
    (4, NetworkSettings(trunk="flat", width=32, depth=2, norm="none", outputs="square")),
]


@pytest.mark.parametrize("traverser", [0, 1])
@pytest.mark.parametrize(("size", "net"), GEISTER_NETS, ids=["full", "full-conv", "mini"])
def test_geister_samples(size, net, traverser):
    game = Geister(size=size, ply_limit=40)
    worker = DreamTraverser(game, net, net, SamplingSettings(ratio_bound=1.0, inverse_bound=4.0), slots=32)
    weights = TraversalWeights(
        1, (make_weights(game, net, 1), make_weights(game, net, 2)), make_weights(game, net, 3, views=2)
    )
    stats, block = worker.traverse(TraversalTask((1, 2), 5, traverser, 80), weights)
    rows, own = block["transitions"], block["advantages"]
    ply = rows["infostates"][:, :, 16]
    assert (ply[:, 0] == ply[:, 1]).all()
    first_seat = rows["infostates"][:, :, 19] == 1
    assert np.array_equal(first_seat[:, 0], ply[:, 0] % 2 == 0)
    assert np.array_equal(first_seat[:, 0], ~first_seat[:, 1])
    ended = rows["next_sign"] == 0
    assert ended.sum() == (ply[:, 0] == 0).sum() == 80 == sum(stats["endings"])
    assert set(rows["next_sign"][~ended]) == {-1}
    assert (rows["reward"][~ended] == 0).all()
    assert set(np.unique(rows["reward"])) <= {-1, 0, 1}
    onward = rows[~ended]
    assert (onward["next_infostates"][:, :, 16] == onward["infostates"][:, :, 16] + 1).all()
    later = rows[ply[:, 0] > 0]
    assert sorted(map(bytes, onward["next_infostates"])) == sorted(map(bytes, later["infostates"]))
    np.testing.assert_allclose(onward["next_policy"].sum(1), 1, rtol=1e-5)
    legal = unpack_mask(own["legal"], game.spec.num_actions)
    assert np.array_equal(own["infostate"][:, 19] == 1, np.full(len(own), traverser == 0))
    assert np.array_equal(own["infostate"], rows["infostates"][first_seat[:, 0] == (traverser == 0), 0])
    assert legal.any(axis=1).all()
    assert (own["advantage"][~legal] == 0).all()
    assert np.isfinite(own["advantage"]).all()
    mine = np.where(first_seat[ended, 0] == (traverser == 0), 1, -1) * rows["reward"][ended]
    assert stats["returns"] == pytest.approx(mine.mean(), abs=1e-6)
    assert set(own["iteration"]) == {5}


def test_geister_log_weights_add_up_along_a_game():
    """Uniform play: xi is one over the number of legal actions at each of the traverser's decisions before."""
    game = Geister(ply_limit=60)
    net = NetworkSettings()
    worker = DreamTraverser(game, net, net, SamplingSettings(), slots=1)
    for seed in range(3):
        _, block = worker.traverse(TraversalTask((seed,), 1, seed % 2, 1), TraversalWeights(0, (None, None), None))
        rows = block["advantages"]
        count = unpack_mask(rows["legal"], game.spec.num_actions).sum(1)
        expected = np.concatenate([[0], np.cumsum(np.log(count))[:-1]])
        np.testing.assert_allclose(rows["log_weight"], expected, rtol=1e-5)
        assert len(rows) > 10


def test_an_advantage_sample_of_geister_is_small():
    assert advantage_dtype(Geister().spec).itemsize == 160
