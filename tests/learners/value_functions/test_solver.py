"""DL-CFR+ and CFR-D: iteration by iteration against plain recursive CFR, and their convergence to equilibria."""

import numpy as np
import pytest

from envs.goofspiel import Goofspiel
from envs.kuhn import Kuhn
from envs.leduc import Leduc
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.linear_program import solve_linear_program
from learners.cfr.vector_solver import VectorSolver
from learners.value_functions.batched import BatchSolver
from learners.value_functions.completion import complete
from learners.value_functions.exploitability import TrunkEvaluator
from learners.value_functions.solver import VARIANTS, DepthLimitedSolver, SolvedValues, ZeroValues
from learners.value_functions.trunks import normalise, plans_of, random_policies, ranges_of
from tests.envs.small_trees import chances, tree_of
from tests.learners.cfr.oracle import PlainCfr, form_of
from tests.learners.value_functions.oracle import (
    LARGER,
    SMALL,
    border_of,
    by_sequence,
    by_slot,
    cut,
    named,
    numbers,
    random_policy,
    returns,
    trunk_exploitability,
    trunk_slots,
)


class PlayedValues:
    """Values of the histories at the limit if a fixed policy is played below, whatever the ranges."""

    def __init__(self, case, policy) -> None:
        tree, (nodes, _) = tree_of(case[0]), border_of(*case)
        number = [numbers(tree, nodes, player) for player in (0, 1)]
        value, chance = returns(tree, policy), chances(tree)
        self.worth = np.zeros((len(number[0]), len(number[1])))
        for node in nodes:
            first, second = (number[player][int(tree.history[node, player])] for player in (0, 1))
            self.worth[first, second] += chance[node] * value[node]

    def values(self, ranges):
        return self.worth @ ranges[1], -self.worth.T @ ranges[0]


class PlainTrunk(PlainCfr):
    """CFR by recursion over histories that leaves the policy of the bottom as it is."""

    def __init__(self, case, policy, **options) -> None:
        super().__init__(tree_of(case[0]), **options)
        self.upper = np.zeros(self.tree.num_slots, bool)
        self.upper[[slot for player in (0, 1) for slot in trunk_slots(*case, player)]] = True
        self.bottom = policy
        self.policy = np.where(self.upper, self.policy, policy)

    def _update(self, player, gained) -> None:
        super()._update(player, gained)
        self.policy = np.where(self.upper, self.policy, self.bottom)


def slots_of(split, policies, column: int = 0):
    return by_slot(split, [(p, own[:, column]) for p, own in zip(split.trunk.players, policies, strict=True)])


@pytest.mark.parametrize("algorithm", VARIANTS)
@pytest.mark.parametrize("case", SMALL, ids=named)
def test_it_is_cfr_over_histories_with_the_bottom_left_alone(case, algorithm: str) -> None:
    split, tree, variant = cut(*case), tree_of(case[0]), VARIANTS[algorithm]
    policy = random_policy(tree, np.random.default_rng(37))
    options = {"floor": variant.floor, "alternating": variant.alternating, "gamma": variant.gamma}
    plain = PlainTrunk(case, policy, **options)
    even = tuple(by_sequence(treeplex, tree, tree.uniform())[:, None] for treeplex in split.trunk.players)
    solver = DepthLimitedSolver(split, PlayedValues(case, policy), algorithm, even)
    for _ in range(8):
        solver.run(1)
        plain.iterate()
        for found, wanted in (
            (solver.current_policies(), plain.policy),
            (solver.average_policies(), plain.average()),
        ):
            np.testing.assert_allclose(slots_of(split, found)[plain.upper], wanted[plain.upper], atol=1e-9)
    for plan, policies, treeplex in zip(solver.plans, solver.current_policies(), split.trunk.players, strict=True):
        own = policies[:, 0].copy()
        for j in range(len(treeplex.parent)):
            own[treeplex.begin[j] : treeplex.begin[j + 1]] *= own[treeplex.parent[j]]
        np.testing.assert_allclose(plan[:, 0], own, atol=1e-12)


