"""Sampled advantages against exact ones, by enumerating every trajectory with its probability.

What the estimator promises (paper 000, eqs. 5-7): given that h was reached, the sampled advantage of each action has
the mean v(h, a) - v(h), whatever the baseline and however actions are sampled, as long as nothing the policies play is
left out. So where only the traverser explores, samples weighted by 1 / x_i^xi(s) add up to the immediate
counterfactual regrets of eq. 1.
"""

import numpy as np
import pytest

from learners.dream.recursion import history_advantages, link_rows, sampled_advantages
from tests.games import kuhn, random_game
from tests.trees import Floats, Tree

GAMES = {"kuhn": kuhn(), "ragged": random_game(0), "ragged-2": random_game(5)}


class Trajectories:
    """Every path of positive probability as rows in the order of lock step, with the kernel's answer.

    Attributes:
        probability: Of each path under `xi`, chance included.
        row_path, row_node: Path and node of each row.
        advantage: `[rows, A]`, NaN where the kernel wrote nothing.
    """

    def __init__(
        self,
        tree: Tree,
        policy: Floats,
        xi: Floats,
        baseline: Floats,
        traverser: int,
        ratio_bound: float = np.inf,
        inverse_bound: float = np.inf,
    ) -> None:
        game = tree.game
        taken, self.probability, returns = [], [], []
        for path in tree.paths():
            chances = [xi[tree.infostate[node], action] for node, action in path]
            if all(chances):
                last, final = path[-1]
                taken.append(path)
                self.probability.append(game.chance[path[0][0]] * np.prod(chances))
                payoff = game.payoff[game.children[last, final]]
                returns.append(payoff if traverser == 0 else -payoff)
        rows = sorted(
            (depth, p, node, action) for p, path in enumerate(taken) for depth, (node, action) in enumerate(path)
        )
        _, self.row_path, self.row_node, actions = (np.array(column) for column in zip(*rows, strict=True))
        at = tree.infostate[self.row_node]
        self.advantage = np.full((len(rows), game.children.shape[1]), np.nan, np.float32)
        self.probability = np.array(self.probability)
        sampled_advantages(
            self.row_path.astype(np.int32),
            game.player[self.row_node],
            actions.astype(np.int64),
            xi[at, actions].astype(np.float32),
            policy[at].astype(np.float32),
            tree.legal[at],
            baseline[self.row_node].astype(np.float32),
            traverser,
            np.array(returns, np.float32),
            np.float32(ratio_bound),
            np.float32(inverse_bound),
            self.advantage,
        )

    def mean_given_history(self, nodes: int) -> Floats:
        """E[advantage | h reached] by node; NaN where xi does not reach it, or the traverser does not move."""
        weight = np.zeros(nodes)
        total = np.zeros((nodes, self.advantage.shape[1]))
        np.add.at(weight, self.row_node, self.probability[self.row_path])
        np.add.at(total, self.row_node, self.probability[self.row_path, None] * self.advantage)
        return total / np.where(weight > 0, weight, np.nan)[:, None]


def explore(tree: Tree, policy: Floats, epsilons: tuple[float, float]) -> Floats:
    """xi = epsilon * uniform + (1 - epsilon) * policy, by the mover's epsilon."""
    epsilon = np.zeros((len(policy), 1))
    for player in (0, 1):
        epsilon[tree.own(player)] = epsilons[player]
    return epsilon * tree.uniform() + (1 - epsilon) * policy


def random_baseline(tree: Tree, rng: np.random.Generator) -> Floats:
    """Q of the actor, as far off as the payoffs are large; garbage where no action is legal."""
    return rng.normal(scale=2.0, size=tree.game.children.shape)


def exact_baseline(tree: Tree, policy: Floats) -> Floats:
    """Q of the actor without error."""
    return np.where(tree.game.player == 0, 1, -1)[:, None] * tree.action_values(policy)


