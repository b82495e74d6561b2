"""Average policies against brute force over the tree, and the actions played against the reported policies."""

import numpy as np
import pytest
import torch
from scipy.stats import chi2

from learners.dream import agent as agent_module
from learners.dream.agent import DreamAgent
from learners.dream.settings import Average
from learners.networks.modules import ValueNet
from learners.networks.settings import NetworkSettings, Weights
from tests.games import TreeGame, kuhn, pack, random_game, unpack
from tests.trees import Floats, Tree, net_policy

NET = NetworkSettings(trunk="flat", width=16, depth=2, norm="none", outputs="sum")
NETS = 6
GAMES = {"kuhn": kuhn(), "ragged": random_game(0)}
Strategies = dict[int, list[tuple[int, Weights]]]


def make_strategies(game: TreeGame, seed: int = 1) -> Strategies:
    """Nets of alternating updates: player 0 in iterations 1, 3, ..., player 1 in 2, 4, ...; one more for player 0."""
    torch.manual_seed(seed)

    def net() -> Weights:
        module = ValueNet(NET, game.spec)
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.normal_(0, 2 * parameter.shape[-1] ** -0.5)
        return module.inference_weights()

    return {p: [(2 * k + 1 + p, net()) for k in range(NETS + 1 - p)] for p in (0, 1)}


def expected_policy(tree: Tree, strategies: Strategies, average: Average) -> Floats:
    """The average policy of each player by its definition."""
    merged = []
    for player in (0, 1):
        policies = [net_policy(tree, NET, weights) for _, weights in strategies[player]]
        weights = np.arange(1.0, len(policies) + 1)
        if average == "last":
            merged.append(policies[-1])
        elif average == "paper":
            merged.append(np.average(policies, axis=0, weights=weights))
        else:
            merged.append(tree.average(policies, weights, player))
    return tree.merge(*merged)


class Witness(DreamAgent):
    """Notes down every policy that it samples from, as it is before the threshold."""

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self.seen: list[np.ndarray] = []

    def _policy(self, nets, packed, legal, games):
        policy = super()._policy(nets, packed, legal, games)
        self.seen.append(policy.copy())
        return policy


