"""A mixture plays the average policy of its members by own reach, on Kuhn poker."""

import numpy as np
import pytest

from dancfr.games.registry import make_game
from envs.game import Game
from envs.players import choose_uniform
from envs.tree import Tree, compile_tree
from learners.cfr.sequence_form import sequence_form
from learners.networks.settings import NetworkSettings
from learners.policy_gradient.agent import PolicyAgent
from learners.policy_gradient.learner import PolicyLearner
from learners.policy_gradient.mixture import PolicyMixture
from learners.policy_gradient.settings import PolicyTrainingSettings

NETWORK = NetworkSettings(width=16, depth=1, norm="none", outputs="action")
GAMES = 40_000


def members(count: int, of: str | Game = "kuhn") -> list[PolicyAgent]:
    """Agents that play differently."""
    game, found = make_game(of) if isinstance(of, str) else of, []
    for seed in range(count):
        weights = PolicyLearner(game, NETWORK, PolicyTrainingSettings(), seed=seed).weights()
        loud = np.random.default_rng(seed).normal(0, 3, weights["out.w"].shape).astype(np.float32)
        found.append(PolicyAgent(game, NETWORK, [weights | {"out.w": loud}], f"net {seed}"))
    return found


def play(agent: PolicyMixture, tree: Tree) -> tuple[np.ndarray, np.ndarray]:
    """Plays both seats of many games; how often each slot of the tree was chosen, and the first player's returns."""
    game, rng = make_game("kuhn"), np.random.default_rng(1)
    infoset_of = {row.tobytes(): number for number, row in enumerate(tree.observed)}
    slot_of = {(int(i), int(a)): s for s, (i, a) in enumerate(zip(tree.slot_infoset, tree.slot_action, strict=True))}
    counts, returns = np.zeros(tree.num_slots), np.zeros(GAMES)
    states, games = game.reset(GAMES, rng), np.arange(GAMES)
    agent.begin(game, GAMES, rng)
    while len(states):
        observed = game.observe(states, game.to_move(states))
        actions = agent.act(states, games, rng)
        for row, action in zip(observed, actions.tolist(), strict=True):
            counts[slot_of[infoset_of[row.tobytes()], action]] += 1
        game.step(states, actions, rng)
        over = game.finished(states)
        returns[games[over]] = game.returns(states[over])[:, 0]
        states, games = states[~over], games[~over]
    return counts, returns


def test_it_plays_the_average_weighted_by_own_reach() -> None:
    tree = compile_tree(make_game("kuhn"))
    mixture = PolicyMixture(members(3), [1, 2, 5], members(1)[0], "mixture")
    policy = mixture.tree_policy(tree)
    counts, returns = play(mixture, tree)
    met = np.add.reduceat(counts, tree.slots[:-1])[tree.slot_infoset]
    assert (met > 100).all()
    error = np.sqrt(policy * (1 - policy) / met) + 1e-9
    assert np.abs((counts / met - policy) / error).max() < 4
    # The players draw apart: otherwise the mean return is that of equal members, and not of the average policy.
    value = sequence_form(tree).value(policy)
    assert abs(returns.mean() - value) < 4 * returns.std() / np.sqrt(GAMES)


@pytest.mark.parametrize(("name", "count"), [("kuhn", GAMES), ("leduc", 500)])
def test_recalled_moves_weigh_the_members_by_their_reach(name: str, count: int) -> None:
    """Whoever played the moves so far, the mixture continues with the average policy at every infoset."""
    game, rng = make_game(name), np.random.default_rng(2)
    tree = compile_tree(game)
    mixture = PolicyMixture(members(3, name), [1, 2, 5], members(1, name)[0], "mixture")
    table = tree.to_table(mixture.tree_policy(tree))
    infoset_of = {row.tobytes(): number for number, row in enumerate(tree.observed)}
    counts = np.zeros(table.shape)
    states, games = game.reset(count, rng), np.arange(count)
    mixture.begin(game, count, rng)
    while len(states):
        at = np.array([infoset_of[row.tobytes()] for row in game.observe(states, game.to_move(states))])
        np.testing.assert_allclose(mixture.probabilities(states, games), table[at], atol=1e-5)
        np.add.at(counts, (at, mixture.act(states, games, rng)), 1)
        actions = choose_uniform(game.legal(states), rng.random(len(states)))
        mixture.recall(states, games, actions, rng)
        game.step(states, actions, rng)
        running = ~game.finished(states)
        states, games = states[running], games[running]
    if name == "leduc":  # players move up to four times, at too many infosets to count
        return
    met = counts.sum(axis=1, keepdims=True)
    assert (met > 1000).all()
    assert (np.abs(counts / met - table) <= 4.5 * np.sqrt(table * (1 - table) / met) + 1e-9).all()


def test_a_single_member_is_played_as_it_is() -> None:
    tree = compile_tree(make_game("kuhn"))
    (agent,) = members(1)
    np.testing.assert_allclose(
        PolicyMixture([agent], [3], agent, "m").tree_policy(tree), agent.tree_policy(tree), atol=1e-12
    )
    with pytest.raises(ValueError, match="2 weights"):
        PolicyMixture([agent], [1, 2], agent, "m")
