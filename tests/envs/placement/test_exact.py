"""The walk over the orders of stones in games of placement against compiled trees, brute force and counting."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from envs.dark_hex import DarkHex
from envs.placement.exact import UNDECIDED, evaluate, histories, outcomes
from envs.placement.game import PlacementGame
from envs.placement.ranking import listed
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.sequence_form import sequence_form
from tests.envs.exact_games import on_tree, random_policies
from tests.envs.placement.boards import FULL, ON_SMALL, SMALL, connected
from tests.envs.small_trees import tree_of


@pytest.mark.parametrize("zeros", [0.0, 0.6])
@ON_SMALL
def test_random_policies_are_worth_what_the_tree_says(game: PlacementGame, zeros: float) -> None:
    policies = random_policies(game, 1, zeros)
    expected = evaluate_policy(sequence_form(tree_of(game)), on_tree(game, policies))
    found = game.evaluate(policies)
    assert found == pytest.approx((expected.value, *expected.best_responses), abs=1e-6)  # float32
    assert found[0] < found[1] + 1e-6
    assert -found[0] < found[2] + 1e-6
    assert game.evaluate(policies, threads=3) == pytest.approx(found, abs=1e-12)


@ON_SMALL
def test_illegal_actions_are_not_read_and_rows_are_divided_by_their_sum(game: PlacementGame) -> None:
    policies = random_policies(game, 2, 0.3)
    expected = game.evaluate(policies)
    changed = []
    for player, policy in enumerate(policies):
        legal = game.legal(game.infosets(player, 0, len(policy)))
        changed.append(np.where(legal, policy * np.float32(1.00005), np.float32(7)))
    assert game.evaluate((changed[0], changed[1])) == pytest.approx(expected, abs=1e-6)


@ON_SMALL
def test_walk_visits_every_history(game: PlacementGame) -> None:
    rankings = game._rankings
    assert histories(game.won, game.abrupt, rankings) == tree_of(game).num_nodes


@ON_SMALL
def test_early_ends_change_no_value(game: PlacementGame) -> None:
    policies = random_policies(game, 3, 0.3)
    slots = []
    for player, (ranking, policy) in enumerate(zip(game._rankings, policies, strict=True)):
        assert len(listed(ranking, 0, len(policy))[0]) == len(policy)
        slots.append(policy[game.legal(game.infosets(player, 0, len(policy)))])
    found = [
        evaluate(outcomes(game.won, game.abrupt, early), game.abrupt, game._rankings, slots, 1)
        for early in (False, True)
    ]
    assert found[0] == pytest.approx(found[1], abs=1e-6)


@pytest.mark.parametrize("name", ["dark_hex-2x3", "dark_hex-2x3-abrupt", "phantom_ttt", "phantom_ttt_abrupt"])
def test_settled_outcomes_are_those_of_all_continuations(name: str) -> None:
    game = (SMALL | FULL)[name]
    cells = game.spec.num_actions

    @cache
    def reachable(first: int, second: int, mover: int) -> frozenset[int]:
        """The returns of player 0 in all continuations; in the abrupt game either player may be next to place."""
        if game.won[0, first] or game.won[1, second]:
            return frozenset({1 if game.won[0, first] else -1})
        if (first | second) + 1 == 1 << cells:
            return frozenset({0})
        found: set[int] = set()
        for cell in range(cells):
            if not (first | second) >> cell & 1:
                for player in (0, 1) if game.abrupt else (mover,):
                    stones = (first | 1 << cell, second) if player == 0 else (first, second | 1 << cell)
                    found |= reachable(*stones, 1 - player)
        return frozenset(found)

    early, late = (outcomes(game.won, game.abrupt, each) for each in (True, False))
    settled = 0
    for place in range(3**cells):
        digits = [place // 3**cell % 3 for cell in range(cells)]
        first, second = (sum(1 << cell for cell in range(cells) if digits[cell] == who) for who in (1, 2))
        if game.won[0, first] and game.won[1, second]:
            continue
        over = bool(game.won[0, first] or game.won[1, second] or (first | second) + 1 == 1 << cells)
        for mover in (0, 1):
            expected = reachable(first, second, mover)
            assert early[place, mover] == (next(iter(expected)) if len(expected) == 1 else UNDECIDED)
            assert late[place, mover] == (early[place, mover] if over else UNDECIDED)
            settled += len(expected) == 1 and not over
    # In abrupt hex the player to move may lose every turn, so that either may still win on any empty cells.
    assert (settled > 0) == (name != "dark_hex-2x3-abrupt")


@pytest.mark.slow
def test_uniform_play_on_3x3_is_worth_a_third() -> None:
    """Uniform tries place each stone uniformly on the empty cells, so every filling of the board is as likely.

    More stones after the end change no winner, so that the full board decides, on which player 0 has five stones.
    """
    game = DarkHex()
    wins = [connected(game, 0, frozenset(stones)) for stones in combinations(range(9), 5)]
    assert sum(wins) / len(wins) == pytest.approx(2 / 3, abs=1e-12)
    policies = []
    for player in (0, 1):
        policy = np.zeros((game.num_infosets(player), 9), np.float32)
        for start in range(0, len(policy), 1 << 20):
            part = policy[start : start + (1 << 20)]
            legal = game.legal(game.infosets(player, start, start + len(part)))
            part[:] = legal / legal.sum(axis=1, keepdims=True)
        policies.append(policy)
    value, first, second = game.evaluate((policies[0], policies[1]), threads=2)
    assert value == pytest.approx(1 / 3, abs=1e-6)
    assert first > value
    assert second > -value


@pytest.mark.parametrize("wrong", [np.nan, -0.5, 0.4, 1.5])
def test_row_without_a_distribution_is_named(wrong: float) -> None:
    game = SMALL["dark_hex-2x2"]
    first, second = random_policies(game, 4, 0.0)
    first[0] = 0
    first[0, 1], first[0, 2] = wrong, max(0.0, 1 - wrong) if wrong != 0.4 else 0
    with pytest.raises(ValueError, match=r"^the policy of player 0 at infoset 0 is not a distribution: \[0\.0, "):
        game.evaluate((first, second))


def test_arrays_of_another_shape_or_type_are_refused() -> None:
    game = SMALL["dark_hex-2x2"]
    first, second = random_policies(game, 5, 0.0)
    for wrong in (second[1:], second[:, 1:], second.astype(float)):
        with pytest.raises(ValueError, match=r"^the policy of player 1 in dark_hex must be float32\[53, 4\], got "):
            game.evaluate((first, wrong))
    assert game.evaluate((first, np.asfortranarray(second))) == game.evaluate((first, second))
