"""The reported policies of DREAM's agents at every infoset, against averages node by node and against play."""

import numpy as np
import pytest
from scipy.stats import norm

from dancfr.errors import UsageError
from dancfr.evaluation.exploitability import evaluate_exactly
from dancfr.games.registry import make_game
from envs.goofspiel import Goofspiel
from envs.kuhn import Kuhn
from envs.leduc import Leduc
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.sequence_form import sequence_form
from learners.dream.agent import DreamAgent
from tests.envs.small_trees import tree_of
from tests.games import kuhn, random_game
from tests.learners.cfr.oracle import tree_of_table
from tests.learners.dream.test_agent import NET, expected_policy, make_strategies
from tests.trees import Tree, net_policy

GAMES = {"kuhn": kuhn(), "ragged": random_game(0), "longer": random_game(7, depth=5)}
ACTION = NET.model_copy(update={"outputs": "action"})


def by_infostate(game, tree, policy):
    """A policy by slot as a table by the infostates of the game's own numbers."""
    table = np.zeros(game.legal_at.shape)
    table[tree.observed.view("<u2").ravel()] = tree.to_table(policy)
    return table


def met(plain, strategies):
    """Infostates that at least one net of their player gets to by its own moves: elsewhere averages are free."""
    found = []
    for player in (0, 1):
        mine = plain.game.player == player
        for _, weights in strategies[player]:
            reach = plain.reach({player: net_policy(plain, NET, weights)})
            found.append(plain.infostate[mine & (reach > 0)])
    return np.unique(np.concatenate(found))


def net_tables(game, tree, strategies, player, threshold=0.0):
    """The policy of each net of a player with a threshold, by infostate."""
    return [
        by_infostate(
            game, tree, DreamAgent(game, NET, {0: [one], 1: [one]}, "last", threshold=threshold).tree_policy(tree)
        )
        for one in strategies[player]
    ]


@pytest.mark.parametrize("average", ["exact", "sampled", "paper", "last"])
@pytest.mark.parametrize("name", GAMES)
def test_the_policy_on_a_tree_is_the_average_by_brute_force(name, average):
    game = GAMES[name]
    tree, plain, strategies = tree_of_table(game), Tree(game), make_strategies(game)
    found = DreamAgent(game, NET, strategies, average).tree_policy(tree)
    wanted = expected_policy(plain, strategies, "exact" if average == "sampled" else average)
    own = met(plain, strategies)
    np.testing.assert_allclose(by_infostate(game, tree, found)[own], wanted[own], atol=2e-5)
    sums = np.add.reduceat(found, tree.slots[:-1])
    np.testing.assert_allclose(sums, 1, atol=1e-12)


@pytest.mark.parametrize("name", GAMES)
def test_its_exploitability_is_that_of_the_average(name):
    game = GAMES[name]
    tree, plain, strategies = tree_of_table(game), Tree(game), make_strategies(game)
    found = evaluate_policy(sequence_form(tree), DreamAgent(game, NET, strategies, "exact").tree_policy(tree))
    wanted = expected_policy(plain, strategies, "exact")
    assert found.nash_conv == pytest.approx(plain.nash_conv(wanted), abs=1e-4)
    assert found.value == pytest.approx(game.chance @ plain.values(wanted)[: len(game.chance)], abs=1e-4)


@pytest.mark.parametrize("threshold", [0.71, 1.0])
@pytest.mark.parametrize("average", ["exact", "paper"])
@pytest.mark.parametrize("name", GAMES)
def test_a_threshold_cuts_the_average_and_not_the_nets(name, average, threshold):
    game = GAMES[name]
    tree, plain, strategies = tree_of_table(game), Tree(game), make_strategies(game)
    whole = DreamAgent(game, NET, strategies, average).tree_policy(tree)
    cut = DreamAgent(game, NET, strategies, average, threshold=threshold).tree_policy(tree)
    greatest = np.maximum.reduceat(whole, tree.slots[:-1])[tree.slot_infoset]
    assert (np.abs(whole - threshold * greatest)[whole < greatest] > 1e-5).all(), "no share is at the threshold"
    wanted = np.where(whole >= threshold * greatest - 1e-9, whole, 0)
    wanted /= np.add.reduceat(wanted, tree.slots[:-1])[tree.slot_infoset]
    assert ((wanted == 0) & (whole > 0)).any()
    np.testing.assert_allclose(cut, wanted, atol=1e-6)
    merged = expected_policy(plain, strategies, average)
    own = met(plain, strategies)
    np.testing.assert_allclose(by_infostate(game, tree, whole)[own], merged[own], atol=2e-5)


@pytest.mark.parametrize("name", GAMES)
def test_a_threshold_cuts_the_nets_where_they_play_singly(name):
    game, threshold = GAMES[name], 0.71
    tree, plain, strategies = tree_of_table(game), Tree(game), make_strategies(game)
    found = DreamAgent(game, NET, strategies, "sampled", threshold=threshold).tree_policy(tree)
    nets = {player: net_tables(game, tree, strategies, player, threshold) for player in (0, 1)}
    averages = [plain.average(nets[player], np.arange(1.0, len(nets[player]) + 1), player) for player in (0, 1)]
    seen = [plain.infostate[plain.game.player == player] for player in (0, 1)]
    own = np.unique(
        np.concatenate(
            [
                states[sum(plain.reach({player: each})[plain.game.player == player] for each in nets[player]) > 0]
                for player, states in enumerate(seen)
            ]
        )
    )
    np.testing.assert_allclose(by_infostate(game, tree, found)[own], plain.merge(*averages)[own], atol=2e-5)
    cut = DreamAgent(game, NET, strategies, "exact", threshold=threshold).tree_policy(tree)
    assert np.abs(found - cut).max() > 0.05, "the average with the threshold is another policy"


