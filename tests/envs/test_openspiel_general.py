"""Games of OpenSpiel with more players or without a constant sum: matches, training, trees, policies and NashConv."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyspiel")

import pyspiel
from open_spiel.python import policy as spiel_policies
from open_spiel.python.algorithms import exploitability as spiel_exploitability
from open_spiel.python.algorithms import gambit

import dancfr
from dancfr.agents.by_name import make_agent
from dancfr.errors import UsageError
from dancfr.evaluation.arena import play
from dancfr.games.trees import make_tree
from dancfr.gym.environment import SingleAgentEnv
from dancfr.methods.best_response.config import two_player_game
from envs.game import Identified
from envs.kuhn import Kuhn
from envs.openspiel import (
    OpenSpielGame,
    correspond,
    from_openspiel_policy,
    load_openspiel,
    openspiel_tree,
    to_efg,
    to_openspiel_policy,
)
from envs.tree import NoConstantSum, Tree
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.players_form import PlayersEvaluation, evaluate_form, exact_form, players_form
from learners.cfr.sequence_form import sequence_form
from tests.envs.small_trees import tree_of

THREE = "kuhn_poker(players=3)"
AUCTION = "first_sealed_auction(players=3,max_value=3)"
HANABI = "tiny_hanabi"
SEEN = "hanabi(colors=1,ranks=2,hand_size=1,players=3,max_life_tokens=1,max_information_tokens=1)"
"""A game that defines observations only."""
GENERAL = [THREE, AUCTION, HANABI, "matrix_pd", "matching_pennies_3p", "goofspiel(players=3,num_cards=3,imp_info=true)"]


def general(text: str) -> Tree:
    return openspiel_tree(text, general=True, observations=False)


def random_policy(tree: Tree, seed: int) -> np.ndarray:
    weight = np.random.default_rng(seed).exponential(size=tree.num_slots)
    return weight / np.add.reduceat(weight, tree.slots[:-1])[tree.slot_infoset]


def same_as_openspiel(text: str) -> None:
    """Compares the values and NashConv of a random policy with those of OpenSpiel in Python."""
    tree, game = general(text), load_openspiel(text)
    policy = random_policy(tree, 3)
    found = evaluate_form(exact_form(tree), policy)
    assert isinstance(found, PlayersEvaluation)
    theirs = spiel_policies.pyspiel_policy_to_python_policy(game, to_openspiel_policy(tree, policy, text))
    expected = spiel_exploitability.nash_conv(game, theirs, return_only_nash_conv=False)
    assert found.nash_conv == pytest.approx(expected.nash_conv, abs=1e-9)
    assert found.exploitability == pytest.approx(expected.nash_conv / game.num_players(), abs=1e-9)
    assert np.allclose(found.gains, expected.player_improvements)
    values = pyspiel.expected_returns(game.new_initial_state(), to_openspiel_policy(tree, policy, text), -1, False)
    assert found.values == pytest.approx(values)


@pytest.mark.parametrize("text", GENERAL)
def test_nash_conv_is_that_of_openspiel(text: str) -> None:
    same_as_openspiel(text)


def test_an_equilibrium_has_no_nash_conv() -> None:
    """Both defect in the prisoner's dilemma. If they cooperate, each gains by defecting."""
    tree = general("matrix_pd")
    found = evaluate_form(exact_form(tree), np.array([0.0, 1.0, 0.0, 1.0]))
    assert isinstance(found, PlayersEvaluation)
    assert (found.values, found.nash_conv) == ((1.0, 1.0), 0.0)
    assert evaluate_form(exact_form(tree), np.array([1.0, 0.0, 1.0, 0.0])).gains == (5.0, 5.0)


def test_both_exact_evaluations_agree_where_both_are_possible() -> None:
    tree = tree_of(Kuhn())
    policy = random_policy(tree, 5)
    payoffs = np.stack([tree.utility, -tree.utility], axis=1)
    narrow = evaluate_policy(sequence_form(tree), policy)
    whole = players_form(replace(tree, payoffs=payoffs)).evaluate(policy)
    assert whole.nash_conv == pytest.approx(narrow.nash_conv)
    assert (whole.value, whole.best_responses) == (pytest.approx(narrow.value), pytest.approx(narrow.best_responses))