@pytest.mark.parametrize(("algorithm", "whole"), [("dl-cfr+", "cfr+"), ("cfr-d", "cfr")])
def test_where_the_bottom_is_forced_it_is_the_solver_of_the_whole_game(algorithm: str, whole: str) -> None:
    """Goofspiel cut before the last card. With the rules' values in float64 to the last digit; with solved ones, which
    are float32, nearly."""
    case = (Goofspiel(3), "actions:4")
    split, form = cut(*case), form_of(case[0])
    upper = [slot for player in (0, 1) for slot in trunk_slots(*case, player)]
    exact = VectorSolver(form, whole)
    solver = DepthLimitedSolver(split, PlayedValues(case, split.tree.uniform()), algorithm)
    solved = DepthLimitedSolver(split, SolvedValues(split, 1), algorithm)
    for _ in range(30):
        for each in (exact, solver, solved):
            each.run(1)
        found = slots_of(split, solver.average_policies())
        np.testing.assert_allclose(found[upper], exact.average_policy()[upper], atol=1e-9)
    for each in (exact, solved):
        each.run(200)
    policy = slots_of(split, solved.average_policies())
    limit = evaluate_policy(form, exact.average_policy()).exploitability
    assert evaluate_policy(form, policy).exploitability <= limit + 1e-3 * form.tree.max_utility


@pytest.mark.parametrize("case", SMALL + LARGER[:3], ids=named)
def test_with_the_bottom_solved_the_trunk_comes_to_an_equilibrium(case) -> None:
    split = cut(*case)
    solver = DepthLimitedSolver(split, SolvedValues(split, 200))
    solver.run(200)
    found = TrunkEvaluator(split, 500).evaluate(plans_of(split.trunk, solver.average_policies()))
    assert found.exploitability[0] < 0.004 * split.tree.max_utility
    exact = trunk_exploitability(*case, slots_of(split, solver.average_policies()))
    assert exact < 0.003 * split.tree.max_utility


@pytest.mark.parametrize("case", [SMALL[1], SMALL[2], SMALL[5], SMALL[8]], ids=named)
def test_cfr_d_comes_there_too(case) -> None:
    split = cut(*case)
    solver = DepthLimitedSolver(split, SolvedValues(split, 100), "cfr-d")
    losses = []
    for done in (1, 600):
        solver.run(done - solver.iteration)
        losses.append(trunk_exploitability(*case, slots_of(split, solver.average_policies())) / split.tree.max_utility)
    assert losses[1] < 0.02
    assert losses[1] < max(losses[0] / 2, 1e-3)


@pytest.mark.parametrize(
    "case", [(Kuhn(), "actions:1"), (Goofspiel(3), "actions:2"), (Goofspiel(4), "actions:4")], ids=named
)
def test_without_a_value_function_it_does_not(case) -> None:
    """Where games hardly end above the limit zeros tell nothing: the policy stays uniform, or gets worse."""
    split = cut(*case)
    solver = DepthLimitedSolver(split, ZeroValues())
    solver.run(200)
    exact = trunk_exploitability(*case, slots_of(split, solver.average_policies()))
    assert exact == pytest.approx(trunk_exploitability(*case, split.tree.uniform()), abs=1e-6), "no end above"
    assert exact > 0.02 * split.tree.max_utility


def test_leduc_needs_its_second_round() -> None:
    """Games do end in the first round, by folding, but with zeros the policy is far from an equilibrium."""
    case = (Leduc(), "chances:3")
    split = cut(*case)
    losses = []
    for function in (ZeroValues(), SolvedValues(split, 60)):
        solver = DepthLimitedSolver(split, function)
        solver.run(60)
        found = TrunkEvaluator(split, 300).evaluate(plans_of(split.trunk, solver.average_policies()))
        losses.append(found.exploitability[0] / 13)
    assert losses[0] > 0.015
    assert losses[1] < min(losses[0] / 5, 0.004)


@pytest.mark.parametrize("algorithm", VARIANTS)
@pytest.mark.parametrize("case", [SMALL[1], SMALL[5], SMALL[8]], ids=named)
def test_starts_side_by_side_are_those_starts_one_by_one(case, algorithm: str) -> None:
    split = cut(*case)
    start = random_policies(split, 4, np.random.default_rng(41))
    together = DepthLimitedSolver(split, SolvedValues(split, 20), algorithm, start)
    together.run(15)
    for k in range(4):
        alone = DepthLimitedSolver(
            split, SolvedValues(split, 20), algorithm, (start[0][:, k : k + 1], start[1][:, k : k + 1])
        )
        alone.run(15)
        for name in ("current_policies", "average_policies"):
            for found, wanted in zip(getattr(together, name)(), getattr(alone, name)(), strict=True):
                np.testing.assert_allclose(found[:, k], wanted[:, 0], atol=1e-9)