def play(game: TreeGame, agent: DreamAgent, batch: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Lets the agent play both seats; infostate and action of every decision, in the order of `Witness.seen`."""
    agent.begin(game, batch, rng)
    states, at, taken = game.reset(batch, rng), [], []
    while len(running := np.flatnonzero(~game.finished(states))):
        part = states[running]
        mover = game.to_move(part)
        actions = agent.act(part, running, rng)
        order = np.argsort(mover, kind="stable")
        at.append(unpack(game.observe(part, mover))[order])
        taken.append(actions[order])
        game.step(part, actions, rng)
        states[running] = part
    return np.concatenate(at), np.concatenate(taken)


@pytest.mark.parametrize("batch", [1, 400])
@pytest.mark.parametrize("average", ["exact", "paper", "last"])
@pytest.mark.parametrize("name", GAMES)
def test_played_policies_are_the_average_by_brute_force(name, average, batch):
    """At every infostate the player's own moves are known, so the average has one value there; a batch of games and
    games one by one, in which memories of earlier batches would show, agree with it."""
    game = GAMES[name]
    tree, strategies = Tree(game), make_strategies(GAMES[name])
    witness = Witness(game, NET, strategies, average)
    rng, met = np.random.default_rng(2), []
    for _ in range(400 // batch):
        at, _ = play(game, witness, batch, rng)
        met.append(at)
    at, seen = np.concatenate(met), np.concatenate(witness.seen)
    np.testing.assert_allclose(seen, expected_policy(tree, strategies, average)[at], atol=2e-5)
    assert len(set(at)) >= 8


def test_exact_and_paper_averages_differ():
    tree = Tree(GAMES["ragged"])
    strategies = make_strategies(tree.game)
    exact, paper = (expected_policy(tree, strategies, average) for average in ("exact", "paper"))
    assert np.abs(exact - paper).max() > 0.1


@pytest.mark.parametrize("average", ["exact", "sampled"])
@pytest.mark.parametrize("name", GAMES)
def test_actions_are_as_frequent_as_in_the_exact_average(name, average):
    """Sampling one net a game, with probability proportional to t, plays the exact average (SD-CFR)."""
    game = GAMES[name]
    tree, strategies = Tree(game), make_strategies(GAMES[name])
    at, actions = play(game, DreamAgent(game, NET, strategies, average), 30_000, np.random.default_rng(3))
    counts = np.zeros(tree.legal.shape)
    np.add.at(counts, (at, actions), 1)
    expected = expected_policy(tree, strategies, "exact") * counts.sum(1, keepdims=True)
    assert (counts[expected < 1e-9] == 0).all()
    cells = expected > 5
    statistic = (np.square(counts - expected)[cells] / expected[cells]).sum()
    freedom = cells.sum() - cells.any(axis=1).sum()
    assert freedom > 10
    assert chi2.sf(statistic, freedom) > 1e-4


def test_sampled_games_stay_with_one_net():
    """Each policy met in a game is that of the net drawn for it, each net is drawn in proportion to t."""
    game = GAMES["ragged"]
    tree, strategies = Tree(game), make_strategies(GAMES["ragged"])
    policies = {p: np.array([net_policy(tree, NET, w) for _, w in strategies[p]]) for p in (0, 1)}
    witness = Witness(game, NET, strategies, "sampled")
    rng, batch = np.random.default_rng(4), 5000
    witness.begin(game, batch, rng)
    states = game.reset(batch, rng)
    possible = {p: np.ones((batch, len(policies[p])), np.bool_) for p in (0, 1)}
    while len(running := np.flatnonzero(~game.finished(states))):
        part = states[running]
        mover = game.to_move(part)
        witness.seen.clear()
        actions = witness.act(part, running, rng)
        seen = iter(witness.seen)
        for player in (0, 1):
            mine = np.flatnonzero(mover == player)
            if len(mine):
                at = unpack(game.observe(part[mine], mover[mine]))
                same = np.abs(policies[player][:, at] - next(seen)).max(axis=2) < 1e-5
                possible[player][running[mine]] &= same.T
        game.step(part, actions, rng)
        states[running] = part
    for player in (0, 1):
        assert possible[player].any(axis=1).all()
        sure = possible[player].sum(1) == 1
        drawn = possible[player].argmax(1)
        assert np.array_equal(witness._players[player].drawn[sure], drawn[sure])
        share = np.bincount(witness._players[player].drawn, minlength=len(policies[player])) / batch
        t = np.arange(1, len(share) + 1)
        p = t / t.sum()
        assert (np.abs(share - p) < 4.5 * np.sqrt(p * (1 - p) / batch)).all()


def test_a_batch_plays_as_its_parts_do():
    """Any split of the games over calls gives the same policies, and so does any split of the nets' outputs."""
    game = GAMES["ragged"]
    strategies, rng = make_strategies(game), np.random.default_rng(5)
    states = game.reset(60, rng)
    together, apart = (Witness(game, NET, strategies, "exact") for _ in range(2))
    for one in (together, apart):
        one.begin(game, 60, np.random.default_rng(6))
    while len(running := np.flatnonzero(~game.finished(states))):
        mover = game.to_move(states[running])
        running = running[mover == mover[0]]
        draws = np.random.default_rng(7).random(len(running), dtype=np.float32)
        actions = together.act(states[running], running, Given(draws))
        split = [apart.act(states[[place]], np.array([place]), Given(draws[[i]])) for i, place in enumerate(running)]
        assert np.array_equal(actions, np.concatenate(split))
        np.testing.assert_allclose(together.seen[-1], np.concatenate(apart.seen[-len(running) :]), atol=1e-5)
        part = states[running]
        game.step(part, actions, rng)
        states[running] = part


class Given(np.random.Generator):
    """A generator whose uniform numbers are given."""

    def __init__(self, draws: np.ndarray) -> None:
        super().__init__(np.random.PCG64(0))
        self._draws = draws

    def random(self, size=None, dtype=np.float64, out=None):
        assert size == len(self._draws)
        return self._draws.astype(dtype)


def test_outputs_in_pieces_are_the_same(monkeypatch):
    game = GAMES["ragged"]
    tree, agent = Tree(game), DreamAgent(game, NET, make_strategies(game), "paper")
    at = tree.own(0)
    whole = agent.policy(pack(at), tree.legal[at], 0)
    monkeypatch.setattr(agent_module, "_MAX_OUTPUTS", 3 * 3 * (NETS + 1))
    np.testing.assert_allclose(agent.policy(pack(at), tree.legal[at], 0), whole, atol=1e-6)


@pytest.mark.parametrize("average", ["exact", "sampled", "paper", "last"])
def test_the_policy_at_new_games_needs_and_leaves_no_memory(average):
    game = GAMES["kuhn"]
    tree, strategies = Tree(game), make_strategies(GAMES["kuhn"])
    agent = DreamAgent(game, NET, strategies, average)
    at = np.unique(game.observation[: len(game.chance), 0])
    expected = expected_policy(tree, strategies, "last" if average == "last" else "exact")[at]
    np.testing.assert_allclose(agent.policy(pack(at), tree.legal[at], 0), expected, atol=1e-5)
    witness = Witness(game, NET, strategies, average)
    witness.begin(game, 50, np.random.default_rng(8))
    witness.act(game.reset(50, np.random.default_rng(8)), np.arange(50), np.random.default_rng(8))
    before = [(nets.log_reach.copy(), nets.drawn.copy()) for nets in witness._players]
    witness.policy(pack(at), tree.legal[at], 0)
    for nets, (reach, drawn) in zip(witness._players, before, strict=True):
        assert np.array_equal(nets.log_reach, reach)
        assert np.array_equal(nets.drawn, drawn)


@pytest.mark.parametrize("threshold", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("average", ["exact", "paper"])
def test_a_threshold_leaves_out_what_is_less_probable_than_that_share_of_the_likeliest(average, threshold):
    game = GAMES["ragged"]
    tree, strategies = Tree(game), make_strategies(GAMES["ragged"])
    whole, cut = (DreamAgent(game, NET, strategies, average, threshold=share) for share in (0.0, threshold))
    at = tree.own(0)
    before, after = (agent.policy(pack(at), tree.legal[at], 0) for agent in (whole, cut))
    kept = before >= threshold * before.max(axis=1, keepdims=True)
    assert 0 < kept.mean() < 1 or threshold == 0
    np.testing.assert_array_equal(after > 0, kept & (before > 0))
    expected = np.where(kept, before, 0)
    np.testing.assert_allclose(after, expected / expected.sum(axis=1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("threshold", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("average", ["exact", "sampled", "paper"])
def test_what_a_threshold_leaves_out_is_not_played(average, threshold):
    game = GAMES["ragged"]
    witness = Witness(game, NET, make_strategies(game), average, "dream", 1.0, threshold)
    _, actions = play(game, witness, 400, np.random.default_rng(11))
    policies = np.concatenate(witness.seen)
    np.testing.assert_allclose(policies.sum(axis=1), 1, atol=1e-5)
    played = policies[np.arange(len(actions)), actions]
    assert (played >= threshold * policies.max(axis=1) - 1e-6).all()


def test_reach_of_long_games_does_not_underflow():
    """400 own moves of probability 1/4 or 3/4: far below the smallest float32, and the ratio of reaches still exact."""
    game = GAMES["kuhn"]
    agent = DreamAgent(game, NET, make_strategies(game), "exact")
    agent.begin(game, 1, np.random.default_rng(9))
    nets = agent._players[0]
    policies = np.full((NETS + 1, 1, 2), 0.5, np.float32)
    policies[0], policies[1] = [0.25, 0.75], [0.75, 0.25]
    agent._policies = policies
    for move in range(400):
        agent._update_reach(nets, np.array([0]), np.array([move % 2]))
    assert nets.log_reach[0, 0] == pytest.approx(200 * np.log(3 / 16), rel=1e-6)
    assert nets.log_reach[0, 0] == pytest.approx(nets.log_reach[0, 1], rel=1e-12)
    assert nets.log_reach[0, 2] == pytest.approx(400 * np.log(0.5), rel=1e-6)
    states = game.reset(1, np.random.default_rng(10))
    policy = agent._policy(nets, game.observe(states, game.to_move(states)), game.legal(states), np.array([0]))
    assert np.isfinite(policy).all()
    assert policy.sum() == pytest.approx(1, rel=1e-5)


def test_wrong_use_is_named():
    game = GAMES["kuhn"]
    strategies = make_strategies(game)
    with pytest.raises(ValueError, match=r"average .*exact, sampled, paper, last, .*mean"):
        DreamAgent(game, NET, strategies, "mean")
    with pytest.raises(ValueError, match=r"threshold .*1\.5"):
        DreamAgent(game, NET, strategies, "paper", threshold=1.5)
    with pytest.raises(ValueError, match=r"run x .*player 1"):
        DreamAgent(game, NET, {0: strategies[0]}, "exact", name="run x")
