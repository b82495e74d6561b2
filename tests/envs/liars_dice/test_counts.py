"""Counts of liar's dice by enumeration and by formula, and the values of small sizes."""

from collections import Counter
from itertools import product
from math import comb

import numpy as np
import pytest

import dancfr
from envs.liars_dice import LiarsDice
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.linear_program import solve_linear_program
from learners.cfr.sequence_form import sequence_form
from tests.envs.small_trees import tree_of


@pytest.mark.parametrize(("dice", "faces"), [(1, 6), (2, 5), (3, 4), (5, 6)])
def test_hands_are_all_multisets_of_dice(dice: int, faces: int) -> None:
    hands = LiarsDice(dice, faces).hands
    rolls = Counter(tuple(sorted(roll)) for roll in product(range(faces), repeat=dice))
    assert [tuple(row) for row in hands.dice.tolist()] == sorted(rolls)
    assert len(rolls) == comb(dice + faces - 1, dice)
    assert np.allclose(hands.probability * faces**dice, [rolls[hand] for hand in sorted(rolls)], rtol=1e-14)
    for hand, row in zip(sorted(rolls), hands.matching.tolist(), strict=True):
        assert row == [sum(die in (face, faces - 1) for die in hand) for face in range(faces)]


@pytest.mark.parametrize(("dice", "faces"), [(1, 2), (1, 3), (1, 4), (1, 5), (2, 2)])
def test_tree_has_a_public_state_for_each_set_of_bids(dice: int, faces: int) -> None:
    game = LiarsDice(dice, faces)
    tree, hands, sets = tree_of(game), comb(dice + faces - 1, dice), 2**game.bids
    assert tree.num_infosets == (hands * sets // 2, hands * sets // 2)
    assert tree.num_public_states == 2 + sets + sets - 1  # the deals, the sets, a call after each but the empty one
    assert tree.num_nodes == 1 + hands + hands**2 * (2 * sets - 1)


@pytest.mark.parametrize(("dice", "faces"), [(1, 3), (2, 2), (1, 4)])
def test_encoding_shows_dice_as_thermometers_actions_and_who_made_the_last(dice: int, faces: int) -> None:
    game, seen = LiarsDice(dice, faces), set()
    bids, actor = 2 + dice * faces, game.spec.shapes["flat"][0] - 2
    for packed in tree_of(game).observed:
        player, hand, bits = (
            int(packed[0]),
            packed[1 : 1 + dice].tolist(),
            np.unpackbits(packed[1 + dice :], bitorder="little"),
        )
        made = np.flatnonzero(bits).tolist()
        counts = Counter(die - 1 for die in hand)
        ones = [player, *(2 + face * dice + count for face in counts for count in range(counts[face]))]
        ones += [bids + action for action in made]
        if made:
            last = (len(made) - 1) % 2  # player 0 makes the first action
            ones.append(actor + (last != player))
        assert np.flatnonzero(game.encode(packed[None])[0]).tolist() == sorted(ones)
        seen.add((player, len(made) % 2))
    assert len(seen) > 1


VALUES = [(1, 2, 1 / 2), (1, 3, 1 / 9), (1, 4, 1 / 16), (1, 5, 1 / 125), (2, 2, 7 / 8)]


@pytest.mark.parametrize(("dice", "faces", "value"), VALUES)
def test_values_by_linear_program(dice: int, faces: int, value: float) -> None:
    form = sequence_form(tree_of(LiarsDice(dice, faces)))
    equilibrium = solve_linear_program(form)
    assert equilibrium.value == pytest.approx(value, abs=1e-9)
    assert evaluate_policy(form, equilibrium.policy).exploitability < 1e-9


def test_two_faces_are_decided_by_the_highest_sure_bid() -> None:
    """All four dice count for face 1, so that player 0 bids four of it, and loses only to four wild dice."""
    game = LiarsDice(2, 2)
    assert game.describe_action(6) == "4x1"
    tree = tree_of(game)
    form = sequence_form(tree)
    policy = tree.uniform()
    first = [infoset for infoset in range(tree.num_infosets[0]) if tree.parent_slot[infoset] < 0]
    for infoset in first:
        slots = slice(tree.slots[infoset], tree.slots[infoset + 1])
        policy[slots] = tree.slot_action[slots] == 6
    assert evaluate_policy(form, policy).best_responses[1] == pytest.approx(-(1 - 2 / 16), abs=1e-12)


def test_the_program_solves_liars_dice() -> None:
    solution = dancfr.solve("liars_dice5", iterations=300)
    assert abs(solution.value - 1 / 125) < 1e-3
    assert solution.exploitability < 1e-3


@pytest.mark.slow
def test_value_of_six_faces() -> None:
    assert dancfr.solve("liars_dice", algorithm="lp").value == pytest.approx(-7 / 258, abs=1e-9)