@pytest.mark.parametrize("text", [THREE, AUCTION, HANABI])
def test_gambits_format_keeps_players_and_returns(text: str) -> None:
    tree = general(text)
    written = to_efg(tree)
    theirs = pyspiel.load_efg_game(written)
    assert theirs.num_players() == tree.num_players
    back = general(written)
    assert (back.num_nodes, back.num_infosets) == (tree.num_nodes, tree.num_infosets)
    policy = random_policy(tree, 1)
    expected = evaluate_form(exact_form(tree), policy)
    assert pyspiel.nash_conv(theirs, to_openspiel_policy(tree, policy, theirs), True) == pytest.approx(
        expected.nash_conv
    )
    exported = general(gambit.export_gambit(load_openspiel(text)))
    assert exported.num_infosets == tree.num_infosets
    assert evaluate_form(exact_form(exported), exported.uniform()).nash_conv == pytest.approx(
        evaluate_form(exact_form(tree), tree.uniform()).nash_conv
    )


@pytest.mark.parametrize("text", [THREE, HANABI, "kuhn_poker"])
def test_tabular_policies_of_both_kinds_come_back(text: str) -> None:
    tree, game = general(text), load_openspiel(text)
    assert np.allclose(from_openspiel_policy(tree, spiel_policies.TabularPolicy(game), text), tree.uniform())
    policy = random_policy(tree, 2)
    theirs = to_openspiel_policy(tree, policy, text)
    assert np.allclose(from_openspiel_policy(tree, theirs, text), policy)
    table = spiel_policies.pyspiel_policy_to_python_policy(game, theirs)
    assert np.allclose(from_openspiel_policy(tree, table, text), policy)


def test_other_numbers_of_players_do_not_correspond() -> None:
    with pytest.raises(ValueError, match="it has 3 players there, and 2 in the tree"):
        correspond(tree_of(Kuhn()), THREE)
    with pytest.raises(ValueError, match="hanabi has no information state strings"):
        correspond(general(SEEN), SEEN)


@pytest.mark.parametrize("text", [SEEN, "pig(horizon=4,winscore=4)"])
def test_knowledge_is_what_was_observed_and_done(text: str) -> None:
    """Digests agree exactly where the lists agree that are made here by hand."""
    game = OpenSpielGame(text)
    assert isinstance(game, Identified)
    rng, told = np.random.default_rng(2), {}
    for _ in range(4):
        states = game.reset(8, rng)
        while not game.finished(states).all():
            states = states[~game.finished(states)]
            movers = game.to_move(states)
            found = game.identify(states, movers)
            for b, mover in enumerate(movers.tolist()):
                known = by_hand(game, states["history"][b, : states["length"][b]].tolist(), mover)
                assert told.setdefault(found[b].tobytes(), (mover, known)) == (mover, known)
            legal = game.legal(states)
            game.step(states, (legal * (1 - rng.random(legal.shape))).argmax(axis=1), rng)
    assert len(set(told.values())) == len(told) > 10


def by_hand(game: OpenSpielGame, choices: list[int], player: int) -> tuple[object, ...]:
    """The observations of a player, without those that equal the one before, and the player's decisions."""
    state, known, last = game.spiel.new_initial_state(), [], None
    for choice in [*choices, None]:
        if not state.is_chance_node():
            if (seen := state.observation_string(player)) != last:
                known.append(seen)
            last = seen
            if state.current_player() == player:
                known.append((tuple(state.legal_actions()), choice))
        if choice is not None:
            state.apply_action(choice)
    return tuple(known)


