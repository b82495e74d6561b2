"""Liar's dice beside OpenSpiel's `liars_dice`: the same games move for move, with the same infosets."""

from itertools import product
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspiel")

import pyspiel

from envs.game import States
from envs.liars_dice import LiarsDice
from envs.openspiel import correspond, to_openspiel_policy
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.linear_program import solve_linear_program
from learners.cfr.sequence_form import sequence_form
from tests.envs.beside_openspiel import compare
from tests.envs.small_trees import tree_of

SIZES = [(1, 3), (1, 6), (2, 2), (2, 5), (3, 3), (5, 6)]


def theirs(game: LiarsDice) -> Any:
    return pyspiel.load_game(f"liars_dice(players=2,numdice={game.dice},dice_sides={game.faces})")


class Infosets:
    """Which infosets of OpenSpiel came with which packed infostates: neither may ever come with two of the other."""

    def __init__(self, game: LiarsDice) -> None:
        self.game = game
        self.packed: dict[tuple[int, str], bytes] = {}
        self.strings: dict[bytes, tuple[int, str]] = {}
        self.visits = 0

    def add(self, states: States, spiel: Any) -> None:
        for player in (0, 1):
            label = player, spiel.information_state_string(player)
            packed = self.game.observe(states, np.array([player], np.int8))[0].tobytes()
            assert self.packed.setdefault(label, packed) == packed
            assert self.strings.setdefault(packed, label) == label
            self.visits += 1


def deal(game: LiarsDice, spiel: Any, rolls: tuple[int, ...]) -> States:
    """Deals dice, those of player 0 first, to a new game of ours and to a state of OpenSpiel."""
    for face in rolls:
        spiel.apply_action(face)
    states = game.initial(1)
    hands = game.hands.dice.tolist()
    for own in (rolls[: game.dice], rolls[game.dice :]):
        game.apply(states, np.array([hands.index(sorted(own))]))
    return states


@pytest.mark.parametrize(("dice", "faces"), SIZES)
def test_random_games_are_those_of_openspiel(dice: int, faces: int) -> None:
    game, rng = LiarsDice(dice, faces), np.random.default_rng((dice, faces))
    other, seen, ends = theirs(game), Infosets(game), set()
    assert game.spec.num_actions == other.num_distinct_actions()
    for _ in range(400):
        spiel = other.new_initial_state()
        states = deal(game, spiel, tuple(rng.integers(faces, size=2 * dice).tolist()))
        while legal := compare(game, states, spiel):
            seen.add(states, spiel)
            action = int(rng.choice(legal[: 1 + rng.integers(len(legal))]))
            game.step(states, np.array([action]), rng)
            spiel.apply_action(action)
        seen.add(states, spiel)
        ends.add(spiel.returns()[0])
    assert ends == {1.0, -1.0}
    assert seen.visits > len(seen.packed)


@pytest.mark.parametrize(("dice", "faces"), [(1, 3), (2, 2)])
def test_infosets_are_those_of_openspiel_with_sorted_dice(dice: int, faces: int) -> None:
    """All histories: two are in one infoset of ours if and only if they are in one of OpenSpiel's."""
    game = LiarsDice(dice, faces)
    other, seen, decisions = theirs(game), Infosets(game), set()
    for rolls in product(range(faces), repeat=2 * dice):
        spiel = other.new_initial_state()
        stack = [(deal(game, spiel, rolls), spiel)]
        while stack:
            states, spiel = stack.pop()
            seen.add(states, spiel)
            for action in compare(game, states, spiel):
                mover = int(states["mover"][0])
                decisions.add((mover, game.observe(states, np.array([mover], np.int8))[0].tobytes()))
                after = states.copy()
                game.apply(after, np.array([action]))
                stack.append((after, spiel.child(action)))
    assert len(decisions) == sum(tree_of(game).num_infosets)


@pytest.mark.parametrize("faces", [2, 3, 4])
def test_linear_programs_policy_is_an_equilibrium_in_openspiel(faces: int) -> None:
    game = LiarsDice(1, faces)
    tree, other = tree_of(game), theirs(game)
    link = correspond(tree, other)
    assert (link.scale, link.same, len(link.infosets)) == (1.0, True, len(tree.player))
    form = sequence_form(tree)
    policy = solve_linear_program(form).policy
    assert abs(pyspiel.nash_conv(other, to_openspiel_policy(tree, policy, link))) < 1e-9
    uniform = tree.uniform()
    expected = evaluate_policy(form, uniform).nash_conv
    assert pyspiel.nash_conv(other, to_openspiel_policy(tree, uniform, link)) == pytest.approx(expected, abs=1e-9)
