"""Payoffs of any size: tiny, huge and equal ones, and returns that sum to a constant."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from envs.extensive import OVER
from envs.game import States
from envs.tree import Tree, compile_tree
from learners.cfr.exact_evaluation import best_response, evaluate_policy
from learners.cfr.linear_program import solve_linear_program
from learners.cfr.sequence_form import sequence_form
from learners.cfr.solver import ALGORITHMS, make_solver
from learners.value_functions.limit import Limit
from learners.value_functions.parts import split_game
from learners.value_functions.samples import random_plans, solve_samples, typical_value
from learners.value_functions.settings import ValueSolving
from tests.envs.test_own_game import OneCard


class Stakes(OneCard):
    """One-card poker with another unit, another number of cards, and a prize for both players."""

    state = np.dtype([("mover", np.int8), ("high", np.int32), ("bet", np.int8), ("call", np.int8)])

    def __init__(self, unit: float, cards: int = 2, prize: float = 0.0) -> None:
        super().__init__()
        self.unit, self.cards, self.prize = unit, cards, prize
        self.spec = replace(self.spec, name="stakes", packed_size=6, max_return=max(2 * unit + prize, 1e-300))

    def chance(self, states: States) -> NDArray[np.float64]:
        return np.full((len(states), self.cards), 1 / self.cards)

    def utilities(self, states: States) -> NDArray[np.float64]:
        cards = states.copy()
        cards["high"] %= 2
        prize = np.where(states["mover"] == OVER, self.prize, 0.0)
        return self.unit * np.asarray(super().utilities(cards), np.float64) + prize[:, None]

    def observe(self, states: States, players: NDArray[np.int8]) -> NDArray[np.uint8]:
        card = np.where(players == 0, states["high"] + 1, 0).astype(np.uint32)
        return np.column_stack([players, card[:, None].view(np.uint8), states["bet"] + 1]).astype(np.uint8)


@pytest.mark.parametrize(("unit", "cards"), [(1e-12, 2), (1e-6, 40_000), (1e19, 2), (1e60, 20)])
def test_solutions_do_not_depend_on_the_unit(unit: float, cards: int) -> None:
    form, plain = sequence_form(compile_tree(Stakes(unit, cards))), sequence_form(compile_tree(Stakes(1.0, cards)))
    assert form.tree.action.max() == max(cards, 2) - 1
    exact = solve_linear_program(form)
    assert exact.value / unit == pytest.approx(1 / 3, abs=1e-6)
    assert evaluate_policy(form, exact.policy).exploitability < 1e-6 * unit
    if cards > 100:
        return
    for algorithm in ALGORITHMS:
        found = []
        for each in (form, plain):
            solver = make_solver(each, algorithm, 1)
            solver.run(50)
            solver.start_from(solver.average_policy(), 5.0)
            solver.run(50)
            found.append(evaluate_policy(each, solver.average_policy()))
        assert found[0].exploitability / unit == pytest.approx(found[1].exploitability), algorithm


def test_equal_returns_are_solved() -> None:
    form = sequence_form(compile_tree(Stakes(0.0)))
    assert solve_linear_program(form).value == 0
    for algorithm in ALGORITHMS:
        solver = make_solver(form, algorithm, 1)
        solver.run(10)
        found = evaluate_policy(form, solver.average_policy()).as_dict()
        assert (found["value"], found["exploitability"], found["max_utility"]) == (0, 0, 0)
        assert found["normalised"] == {"exploitability": 0, "nash_conv": 0}


def test_value_samples_do_not_depend_on_the_unit() -> None:
    solving, found = ValueSolving(), []
    for unit in (1.0, 2.0**-40, 0.0):
        game = Stakes(unit, 20)
        split, rng = split_game(game, Limit.parse("actions:1")), np.random.default_rng(1)
        rows, gap = solve_samples(split, random_plans(split, 20, solving, rng), solving, rng)
        found.append((rows["values"].max(), gap, typical_value(split)))
        assert gap < 1e-3
    assert [value / 2.0**-40 for value in found[1]][::2] == pytest.approx(found[0][::2], rel=1e-5)
    assert found[2][:2] == (0, 0)
    for unit in (1e-40, 1e60):
        with pytest.raises(ValueError, match=r"stakes: returns must be from 1e-25 to 1e\+25 here"):
            split_game(Stakes(unit), Limit.parse("actions:1"))


def test_returns_of_a_constant_sum_are_shifted() -> None:
    plain: Tree = compile_tree(Stakes(1.0))
    tree = compile_tree(Stakes(1.0, prize=0.5))
    assert (tree.shift, tree.max_utility) == (0.5, plain.max_utility)
    assert np.array_equal(tree.utility, plain.utility)
    policy = tree.uniform()
    shifted, zero = (evaluate_policy(sequence_form(each), policy) for each in (tree, plain))
    assert shifted.value == zero.value + 0.5
    assert shifted.best_responses == tuple(value + 0.5 for value in zero.best_responses)
    assert best_response(sequence_form(tree), policy, 1)[0] == shifted.best_responses[1]
    assert (shifted.gains, shifted.nash_conv) == (zero.gains, zero.nash_conv)
    assert shifted.as_dict()["returns_sum"] == 1
    exact = solve_linear_program(sequence_form(tree))
    assert exact.value == pytest.approx(1 / 3 + 0.5)
    assert evaluate_policy(sequence_form(tree), exact.policy).value == pytest.approx(exact.value)


@pytest.mark.parametrize("prize", [np.nan, np.inf])
def test_returns_that_are_not_finite_are_refused(prize: float) -> None:
    with pytest.raises(ValueError, match="stakes has returns that are not finite"):
        compile_tree(Stakes(1.0, prize=prize))
