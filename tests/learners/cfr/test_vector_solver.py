"""Vector CFR against plain CFR, against published figures, and against bounds of the theory."""

import numpy as np
import pytest

from envs.goofspiel import Goofspiel
from envs.kuhn import Kuhn
from envs.leduc import Leduc
from envs.oshi_zumo import OshiZumo
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.sequence_form import sequence_form
from learners.cfr.vector_solver import VARIANTS, VectorSolver
from tests.games import random_game
from tests.learners.cfr.oracle import LEDUC_2B2R, PlainCfr, form_of, tree_of_table

SMALL = [Kuhn(), Kuhn(cards=4), Goofspiel(3), Goofspiel(3, prizes="random"), OshiZumo(coins=4)]


def plain(form, algorithm: str, alternating: bool) -> PlainCfr:
    variant = VARIANTS[algorithm]
    return PlainCfr(form.tree, **variant._replace(alternating=alternating)._asdict())


@pytest.mark.parametrize("alternating", [True, False])
@pytest.mark.parametrize("algorithm", VARIANTS)
@pytest.mark.parametrize("game", SMALL, ids=lambda game: f"{game.spec.name}-{game.spec.num_actions}")
def test_it_is_cfr_over_histories(game, algorithm: str, alternating: bool) -> None:
    form = form_of(game)
    solver, oracle = VectorSolver(form, algorithm, alternating=alternating), plain(form, algorithm, alternating)
    for _ in range(6):
        solver.run(1)
        oracle.iterate()
        assert solver.current_policy() == pytest.approx(oracle.policy, abs=1e-9)
        assert solver.average_policy() == pytest.approx(oracle.average(), abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_cfr_where_players_move_twice_and_chances_are_unequal(seed: int) -> None:
    form = sequence_form(tree_of_table(random_game(seed)))
    for algorithm in VARIANTS:
        solver, oracle = VectorSolver(form, algorithm), plain(form, algorithm, VARIANTS[algorithm].alternating)
        solver.run(8)
        for _ in range(8):
            oracle.iterate()
        assert solver.average_policy() == pytest.approx(oracle.average(), abs=1e-9)


PUBLISHED = {
    Leduc(): (("2.373611", "0.610", "0.01342"), 2.5e-4),
    OshiZumo(): ((None, "0.135", "0.0106"), 3.4e-4),
    LEDUC_2B2R: (("6.350289", "1.523", "0.063"), 2.4e-3),
    Kuhn(): (("0.458333", None, None), 8.7e-5),
    Goofspiel(): (("4.000000", "0.572", "0.0149"), 8.3e-4),
}
"""Exploitability of the average of CFR+, alternating, with linear averages, after 1, 10 and 100 iterations; after 1000
the last digits are those of rounding, so that one is near. Goofspiel's are ours: there the figures of other solvers
(0.561 or 0.625 after 10) depend on the order in which they add, see the next test."""


@pytest.mark.parametrize("game", PUBLISHED, ids=lambda game: game.spec.name)
def test_exploitabilities_of_cfr_plus(game) -> None:
    form = form_of(game)
    solver = VectorSolver(form, "cfr+")
    digits, last = PUBLISHED[game]
    for done, wanted in zip((1, 10, 100), digits, strict=True):
        solver.run(done - solver.iteration)
        found = evaluate_policy(form, solver.average_policy()).exploitability
        if wanted is not None:
            assert f"{found:.{len(wanted.partition('.')[2])}f}" == wanted
    solver.run(900)
    assert evaluate_policy(form, solver.average_policy()).exploitability == pytest.approx(last, rel=0.05)


def test_ties_are_no_matter_of_rounding() -> None:
    """In goofspiel many actions tie. Without a bound on noise, the rounding of their regrets would choose among them:
    both players, who are symmetric but add in another order, would play differently."""
    form = form_of(Goofspiel())
    solver = VectorSolver(form, "cfr+", alternating=False)
    solver.run(50)
    evaluation = evaluate_policy(form, solver.average_policy())
    first, second = evaluation.gains
    assert first == pytest.approx(second, abs=1e-9)
    assert evaluation.value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("algorithm", VARIANTS)
def test_the_bound_of_cfr_holds(algorithm: str) -> None:
    """Zinkevich et al. 2007, theorem 4: exploitability is at most D * I * sqrt(A) / sqrt(T) for each player."""
    form = form_of(Kuhn())
    solver = VectorSolver(form, algorithm, alternating=False if algorithm == "cfr" else None)
    for iterations in (10, 100, 1000):
        solver.run(iterations - solver.iteration)
        found = evaluate_policy(form, solver.average_policy())
        assert found.nash_conv <= 2 * 4 * 6 * np.sqrt(2) / np.sqrt(iterations)
    assert found.value == pytest.approx(-1 / 18, abs=0.01)


def test_pieces_of_a_run_are_the_run_to_the_bit() -> None:
    form = form_of(Leduc())
    whole, pieces = (VectorSolver(form, "dcfr") for _ in range(2))
    whole.run(30)
    for iterations in (12, 3, 15):
        pieces.run(iterations)
    assert pieces.iteration == whole.iteration == 30
    assert (pieces.average_policy() == whole.average_policy()).all()
    assert (pieces.current_policy() == whole.current_policy()).all()


def test_a_warm_start_plays_the_policy_and_begins_lower() -> None:
    form = form_of(Leduc())
    before = VectorSolver(form, "cfr+")
    before.run(200)
    policy = before.average_policy()
    solver = VectorSolver(form, "cfr+")
    solver.start_from(policy, 5)
    assert solver.average_policy() == pytest.approx(policy, abs=1e-9)
    played = form.plans(solver.current_policy())
    assert all(a == pytest.approx(b, abs=1e-9) for a, b in zip(played, form.plans(policy), strict=True))
    solver.run(5)
    cold = VectorSolver(form, "cfr+")
    cold.run(10)
    found = [evaluate_policy(form, each.average_policy()).exploitability for each in (solver, cold)]
    assert found[0] < 0.5 * found[1]


@pytest.mark.parametrize(("algorithm", "before", "after"), [("cfr", 4, 1), ("cfr+", 10, 5), ("dcfr", 30, 25)])
def test_a_warm_start_weighs_as_much_as_its_iterations(algorithm: str, before: float, after: float) -> None:
    """Of iterations 1 to 5 with weights t ** gamma, the policy of the start has the first four."""
    form = form_of(Kuhn())
    weights = np.random.default_rng(1).exponential(size=form.tree.num_slots)
    policy = weights / np.add.reduceat(weights, form.tree.slots[:-1])[form.tree.slot_infoset]
    solver = VectorSolver(form, algorithm)
    solver.start_from(policy, 2.5)
    assert solver.iteration == 3
    for state in solver._states:
        regrets = 2.5 * form.tree.max_utility * state.treeplex.from_slots(policy)
        np.testing.assert_allclose(state.regrets[1:], regrets[1:])
    solver.run(1)
    plans = zip(form.plans(policy), form.plans(solver.current_policy()), strict=True)
    solver.run(1)
    first, second = (before * own + after * new for own, new in plans)
    np.testing.assert_allclose(solver.average_policy(), form.policy((first, second)), atol=1e-12)


def test_refusals() -> None:
    form = form_of(Kuhn())
    with pytest.raises(ValueError, match="algorithm must be one of cfr, cfr"):
        VectorSolver(form, "cfr++")
    solver = VectorSolver(form)
    with pytest.raises(ValueError, match=r"infoset 0 of kuhn: \[0.0, 0.0\]"):
        solver.start_from(np.zeros(form.tree.num_slots), 1)
    with pytest.raises(ValueError, match="weight"):
        solver.start_from(form.tree.uniform(), 0)