@pytest.mark.parametrize("text", [SEEN, "pig(horizon=4,winscore=4)", "gin_rummy"])
def test_past_shows_nets_the_last_decisions(text: str) -> None:
    game, plain = OpenSpielGame(text, past=2, reserve=1), OpenSpielGame(text, compact=False)
    sent = pickle.loads(pickle.dumps(game))
    width, actions = plain.spec.shapes["flat"][0], plain.spec.num_actions
    assert game.spec.shapes["flat"] == (3 * width + 2 * actions,)
    rng = np.random.default_rng(4)
    states = game.reset(3, rng)
    decisions: dict[tuple[int, int], list[np.ndarray]] = {}
    for _ in range(12):
        states = states[: 0 if game.finished(states).any() else 3]
        if not len(states):
            break
        movers = game.to_move(states)
        shown = plain.encode(plain.observe(plain.states_of(game.spiel_states(states)), movers))
        seen = game.encode(game.observe(states, movers))
        assert np.array_equal(sent.encode(sent.observe(states, movers)), seen)
        legal = game.legal(states)
        chosen = (legal * (1 - rng.random(legal.shape))).argmax(axis=1)
        for b, player in enumerate(movers.tolist()):
            before = decisions.setdefault((b, player), [])
            padded = [*before[:2], *[np.zeros(width + actions)] * 2][:2]
            assert np.array_equal(seen[b], np.concatenate([shown[b], *padded]))
            before.insert(0, np.concatenate([shown[b], np.eye(actions)[chosen[b]]]))
        game.step(states, chosen, rng)
    assert max(map(len, decisions.values())) >= 2


def test_past_tells_more_infosets_apart_and_is_for_observations() -> None:
    short, long = (openspiel_tree(OpenSpielGame(SEEN, past=past), general=True).observed for past in (0, 3))
    assert len(np.unique(short, axis=0)) < len(np.unique(long, axis=0)) <= len(long)
    for text, cause in ((THREE, "information state tensors with all of the past"), ("coordinated_mp", "no tensors")):
        with pytest.raises(ValueError, match=f"past must be 0 in OpenSpiel's [a-z_]+, which has {cause}"):
            OpenSpielGame(text, past=1)
    with pytest.raises(UsageError, match="past must be an integer of at least 0, got -1"):
        dancfr.make_game("openspiel:hanabi", past=-1)


def test_trees_of_observations_have_perfect_recall_and_play_the_game() -> None:
    tree = openspiel_tree(SEEN, general=True)
    assert tree.num_players == 3
    assert tree.payoffs is not None
    assert (tree.payoffs[:, 0] == tree.payoffs[:, 2]).all()
    assert evaluate_form(exact_form(tree), tree.uniform()).nash_conv > 0
    assert len(np.unique(tree.identity, axis=0)) == len(tree.player)


def test_games_without_tensors_are_for_tables_and_matches() -> None:
    game = OpenSpielGame("coordinated_mp")
    assert (game.inputs, game.spec.shapes) == ("digest", {"digest": (128,)})
    states = game.reset(20, np.random.default_rng(0))
    movers = game.to_move(states)
    assert np.array_equal(game.observe(states, movers), game.identify(states, movers))
    assert game.encode(game.observe(states, movers), "digest").shape == (20, 128)
    solution = dancfr.solve("openspiel:coordinated_mp", iterations=10)
    assert play(game, (solution.agent(), make_agent("random", game)), 20, np.random.default_rng(0)).games == 20
    with pytest.raises(UsageError, match=r"has no flat encoding: it has digest, not for nets$"):
        dancfr.train("leduc-policy-gradient", {"game": "openspiel:coordinated_mp"}, inline=True)


@pytest.mark.parametrize("text", ["bargaining(max_turns=1)", "coop_box_pushing"])
def test_games_may_be_longer_than_openspiel_says(text: str) -> None:
    game = OpenSpielGame(text, compact=False)
    rng = np.random.default_rng(0)
    states = game.reset(1, rng)
    while not game.finished(states).all():
        game.step(states, game.legal(states).argmax(axis=1), rng)
    assert states["length"][0] > game.spiel.max_history_length()


def test_too_many_actions_for_nets_are_refused() -> None:
    with pytest.raises(
        UsageError, match=r"^nets have at most 32,768 actions; game openspiel:colored_trails has 93,123$"
    ):
        dancfr.train("leduc-policy-gradient", {"game": "openspiel:colored_trails"}, inline=True)