@pytest.mark.parametrize("power", [0.0, 3.0])
def test_the_power_of_the_weights_counts(power):
    game = GAMES["ragged"]
    tree, plain, strategies = tree_of_table(game), Tree(game), make_strategies(game)
    found = DreamAgent(game, NET, strategies, "exact", average_power=power).tree_policy(tree)
    weighed = []
    for player in (0, 1):
        policies = net_tables(game, tree, strategies, player)
        weighed.append(plain.average(policies, np.arange(1.0, len(policies) + 1) ** power, player))
    wanted, own = plain.merge(*weighed), met(plain, strategies)
    np.testing.assert_allclose(by_infostate(game, tree, found)[own], wanted[own], atol=2e-5)


@pytest.mark.parametrize("average", ["exact", "sampled"])
def test_kuhn_poker_is_played_as_is_said(average):
    """The share of each action at each infoset, 60,000 games: all within two-sided intervals that together miss the
    truth once in 10,000 times."""
    game, games, rng = Kuhn(), 60_000, np.random.default_rng(5)
    tree = tree_of(game)
    agent = DreamAgent(game, ACTION, make_strategies_of(game), average)
    policy = tree.to_table(agent.tree_policy(tree))
    counts = np.zeros(policy.shape)
    agent.begin(game, games, rng)
    states = game.reset(games, rng)
    rows = {row.tobytes(): infoset for infoset, row in enumerate(tree.observed)}
    while len(running := np.flatnonzero(~game.finished(states))):
        part = states[running]
        actions = agent.act(part, running, rng)
        at = [rows[row.tobytes()] for row in game.observe(part, game.to_move(part))]
        np.add.at(counts, (at, actions), 1)
        game.step(part, actions, rng)
        states[running] = part
    met = counts.sum(axis=1)
    assert (met > 500).sum() >= 8
    z = norm.isf(1e-4 / 2 / len(met))
    share = counts[:, 1] / np.maximum(met, 1)
    width = z * np.sqrt(policy[:, 1] * (1 - policy[:, 1]) / np.maximum(met, 1)) + 1 / np.maximum(met, 1) + 2e-5
    assert (np.abs(share - policy[:, 1]) <= width)[met > 0].all()
    assert (policy[:, 1] * (1 - policy[:, 1]) > 0.05).sum() >= 4, "something is mixed"


def make_strategies_of(game, nets=5):
    """Random nets for a game of the registry."""
    import torch

    from learners.networks.modules import ValueNet

    torch.manual_seed(3)
    made = []
    for _ in range(2 * nets):
        module = ValueNet(ACTION, game.spec)
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.normal_(0, 2 * parameter.shape[-1] ** -0.5)
        made.append(module.inference_weights())
    return {p: [(k + 1, made[2 * k + p]) for k in range(nets)] for p in (0, 1)}


@pytest.mark.parametrize("game", [Leduc(), Goofspiel(4)], ids=lambda game: game.spec.name)
def test_exact_averages_of_deeper_games_follow_from_plans(game):
    """In sequence form the average is a mean of plans: sequence by sequence, without reaches of infosets."""
    tree, form = tree_of(game), sequence_form(tree_of(game))
    strategies = make_strategies_of(game)
    single = [DreamAgent(game, ACTION, {p: [nets[k]] for p, nets in strategies.items()}, "last") for k in range(5)]
    plans = [form.plans(agent.tree_policy(tree)) for agent in single]
    means = [sum((k + 1) * plan[player] for k, plan in enumerate(plans)) for player in (0, 1)]
    wanted = form.policy((means[0], means[1]))
    found = DreamAgent(game, ACTION, strategies, "exact").tree_policy(tree)
    reached = np.zeros(tree.num_slots, np.bool_)
    for player, plex in enumerate(form.players):
        at = np.zeros(len(tree.player), np.bool_)
        at[plex.infoset[means[player][plex.parent] > 1e-6]] = True
        reached |= at[tree.slot_infoset]
    assert reached.mean() > 0.2
    np.testing.assert_allclose(found[reached], wanted[reached], atol=2e-4)


def test_other_rules_are_named():
    agent = DreamAgent(Kuhn(), ACTION, make_strategies_of(Kuhn()), "exact", "run x")
    told = "run x was made for infostates of kuhn of 5 bytes, but those of this tree of leduc have 11"
    with pytest.raises(ValueError, match=told):
        agent.tree_policy(tree_of(Leduc()))
    three, four = (make_game("goofspiel", cards=cards) for cards in (3, 4))
    agent = DreamAgent(four, ACTION, make_strategies_of(four), "exact", "run x")
    told = "run x was made for other rules of goofspiel: cards=4, but this game has cards=3"
    with pytest.raises(UsageError, match=told):
        evaluate_exactly("run x", agent, three)