@pytest.mark.parametrize("traverser", [0, 1])
@pytest.mark.parametrize("epsilons", [(0.5, 0.5), (1.0, 0.0), (0.15, 0.3)])
@pytest.mark.parametrize("name", GAMES)
def test_sampled_advantages_are_unbiased_at_every_history(name, epsilons, traverser):
    tree, rng = Tree(GAMES[name]), np.random.default_rng(5)
    for zeros in (0.0, 0.4):
        policy = tree.random_policy(rng, zeros)
        own = epsilons if traverser == 0 else epsilons[::-1]
        xi = explore(tree, policy, own)
        paths = Trajectories(tree, policy, xi, random_baseline(tree, rng), traverser)
        assert paths.probability.sum() == pytest.approx(1)
        mean = paths.mean_given_history(len(tree.game.player))
        reached = np.isfinite(mean).all(axis=1)
        assert np.array_equal(reached, (tree.reach({0: xi, 1: xi}, chance=True) > 0) & (tree.game.player == traverser))
        exact = tree.history_advantages(policy, traverser)
        np.testing.assert_allclose(mean[reached], exact[reached], atol=2e-4)


@pytest.mark.parametrize("traverser", [0, 1])
@pytest.mark.parametrize("name", GAMES)
def test_importance_weighted_samples_add_up_to_the_counterfactual_regrets(name, traverser):
    tree, rng = Tree(GAMES[name]), np.random.default_rng(6)
    policy = tree.random_policy(rng, zeros=0.3)
    epsilons = (0.5, 0.0) if traverser == 0 else (0.0, 0.5)  # the other player samples from the policy itself
    xi = explore(tree, policy, epsilons)
    paths = Trajectories(tree, policy, xi, random_baseline(tree, rng), traverser)
    own_reach = tree.reach({traverser: xi})[paths.row_node]
    mine = tree.game.player[paths.row_node] == traverser
    weight = paths.probability[paths.row_path] / own_reach
    total = np.zeros(tree.legal.shape)
    np.add.at(total, tree.infostate[paths.row_node][mine], (weight[:, None] * paths.advantage)[mine])
    np.testing.assert_allclose(total, tree.counterfactual_advantages(policy, traverser), atol=2e-4)


@pytest.mark.parametrize("traverser", [0, 1])
@pytest.mark.parametrize("name", GAMES)
def test_an_exact_baseline_leaves_no_variance(name, traverser):
    tree, rng = Tree(GAMES[name]), np.random.default_rng(7)
    policy = tree.random_policy(rng)
    xi = explore(tree, policy, (0.5, 0.5))
    baseline = exact_baseline(tree, policy)
    exact = tree.history_advantages(policy, traverser)
    for bounds in ((np.inf, np.inf), (1.0, 4.0), (0.1, 1.0)):  # without error there is nothing to bound
        paths = Trajectories(tree, policy, xi, baseline, traverser, *bounds)
        mine = tree.game.player[paths.row_node] == traverser
        np.testing.assert_allclose(paths.advantage[mine], exact[paths.row_node[mine]], atol=1e-5)
        assert np.isnan(paths.advantage[~mine]).all()


@pytest.mark.parametrize("name", GAMES)
def test_a_better_baseline_has_less_variance(name):
    tree, rng = Tree(GAMES[name]), np.random.default_rng(8)
    policy = tree.random_policy(rng)
    xi, noise = explore(tree, policy, (0.5, 0.0)), random_baseline(tree, rng)
    spread = []
    for share in (0.0, 0.3, 1.0):
        paths = Trajectories(tree, policy, xi, exact_baseline(tree, policy) + share * noise, traverser=0)
        mine = tree.game.player[paths.row_node] == 0
        error = paths.advantage[mine] - tree.history_advantages(policy, 0)[paths.row_node[mine]]
        spread.append(float((paths.probability[paths.row_path[mine]] * np.square(error).sum(1)).sum()))
    assert spread[0] < 1e-8
    assert spread[1] == pytest.approx(0.09 * spread[2], rel=1e-3)  # errors enter linearly
    assert spread[2] > 0.1


