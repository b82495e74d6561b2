"""The walk over the public tree of liar's dice against the exact evaluation of compiled trees."""

import re

import numpy as np
import pytest
from numpy.typing import NDArray

from envs.liars_dice import LiarsDice
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.linear_program import solve_linear_program
from learners.cfr.sequence_form import sequence_form
from tests.envs.exact_games import Policies, legal_at, on_tree, random_policies, ranks
from tests.envs.small_trees import tree_of

SIZES = [(1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (2, 2), (2, 3), (3, 2)]
SOLVED = [(1, 3), (1, 4), (1, 5), (2, 2)]


def by_rank(game: LiarsDice, policy: NDArray[np.float64]) -> Policies:
    """A policy of the tree as those by rank."""
    tree, rank = tree_of(game), ranks(game)
    found = [np.zeros((game.num_infosets(player), game.spec.num_actions), np.float32) for player in (0, 1)]
    for player, seen, row in zip(tree.player, tree.observed, tree.to_table(policy), strict=True):
        found[player][rank[seen.tobytes()]] = row
    return found[0], found[1]


def agree(game: LiarsDice, policies: Policies) -> tuple[float, float, float]:
    """Asserts that the walk and the tree give the same three values, and returns them."""
    expected = evaluate_policy(sequence_form(tree_of(game)), on_tree(game, policies))
    found = game.evaluate(policies)
    assert found == pytest.approx((expected.value, *expected.best_responses), abs=1e-12)
    return found


@pytest.mark.parametrize(("dice", "faces"), SIZES)
def test_infosets_by_rank_are_those_of_the_tree(dice: int, faces: int) -> None:
    game = LiarsDice(dice, faces)
    tree, rank = tree_of(game), ranks(game)
    assert (game.num_infosets(0), game.num_infosets(1)) == tree.num_infosets
    assert rank.keys() == {row.tobytes() for row in tree.observed}
    legal = np.array([legal_at(game, player) for player in (0, 1)])
    expected = legal[tree.player, [rank[row.tobytes()] for row in tree.observed]]
    assert np.array_equal(tree.legal(), expected)
    for player in (0, 1):
        assert (game.mover(game.infosets(player, 0, game.num_infosets(player))) == player).all()


@pytest.mark.parametrize("zeros", [0.0, 0.6])
@pytest.mark.parametrize(("dice", "faces"), SIZES)
def test_random_policies_are_worth_what_the_tree_says(dice: int, faces: int, zeros: float) -> None:
    game = LiarsDice(dice, faces)
    value, first, second = agree(game, random_policies(game, 1, zeros))
    assert -second < value < first


@pytest.mark.parametrize(("dice", "faces"), SOLVED)
def test_equilibria_gain_nothing(dice: int, faces: int) -> None:
    game = LiarsDice(dice, faces)
    equilibrium = solve_linear_program(sequence_form(tree_of(game)))
    value, first, second = agree(game, by_rank(game, equilibrium.policy))
    assert value == pytest.approx(equilibrium.value, abs=1e-6)  # float32
    assert abs(first - value) < 1e-6
    assert abs(second + value) < 1e-6


def test_benchmark_has_the_infosets_that_are_published() -> None:
    """Two dice of five faces: 15 hands x 2^20 sets of bids."""
    game = LiarsDice(2, 5)
    count = game.num_infosets(0)
    assert count + game.num_infosets(1) == 15 * 2**20
    for player in (0, 1):
        part = game.infosets(player, count - 1000, count)
        assert np.array_equal(part[400:], game.infosets(player, count - 600, count))
        made = np.array([len(game.bids_of(state)) for state in part])
        assert (made % 2 == player).all()
        assert len(np.unique(game.observe(part, np.full(1000, player, np.int8)), axis=0)) == 1000
        assert game.infosets(player, 7, 7).shape == (0,)


def test_largest_game_ranks_its_infosets() -> None:
    game = LiarsDice(4, 8)
    count = game.num_infosets(1)
    last = game.infosets(1, count - 2, count)
    assert [game.dice_of(state, 1) for state in last] == [[7, 8, 8, 8], [8, 8, 8, 8]]
    assert [len(game.bids_of(state)) for state in last] == [63, 63]
    with pytest.raises(ValueError, match=r"^liars_dice has the infosets 0 to [\d,]+ of player 1, got start=3 and"):
        game.infosets(1, 3, 2)
    with pytest.raises(ValueError, match=f"stop={count + 1}$"):
        game.infosets(1, 0, count + 1)


@pytest.mark.parametrize("wrong", [np.nan, -0.5, 0.4, 1.5])
def test_row_without_a_distribution_is_named(wrong: float) -> None:
    game = LiarsDice(1, 3)
    first, second = random_policies(game, 2, 0.0)
    second[50] = 0
    second[50, -1], second[50, -2] = wrong, max(0.0, 1 - wrong) if wrong != 0.4 else 0
    with pytest.raises(ValueError, match=r"^the policy of player 1 at infoset 50 is not a distribution: \[0\.0, "):
        game.evaluate((first, second))


def test_arrays_of_another_shape_or_type_are_refused() -> None:
    game = LiarsDice(1, 2)
    first, second = random_policies(game, 3, 0.0)
    told = "the policy of player 1 in liars_dice must be float32[16, 5], got "
    for wrong, said in (
        (second[1:], "float32[15, 5]"),
        (second[:, 1:], "float32[16, 4]"),
        (second.astype(float), "float64[16, 5]"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(told + said)}$"):
            game.evaluate((first, wrong))
    expected = game.evaluate((first, second))
    assert game.evaluate((first, np.asfortranarray(second))) == expected
    first.flags.writeable = False
    assert game.evaluate((first, second)) == expected
    assert second.flags.writeable