def test_matches_count_returns_above_the_mean() -> None:
    for text, players in ((THREE, 3), ("bargaining", 2), (SEEN, 3), ("hearts", 4)):
        game = OpenSpielGame(text)
        agents = make_agent("random", game), make_agent("random", game)
        result = play(game, agents, 12 * players, np.random.default_rng(1))
        assert result.wins + result.draws + result.losses == 12 * players
        assert result.constant_sum == (text == THREE)
        assert len(result.seats) == players
        if text == SEEN:  # all players have the same return
            assert result.draws == result.games
            assert result.mean_return > 0
        elif text == "bargaining":
            assert 0 <= result.losses < result.games - result.draws
            assert result.mean_return > 0


@pytest.mark.parametrize("text", [THREE, "bargaining"])
def test_what_needs_two_players_and_a_constant_sum_refuses_others(text: str) -> None:
    game = OpenSpielGame(text)
    with pytest.raises(NoConstantSum, match=r"^solvers need two players and returns with a constant sum, "):
        openspiel_tree(game)
    with pytest.raises(UsageError, match=r"^solvers need two players and returns with a constant sum, "):
        make_tree(game)
    with pytest.raises(UsageError, match=r"^solvers need two players and returns with a constant sum, "):
        dancfr.solve(f"openspiel:{text}")
    with pytest.raises(UsageError, match=r"^a best response bounds exploitability in two-player zero-sum games only"):
        two_player_game(game)
    with pytest.raises(UsageError, match=r"^baselines, policy nets and external sampling need two players "):
        dancfr.train("leduc-dream-quick", {"game": f"openspiel:{text}"}, inline=True)
    with pytest.raises(NoConstantSum):
        sequence_form(general(THREE if text == THREE else HANABI))


@pytest.mark.parametrize("text", [THREE, HANABI])
def test_policy_gradients_train_and_are_evaluated_exactly(text: str, tmp_path: Path) -> None:
    settings = {"games": 64, "chunk": 64, "iterations": 2, "evaluation.every": 2, "evaluation.exploitability": True}
    run = dancfr.train(
        "leduc-policy-gradient",
        {"game": f"openspiel:{text}", "evaluation.games": 6, **settings},
        run_dir=tmp_path / "run",
        inline=True,
        wandb="off",
        progress=False,
    )
    exact = dancfr.exploitability(run.name())
    assert isinstance(exact, PlayersEvaluation)
    (row,) = run.rows("exploitability")
    assert row["nash_conv"] == pytest.approx(exact.nash_conv, abs=1e-5)
    assert row["values"] == pytest.approx(exact.values, abs=1e-5)
    assert exact.exploitability == pytest.approx(exact.nash_conv / len(exact.values))


def test_environments_of_one_player_and_of_all_have_such_games() -> None:
    env = SingleAgentEnv(f"openspiel:{THREE}", seat=1)
    rewards = []
    for seed in range(20):
        observation, _ = env.reset(seed=seed)
        over, reward = False, 0.0
        while not over:
            observation, reward, over, _, _ = env.step(observation["action_mask"].argmax())
        rewards.append(reward)
    assert set(rewards) <= {-2.0, -1.0, 2.0, 3.0, 4.0}
    assert len(set(rewards)) > 1
    zoo = dancfr.make_game(f"openspiel:{AUCTION}").env()
    zoo.reset(seed=3)
    assert zoo.possible_agents == ["player_0", "player_1", "player_2"]


def test_mixtures_have_an_exact_average_of_all_players(tmp_path: Path) -> None:
    settings = {"games": 64, "chunk": 64, "iterations": 4, "kept_every": 1, "average": "mixture"}
    run = dancfr.train(
        "leduc-policy-gradient",
        {"game": f"openspiel:{THREE}", "evaluation.every": 4, "evaluation.games": 6, **settings},
        run_dir=tmp_path / "run",
        inline=True,
        wandb="off",
        progress=False,
    )
    assert isinstance(dancfr.exploitability(run.name()), PlayersEvaluation)


def test_nash_conv_of_leduc_with_three_players_is_that_of_openspiel() -> None:
    same_as_openspiel("leduc_poker(players=3,suit_isomorphism=true)")