def test_a_uniform_start_is_no_start() -> None:
    split = cut(Kuhn(), "actions:1")
    first, second = DepthLimitedSolver(split, ZeroValues()).current_policies()
    solvers = [DepthLimitedSolver(split, SolvedValues(split, 50), start=s) for s in (None, (first, second))]
    for solver in solvers:
        solver.run(10)
    for found, wanted in zip(*(solver.average_policies() for solver in solvers), strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert first[1:].tolist() == [[0.5]] * 6
    assert solvers[0].iteration == 10


def test_before_the_first_iteration_averages_are_uniform() -> None:
    split = cut(Goofspiel(3), "actions:2")
    for own in DepthLimitedSolver(split, ZeroValues()).average_policies():
        np.testing.assert_allclose(own[1:], 1 / 3)


def test_an_algorithm_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match=r"algorithm .* dl-cfr\+, cfr-d.*'cfr'"):
        DepthLimitedSolver(cut(Kuhn(), "actions:1"), ZeroValues(), "cfr")


@pytest.mark.parametrize("case", SMALL + LARGER[:4], ids=named)
def test_a_completed_policy_is_its_trunk_and_equilibria_below(case) -> None:
    """At the trunk of an equilibrium its value is the game's; and a player who deviates only below the limit gains
    nothing. (One who deviates above may: subgames are solved for the ranges of the trunk, without a gadget.)"""
    split, form = cut(*case), form_of(case[0])
    tree, largest = form.tree, form.tree.max_utility
    exact = solve_linear_program(form)
    own = tuple(by_sequence(treeplex, tree, exact.policy)[:, None] for treeplex in split.trunk.players)
    policy = complete(split, own, 1000)
    assert policy.shape == (tree.num_slots,)
    found = evaluate_policy(form, policy)  # refuses all but distributions
    assert found.value == pytest.approx(exact.value, abs=1e-3 * largest)
    for player in (0, 1):
        slots = trunk_slots(*case, player)
        np.testing.assert_allclose(policy[slots], exact.policy[slots], atol=1e-6)
    ranges, _ = normalise(split, ranges_of(split, plans_of(split.trunk, own)))
    single = tuple(r.astype(np.float32) for r in ranges)
    solver = BatchSolver(split.bottom, single)
    played = tuple(by_sequence(treeplex, tree, policy)[:, None].astype(np.float32) for treeplex in split.bottom.players)
    for player in (0, 1):
        gain = solver.best_values(played, player) - solver.values(played, player)
        assert gain.max() <= 2e-3 * largest
        assert gain.min() >= -1e-5 * largest


@pytest.mark.parametrize("case", [SMALL[0], SMALL[4], SMALL[5], SMALL[6], SMALL[8], SMALL[9], LARGER[0]], ids=named)
def test_where_subgames_have_no_ties_a_completed_equilibrium_is_one(case) -> None:
    """That of CFR+, which reaches all of the trunk. The vertex that a linear program finds may leave some of it out,
    where subgames then have many solutions."""
    split, form = cut(*case), form_of(case[0])
    solver = VectorSolver(form, "cfr+")
    solver.run(3000)
    policy = solver.average_policy()
    own = tuple(by_sequence(treeplex, form.tree, policy)[:, None] for treeplex in split.trunk.players)
    assert evaluate_policy(form, complete(split, own, 1000)).exploitability < 1e-3 * form.tree.max_utility


def test_completing_any_trunk_gives_a_policy_that_loses_at_least_what_the_trunk_does() -> None:
    case = (Goofspiel(4), "actions:4")
    split, form = cut(*case), form_of(case[0])
    for seed in range(4):
        own = random_policies(split, 1, np.random.default_rng(seed))
        found = evaluate_policy(form, complete(split, own, 300)).exploitability
        assert found >= trunk_exploitability(*case, slots_of(split, own)) - 1e-5
