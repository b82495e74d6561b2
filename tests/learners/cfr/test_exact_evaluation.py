"""Best responses against all pure answers and another implementation; the linear program against known values."""

from itertools import product

import numpy as np
import pytest

from envs.goofspiel import Goofspiel
from envs.kuhn import Kuhn
from envs.leduc import Leduc
from envs.oshi_zumo import OshiZumo
from learners.cfr.exact_evaluation import best_response, evaluate_policy
from learners.cfr.linear_program import solve_linear_program
from learners.cfr.sequence_form import sequence_form
from tests.games import kuhn, random_game
from tests.learners.cfr.oracle import LEDUC_2B2R, form_of, tree_of_table
from tests.trees import Tree as TableTree


def random_policy(tree, rng: np.random.Generator, zeros: float = 0.0) -> np.ndarray:
    weight = rng.exponential(size=tree.num_slots) * (rng.random(tree.num_slots) >= zeros) + 1e-12
    return weight / np.add.reduceat(weight, tree.slots[:-1])[tree.slot_infoset]


def test_no_pure_answer_beats_the_best_response() -> None:
    form = form_of(Kuhn())
    tree, rng = form.tree, np.random.default_rng(1)
    for _ in range(3):
        policy = random_policy(tree, rng)
        for player in (0, 1):
            own = np.flatnonzero(tree.player == player)
            returns = []
            for choice in product(*(range(n) for n in np.diff(tree.slots)[own])):
                answer = policy.copy()
                for infoset, picked in zip(own, choice, strict=True):
                    answer[tree.slots[infoset] : tree.slots[infoset + 1]] = 0
                    answer[tree.slots[infoset] + picked] = 1
                value = form.value(answer)
                returns.append(value if player == 0 else -value)
            value, answer = best_response(form, policy, player)
            assert value == pytest.approx(max(returns), abs=1e-12)
            assert form.value(answer) == pytest.approx(value if player == 0 else -value, abs=1e-12)


@pytest.mark.parametrize("game", [kuhn(), *(random_game(seed) for seed in range(5))], ids=lambda game: game.name)
def test_another_implementation_finds_the_same(game) -> None:
    other = TableTree(game)
    tree = tree_of_table(game)
    form, rng = sequence_form(tree), np.random.default_rng(2)
    infostates = np.ascontiguousarray(tree.observed).view("<u2").ravel()
    for zeros in (0.0, 0.5):
        policy = other.random_policy(rng, zeros)
        evaluation = evaluate_policy(form, tree.to_slots(policy[infostates]))
        assert evaluation.value == pytest.approx(game.chance @ other.values(policy)[: len(game.chance)], abs=1e-12)
        assert evaluation.best_responses[0] == pytest.approx(other.best_response_value(policy, 0), abs=1e-12)
        assert evaluation.best_responses[1] == pytest.approx(other.best_response_value(policy, 1), abs=1e-12)
        assert evaluation.nash_conv == pytest.approx(other.nash_conv(policy), abs=1e-12)


VALUES = [
    (Kuhn(), -1 / 18),
    (Leduc(), -0.0856064241),
    (Goofspiel(4), 0.0),
    (OshiZumo(), 0.0),
    (OshiZumo(size=3), 0.0),
]


@pytest.mark.parametrize(("game", "value"), VALUES, ids=lambda x: getattr(x, "name", None))
def test_values_of_games(game, value: float) -> None:
    form = form_of(game)
    equilibrium = solve_linear_program(form)
    assert equilibrium.value == pytest.approx(value, abs=5e-10)
    assert evaluate_policy(form, equilibrium.policy).exploitability < 1e-7


@pytest.mark.slow
def test_value_of_leduc_2b2r() -> None:
    form = form_of(LEDUC_2B2R)
    equilibrium = solve_linear_program(form)
    assert equilibrium.value == pytest.approx(-0.0970449613, abs=5e-9)
    assert evaluate_policy(form, equilibrium.policy).exploitability < 1e-6


def test_exploitability_of_uniform_play_and_of_other_units() -> None:
    form = form_of(Leduc())
    found = evaluate_policy(form, form.tree.uniform())
    assert found.nash_conv == pytest.approx(4.747222, abs=1e-6)
    assert sum(found.gains) == pytest.approx(found.nash_conv, abs=1e-12)
    told = found.as_dict()
    assert told["normalised"]["exploitability"] == pytest.approx(found.exploitability / 13)
    assert told["max_utility"] == 13


def test_what_is_no_policy_is_refused() -> None:
    form = form_of(Kuhn())
    for bad, told in (
        (np.full(form.tree.num_slots, 0.4), r"infoset 0 of kuhn: \[0.4, 0.4\]"),
        (np.where(np.arange(form.tree.num_slots) == 5, np.nan, 0.5), "infoset 2 of kuhn"),
        (np.tile([1.5, -0.5], form.tree.num_slots // 2), r"\[1.5, -0.5\]"),
        (np.ones(3), r"kuhn .*\[24\].*\[3\]"),
    ):
        with pytest.raises(ValueError, match=told):
            evaluate_policy(form, bad)
        with pytest.raises(ValueError, match=told):
            best_response(form, bad, 0)


def test_of_equally_good_answers_the_first_is_given() -> None:
    """Player 1 never bets in Kuhn poker, so that the infosets of player 0 after a bet are worth 0 by any action."""
    form = form_of(Kuhn())
    tree = form.tree
    policy = tree.uniform()
    theirs = tree.player[tree.slot_infoset] == 1
    policy[theirs] = tree.slot_action[theirs] == 0
    answer = best_response(form, policy, 0)[1]
    after = np.flatnonzero((tree.player == 0) & (tree.parent_slot >= 0))
    np.testing.assert_array_equal(answer[tree.slots[after]], np.ones(3))


def test_forced_moves_are_no_decisions() -> None:
    form = form_of(Goofspiel(4))
    tree = form.tree
    for treeplex in form.players:
        own = np.diff(tree.slots)[tree.player == treeplex.player]
        assert len(treeplex.infoset) == (own > 1).sum() < len(own)
        assert treeplex.num_sequences == 1 + own[own > 1].sum()
    policy = random_policy(tree, np.random.default_rng(3))
    again = form.policy(form.plans(policy))
    assert again == pytest.approx(policy, abs=1e-9)
