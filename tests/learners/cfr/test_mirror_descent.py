"""Magnetic mirror descent against its formula by plain enumeration, and against the equilibria it converges to."""

import numpy as np
import pytest

from envs.goofspiel import Goofspiel
from envs.kuhn import Kuhn
from envs.leduc import Leduc
from envs.oshi_zumo import OshiZumo
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.linear_program import solve_linear_program
from learners.cfr.mirror_descent import MirrorDescentSolver
from learners.cfr.sequence_form import sequence_form
from learners.cfr.solver import make_solver
from tests.games import random_game
from tests.learners.cfr.oracle import form_of, tree_of_table
from tests.learners.policy_gradient.exact import action_values, logit_equilibrium


def updated(tree, policy, temperature: float, step: float):
    """The next policy, straight from the formula."""
    new = (policy * np.exp(step * action_values(tree, policy) / tree.max_utility)) ** (1 / (1 + step * temperature))
    return new / np.add.reduceat(new, tree.slots[:-1])[tree.slot_infoset]


def check_updates(form, anneal: bool) -> None:
    solver = MirrorDescentSolver(form, temperature=0.3, step_size=2.0, anneal=anneal)
    policy, plans = form.tree.uniform(), []
    for t in range(1, 7):
        scale = t**-0.5 if anneal else 1.0
        plans.append(form.plans(policy))
        policy = updated(form.tree, policy, 0.3 * scale, 2.0 * scale)
        solver.run(1)
        assert solver.current_policy() == pytest.approx(policy, abs=1e-12)
    first, second = (np.mean([pair[p] for pair in plans], axis=0) for p in (0, 1))
    assert solver.average_policy() == pytest.approx(form.policy((first, second)), abs=1e-12)


@pytest.mark.parametrize("anneal", [True, False])
@pytest.mark.parametrize("game", [Kuhn(), Goofspiel(3, prizes="random"), OshiZumo(coins=4)], ids=lambda g: g.spec.name)
def test_an_iteration_is_the_formula(game, anneal: bool) -> None:
    check_updates(form_of(game), anneal)


@pytest.mark.parametrize("seed", range(4))
def test_an_iteration_is_the_formula_where_players_move_twice_and_chances_are_unequal(seed: int) -> None:
    check_updates(sequence_form(tree_of_table(random_game(seed))), anneal=True)


@pytest.mark.parametrize("temperature", [0.5, 0.1])
def test_with_a_constant_temperature_it_finds_the_quantal_response_equilibrium(temperature: float) -> None:
    form = form_of(Kuhn())
    solver = MirrorDescentSolver(form, temperature=temperature, step_size=0.5, anneal=False)
    solver.run(20_000)
    expected = logit_equilibrium(form.tree, temperature * form.tree.max_utility)
    assert solver.current_policy() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("game", "iterations", "bound"), [(Kuhn(), 100_000, 0.001), (Goofspiel(3), 100_000, 0.002), (Leduc(), 5_000, 0.2)]
)
def test_the_last_iterate_goes_to_an_equilibrium(game, iterations: int, bound: float) -> None:
    form = form_of(game)
    solver = MirrorDescentSolver(form)
    solver.run(iterations)
    last = evaluate_policy(form, solver.current_policy())
    assert last.exploitability < bound
    assert last.value == pytest.approx(solve_linear_program(form).value, abs=bound)
    assert evaluate_policy(form, solver.average_policy()).exploitability < 4 * bound


def test_pieces_of_a_run_are_the_run_bit_for_bit() -> None:
    form = form_of(Leduc())
    whole, pieces = (make_solver(form, "mmd", step_size=2.0) for _ in range(2))
    whole.run(30)
    pieces.run(11)
    pieces.run(19)
    assert pieces.iteration == 30
    assert pieces.nodes == whole.nodes == 60 * form.tree.num_nodes
    assert (pieces.current_policy() == whole.current_policy()).all()
    assert (pieces.average_policy() == whole.average_policy()).all()


def test_it_starts_from_a_policy() -> None:
    form = form_of(Kuhn())
    solver = MirrorDescentSolver(form, temperature=0.1, step_size=0.5, anneal=False)
    solver.run(20_000)
    again = MirrorDescentSolver(form, temperature=0.1, step_size=0.5, anneal=False)
    again.start_from(solver.current_policy(), 1.0)
    assert again.current_policy() == pytest.approx(solver.current_policy(), abs=1e-12)
    again.run(1)
    assert again.current_policy() == pytest.approx(solver.current_policy(), abs=1e-6)
    begun = MirrorDescentSolver(form)
    begun.start_from(form.tree.uniform(), 3.0)
    begun.run(1)
    plans = zip(form.plans(form.tree.uniform()), form.plans(begun.current_policy()), strict=True)
    begun.run(1)
    first, second = (4 * own + new for own, new in plans)
    assert begun.average_policy() == pytest.approx(form.policy((first, second)), abs=1e-12), "three more of the start"
    pure = solve_linear_program(form).policy
    with pytest.raises(ValueError, match="probability 0"):
        again.start_from(pure, 1.0)


@pytest.mark.parametrize("options", [{"temperature": 0.0}, {"step_size": float("inf")}, {"temperature": float("nan")}])
def test_numbers_out_of_bounds_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        MirrorDescentSolver(form_of(Kuhn()), **options)