@pytest.mark.parametrize(
    ("ratio_bound", "inverse_bound"), [(np.inf, np.inf), (1.0, 4.0), (0.5, 1.0), (np.inf, 2.0), (1.0, np.inf)]
)
def test_bounds_follow_their_formula(ratio_bound, inverse_bound):
    """One traverser's decision, then one of the opponent, both with Q, by hand."""
    policy = np.array([[0.6, 0.4, 0.0], [0.3, 0.7, 0.0]])
    xi = np.array([0.2, 0.25])  # of the sampled actions, 1 and 0
    q = np.array([[0.5, -0.25, 9.0], [0.125, -1.0, 9.0]])  # of the actor
    result, advantage = -1.0, np.full((2, 3), np.nan, np.float32)
    after = -(0.3 * 0.125 - 0.7 * 1.0) + min(0.3 / 0.25, ratio_bound) * (result + 0.125)
    before = 0.6 * 0.5 - 0.4 * 0.25 + min(0.4 / 0.2, ratio_bound) * (after + 0.25)
    sampled_advantages(
        np.zeros(2, np.int32),
        np.array([0, 1], np.int8),
        np.array([1, 0]),
        xi.astype(np.float32),
        policy.astype(np.float32),
        np.array([[True, True, False]] * 2),
        q.astype(np.float32),
        0,
        np.array([result], np.float32),
        np.float32(ratio_bound),
        np.float32(inverse_bound),
        advantage,
    )
    expected = [0.5 - before, -0.25 + min(1 / 0.2, inverse_bound) * (after + 0.25) - before, 0.0]
    np.testing.assert_allclose(advantage[0], expected, rtol=1e-5)
    assert np.isnan(advantage[1]).all()


@pytest.mark.parametrize("name", GAMES)
def test_bounds_beyond_every_ratio_change_nothing(name):
    tree, rng = Tree(GAMES[name]), np.random.default_rng(9)
    policy = tree.random_policy(rng)
    xi, baseline = explore(tree, policy, (0.5, 0.2)), random_baseline(tree, rng)
    free = Trajectories(tree, policy, xi, baseline, 0)
    highest = 1 / xi[xi > 0].min()
    loose = Trajectories(tree, policy, xi, baseline, 0, 1.01 * highest, 1.01 * highest)
    tight = Trajectories(tree, policy, xi, baseline, 0, 1.0, 4.0)
    np.testing.assert_array_equal(free.advantage, loose.advantage)
    assert np.nanmax(np.abs(free.advantage - tight.advantage)) > 0.1


@pytest.mark.parametrize("traverser", [0, 1])
@pytest.mark.parametrize("name", GAMES)
def test_history_values_add_up_to_regrets_at_the_rate_of_the_sampling_policy(name, traverser):
    """ESCHER: with exact history values, samples of an infostate add up to its immediate counterfactual regrets times
    the traverser's own reach under the policy that it samples by, whatever its policy is. Every path is enumerated."""
    tree, rng = Tree(GAMES[name]), np.random.default_rng(10)
    policy, fixed = tree.random_policy(rng, zeros=0.3), tree.random_policy(rng)
    xi = tree.merge(fixed, policy) if traverser == 0 else tree.merge(policy, fixed)
    paths = Trajectories(tree, policy, xi, exact_baseline(tree, policy), traverser)
    actor, at = tree.game.player[paths.row_node], tree.infostate[paths.row_node]
    advantage = np.full(paths.advantage.shape, np.nan, np.float32)
    values = exact_baseline(tree, policy)[paths.row_node].astype(np.float32)
    history_advantages(actor, policy[at].astype(np.float32), tree.legal[at], values, traverser, advantage)
    mine = actor == traverser
    assert np.isnan(advantage[~mine]).all()
    total, reach = np.zeros(tree.legal.shape), np.zeros(len(tree.legal))
    np.add.at(total, at[mine], paths.probability[paths.row_path][mine, None] * advantage[mine])
    reach[at[mine]] = tree.reach({traverser: fixed})[paths.row_node[mine]]
    np.testing.assert_allclose(total, reach[:, None] * tree.counterfactual_advantages(policy, traverser), atol=1e-5)
    assert np.abs(total).max() > 0.05


def test_rows_are_linked_to_the_next_decision_of_their_game():
    game = np.array([0, 1, 2, 0, 2, 1, 0], np.int32)
    following = np.empty(7, np.int64)
    link_rows(game, 4, following)
    assert following.tolist() == [3, 5, 4, 6, -1, -1, -1]
