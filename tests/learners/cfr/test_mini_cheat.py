"""Mini-Cheat solved by CFR+ and by linear programming."""

from functools import cache

import numpy as np
import pytest

from dancfr.games.registry import make_game
from envs.extensive import CHANCE
from envs.tree import Tree
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.linear_program import solve_linear_program
from learners.cfr.vector_solver import VectorSolver
from tests.learners.cfr.oracle import form_of


@cache
def game_of(health: int, discards: str):
    return make_game("mini-cheat", health=health, discards=discards)


def value_to_who_begins(tree: Tree, policy: np.ndarray) -> float:
    """Return of player 0 where he begins, which all know: the first half of the deals."""
    slot = tree.node_slots()
    weight = np.where(slot >= 0, policy[slot], tree.probability)
    value = tree.utility.copy()
    for begin, end in zip(tree.levels[-2:1:-1], tree.levels[:2:-1], strict=True):
        np.add.at(value, tree.parent[begin:end], weight[begin:end] * value[begin:end])
    assert tree.mover[0] == CHANCE
    deals = np.arange(tree.levels[1], tree.levels[2])
    mine = deals[: len(deals) // 2]
    return float(weight[mine] @ value[mine] / weight[mine].sum())


@pytest.mark.parametrize("health", [1, 2])
def test_cfr_plus_finds_what_the_linear_program_finds(health: int) -> None:
    """The game is symmetric, since both begin as often; the worth of beginning is a value of its own."""
    found = {}
    for discards in ("sets", "cards"):
        form = form_of(game_of(health, discards))
        exact = solve_linear_program(form)
        assert exact.value == pytest.approx(0, abs=1e-9)
        assert evaluate_policy(form, exact.policy).exploitability == pytest.approx(0, abs=1e-9)
        solver = VectorSolver(form, "cfr+")
        solver.run(1000)
        evaluated = evaluate_policy(form, solver.average_policy())
        assert evaluated.exploitability < 5e-5
        assert evaluated.value == pytest.approx(0, abs=1e-4)
        found[discards] = value_to_who_begins(form.tree, exact.policy)
        assert value_to_who_begins(form.tree, solver.average_policy()) == pytest.approx(found[discards], abs=2e-4)
    assert found["sets"] == pytest.approx(found["cards"], abs=1e-9), "both are the same game"
    assert found["sets"] == pytest.approx({1: 1 / 45, 2: 2 / 15}[health], abs=1e-9)
