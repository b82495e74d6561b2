"""Value solving: values of the bottom against linear programs over its nodes, and batches against single problems."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.goofspiel import Goofspiel
from envs.kuhn import Kuhn
from envs.leduc import Leduc
from envs.oshi_zumo import OshiZumo
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.linear_program import solve_linear_program
from learners.cfr.vector_solver import VectorSolver
from learners.value_functions.batched import BatchSolver
from learners.value_functions.bottom import MOST, RARE, solve_bottom
from learners.value_functions.parts import Split
from learners.value_functions.solver import SolvedValues
from learners.value_functions.trunks import normalise, plans_of, ranges_of
from tests.envs.small_trees import tree_of
from tests.learners.cfr.oracle import form_of
from tests.learners.value_functions.oracle import (
    LARGER,
    SMALL,
    border_of,
    by_slot,
    cut,
    name_of,
    named,
    numbers,
    public_value,
    random_trunks,
)

SEEDS = st.integers(0, 2**32 - 1)


def random_ranges(split: Split, batch: int, seed: int):
    """Ranges of random trunks, each summing to 1 in each public state."""
    policies, _ = random_trunks(split, batch, seed, pure=0.3)
    return normalise(split, ranges_of(split, plans_of(split.trunk, policies)), np.random.default_rng(seed))[0]


def in_public(split: Split, player: int, amounts):
    """Sums by public state, in float64."""
    return split.encoding.groups[player] @ amounts.astype(np.float64)


@pytest.mark.parametrize("case", [*SMALL, *LARGER[:3], (Leduc(), "chances:3")], ids=named)
def test_values_are_those_of_linear_programs(case) -> None:
    """In every public state (of Leduc in some of the second round) ranges times values are the value of the linear
    program; both players' sum to 0."""
    split, batch, step = (cut(*case), 4, 1) if case[0].spec.name != "leduc" else (cut(*case), 2, 4)
    weights = random_ranges(split, batch, 5)
    solved = solve_bottom(split, weights, 1000)
    found = [in_public(split, p, weights[p] * solved.values[p].astype(np.float64)) for p in (0, 1)]
    np.testing.assert_allclose(found[0], -found[1], atol=1e-5)
    tolerance = 1e-3 * split.tree.max_utility
    for k in range(batch):
        for state in range(0, split.encoding.num_public, step):
            exact = public_value(*case, state, (weights[0][:, k], weights[1][:, k]))
            assert found[0][state, k] == pytest.approx(exact, abs=tolerance)


@pytest.mark.parametrize("case", SMALL + LARGER[:4], ids=named)
def test_nobody_gains_by_another_answer(case) -> None:
    """Best responses at every history, also those of range 0, are never worse than the average, and hardly better if
    solved as for samples (`ValueSolving`)."""
    split = cut(*case)
    solved = solve_bottom(split, random_ranges(split, 32, 7), 1000, 5e-4)
    for player in (0, 1):
        gain = (solved.best[player] - solved.values[player]) / split.tree.max_utility
        assert gain.min() >= -1e-6
        assert gain.max() <= 1e-3
    assert solved.gap() == pytest.approx(max((b - v).max() for b, v in zip(solved.best, solved.values, strict=True)))


@pytest.mark.parametrize("case", [SMALL[0], SMALL[1], SMALL[3], SMALL[5], SMALL[8]], ids=named)
def test_values_are_right_at_histories_that_nobody_gets_to(case) -> None:
    """A player's values bound the value of any own range (the program's value is concave in it), history by history; an
    average weighted with a reach of 0 would be too low. The bound is tight where that range is not 0."""
    split, rng = cut(*case), np.random.default_rng(1)
    tolerance = 1e-3 * split.tree.max_utility
    public = split.encoding.public
    weights = [rng.exponential(size=count) for count in split.histories]
    for player in (0, 1):
        gone = []
        for state in range(split.encoding.num_public):
            own = np.flatnonzero(public[player] == state)
            gone += rng.permutation(own)[: len(own) // 2].tolist()
        weights[player][gone] = 0.0
    weights, _ = normalise(split, (weights[0], weights[1]))
    solved = solve_bottom(split, (weights[0][:, None], weights[1][:, None]), 2000)
    checked = 0
    for player, sign in ((0, 1), (1, -1)):
        values = solved.values[player][:, 0].astype(np.float64)
        for history in np.flatnonzero(weights[player] == 0):
            state = int(public[player][history])
            alone = np.where(np.arange(len(values)) == history, 1.0, 0.0)
            own = (alone, weights[1]) if player == 0 else (weights[0], alone)
            assert values[history] >= sign * public_value(*case, state, own) - tolerance
            checked += 1
        for state in range(split.encoding.num_public):
            mine = public[player] == state
            exact = sign * public_value(*case, state, (weights[0], weights[1]))
            assert weights[player][mine] @ values[mine] == pytest.approx(exact, abs=tolerance)
    assert checked >= 2


@settings(max_examples=15)
@given(st.sampled_from([SMALL[1], SMALL[5], SMALL[8], SMALL[9]]), SEEDS)
def test_values_bound_what_any_range_is_worth(case, seed: int) -> None:
    """The same for ranges drawn at random: r' v_0 is at least the program's value of r', for any r'."""
    split, rng = cut(*case), np.random.default_rng(seed)
    weights = random_ranges(split, 1, seed)
    solved = solve_bottom(split, weights, 1000)
    other = [rng.exponential(size=count) * (rng.random(count) < 0.5) for count in split.histories]
    other, _ = normalise(split, (other[0], other[1]))
    for player, sign in ((0, 1), (1, -1)):
        mixed = [other[p] if p == player else weights[p][:, 0] for p in (0, 1)]
        found = in_public(split, player, other[player] * solved.values[player][:, 0])
        for state in range(split.encoding.num_public):
            exact = sign * public_value(*case, state, (mixed[0], mixed[1]))
            assert found[state] >= exact - 1e-3 * split.tree.max_utility


@pytest.mark.parametrize("case", [SMALL[1], SMALL[5], SMALL[7], SMALL[9]], ids=named)
@pytest.mark.parametrize("player", [0, 1])
def test_degree_1_in_the_others_range_and_0_in_the_own(case, player: int) -> None:
    """Where there are many equilibria, values may differ, but not beyond the tolerance here."""
    split = cut(*case)
    weights = random_ranges(split, 8, 11)
    before = solve_bottom(split, weights, 500)
    for factor in (0.25, 8.0):
        scaled = [w * np.float32(factor) if p == player else w for p, w in enumerate(weights)]
        after = solve_bottom(split, (scaled[0], scaled[1]), 500)
        np.testing.assert_allclose(after.values[1 - player], factor * before.values[1 - player], atol=2e-4 * factor)
        np.testing.assert_allclose(after.values[player], before.values[player], atol=2e-4)


@pytest.mark.parametrize("case", SMALL + LARGER[:4], ids=named)
def test_many_at_once_are_as_many_one_by_one(case) -> None:
    split = cut(*case)
    weights = random_ranges(split, 5, 13)
    together = solve_bottom(split, weights, 100)
    for k in range(5):
        alone = solve_bottom(split, (weights[0][:, k : k + 1], weights[1][:, k : k + 1]), 100)
        for player in (0, 1):
            np.testing.assert_array_equal(together.values[player][:, k], alone.values[player][:, 0])
            np.testing.assert_array_equal(together.best[player][:, k], alone.best[player][:, 0])


def test_rare_histories_are_worth_what_a_best_answer_wins() -> None:
    """Only rare histories: just above the bound, values are those of the averages."""
    split = cut(Kuhn(), "chances:2")
    weights = [w.astype(np.float64) for w in random_ranges(split, 1, 5)]
    for player, share in ((0, RARE / 2), (1, RARE * 2)):
        own = np.arange(3)
        weights[player][own, 0] = np.r_[share, np.full(len(own) - 1, (1 - share) / (len(own) - 1))]
    solved = solve_bottom(split, (weights[0], weights[1]), 3)
    ((roots, part),) = split.subgames
    solver = BatchSolver(part, (weights[0][roots[0]], weights[1][roots[1]]))
    solver.run(3)
    policies = solver.average_policies()
    for player in (0, 1):
        played, best = (find(policies, player)[:, 0] for find in (solver.values, solver.best_values))
        assert best[0] > played[0] + 1e-3, "after three iterations they differ"
        np.testing.assert_array_equal(solved.values[player][roots[player][1:], 0], played[1:])
        assert solved.values[player][roots[player][0], 0] == (best, played)[player][0]


def test_stopping_in_between_changes_nothing() -> None:
    split = cut(Goofspiel(4), "actions:4")
    weights = random_ranges(split, 3, 17)
    whole, pieces = BatchSolver(split.bottom, weights), BatchSolver(split.bottom, weights)
    whole.run(60)
    for count in (1, 19, 40):
        pieces.run(count)
    assert whole.iteration == pieces.iteration == 60
    for found, wanted in zip(pieces.average_policies(), whole.average_policies(), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_what_is_hard_is_solved_further_and_nothing_else() -> None:
    """With a tolerance, the problems with a larger gap in a public state are solved further there, up to `MOST` times
    as long; the others stay bit for bit, so that each is solved as it would be alone."""
    split, batch, tolerance = cut(Goofspiel(4), "actions:4"), 6, 1e-3
    weights = random_ranges(split, batch, 19)
    short, kept = solve_bottom(split, weights, 50), solve_bottom(split, weights, 50, tolerance=10.0)
    asked, endless = (solve_bottom(split, weights, 50, tolerance=t) for t in (tolerance, 1e-12))
    longest = solve_bottom(split, weights, 50 * MOST)
    allowed, went_on, stayed = tolerance * split.tree.max_utility, 0, 0
    for state in range(split.encoding.num_public):
        mine = [split.encoding.public[player] == state for player in (0, 1)]
        for k in range(batch):
            done = max(float((short.best[p] - short.values[p])[mine[p], k].max()) for p in (0, 1))
            after = max(float((asked.best[p] - asked.values[p])[mine[p], k].max()) for p in (0, 1))
            assert after <= allowed, "twenty times is enough here"
            went_on, stayed = went_on + (done > allowed), stayed + (done <= allowed)
            for player in (0, 1):
                same = asked.values[player][mine[player], k] == short.values[player][mine[player], k]
                assert done > allowed or same.all()
    assert went_on >= 5 <= stayed
    for player in (0, 1):
        np.testing.assert_array_equal(kept.values[player], short.values[player])
        hard = (endless.best[player] - endless.values[player]) > 1e-12 * split.tree.max_utility
        np.testing.assert_array_equal(endless.values[player][hard], longest.values[player][hard])
        assert hard.any()
        for k in range(batch):
            alone = solve_bottom(split, (weights[0][:, [k]], weights[1][:, [k]]), 50, tolerance)
            np.testing.assert_array_equal(alone.values[player][:, 0], asked.values[player][:, k])


@pytest.mark.parametrize("case", [SMALL[0], SMALL[1], SMALL[5], SMALL[8], SMALL[9]], ids=named)
def test_averages_are_of_somebody_who_gets_there(case) -> None:
    """Averages below histories of range 0 are good, too: weighted by the true reach probability they would be uniform
    and lose up to half of the stakes."""
    split, rng = cut(*case), np.random.default_rng(2)
    weights = [rng.exponential(size=(count, 16)) for count in split.histories]
    for player in (0, 1):
        weights[player][rng.random(weights[player].shape) < 0.3] = 0.0
    (first, second), _ = normalise(split, (weights[0], weights[1]))
    solver = BatchSolver(split.bottom, (first, second))
    solver.run(1000)
    policies = solver.average_policies()
    for player, own in enumerate((first, second)):
        gain = (solver.best_values(policies, player) - solver.values(policies, player))[own == 0]
        assert len(gain) > 5
        assert gain.max() < 5e-3 * split.tree.max_utility


@pytest.mark.parametrize(
    ("game", "limit"),
    [
        (Kuhn(), "chances:2"),
        (Kuhn(cards=5), "chances:2"),
        (Leduc(), "chances:2"),
        (Goofspiel(3, "random"), "chances:1"),
    ],
    ids=name_of,
)
def test_a_whole_game_is_solved_as_the_float64_solver_does(game, limit: str) -> None:
    """With the limit before the first decision nothing is fixed: `half_fixed` is the whole game, with one root of each
    player. The first iterations agree, and both solvers converge to the value of the game."""
    split, form = cut(game, limit), form_of(game)
    part = split.half_fixed(0)
    assert [treeplex.num_roots for treeplex in part.players] == [1, 1]
    one = np.ones((1, 1), np.float32)
    solver, exact = BatchSolver(part, (one, one)), VectorSolver(form, "cfr+")
    for done in (1, 2, 5, 10):
        solver.run(done - solver.iteration)
        exact.run(done - exact.iteration)
        found = by_slot(split, [(p, own[:, 0]) for p, own in zip(part.players, solver.average_policies(), strict=True)])
        np.testing.assert_allclose(found, exact.average_policy(), atol=2e-3)
    solver.run(490)
    exact.run(490)
    found = by_slot(split, [(p, own[:, 0]) for p, own in zip(part.players, solver.average_policies(), strict=True)])
    found /= np.repeat(np.add.reduceat(found, form.tree.slots[:-1]), np.diff(form.tree.slots))
    batched, vector = (evaluate_policy(form, policy) for policy in (found, exact.average_policy()))
    assert batched.exploitability == pytest.approx(vector.exploitability, abs=2e-4 * form.tree.max_utility)
    assert batched.value == pytest.approx(solve_linear_program(form).value, abs=1e-3 * form.tree.max_utility)
    for player in (0, 1):
        values = solver.values(solver.average_policies(), player)
        assert values[0, 0] == pytest.approx((1, -1)[player] * batched.value, abs=1e-4)
        best = solver.best_values(solver.average_policies(), player)
        assert best[0, 0] == pytest.approx(batched.best_responses[player], abs=1e-4)


def test_forced_bottoms_are_worth_what_the_rules_say() -> None:
    """At goofspiel's last card no decision is left, and values are sums over the rules' returns."""
    case = (Goofspiel(3), "actions:4")
    split, tree = cut(*case), tree_of(case[0])
    (nodes, _), number = border_of(*case), [numbers(tree_of(case[0]), border_of(*case)[0], p) for p in (0, 1)]
    weights = [np.random.default_rng(3).exponential(size=(count, 1)) for count in split.histories]
    wanted = [np.zeros(count) for count in split.histories]
    for node in nodes:
        end = node
        while tree.mover[end] >= 0:
            assert tree.children[end + 1] - tree.children[end] == 1
            end = int(tree.children[end])
        h = [number[p][int(tree.history[node, p])] for p in (0, 1)]
        wanted[0][h[0]] += tree.utility[end] * weights[1][h[1], 0]
        wanted[1][h[1]] -= tree.utility[end] * weights[0][h[0], 0]
    solved = solve_bottom(split, (weights[0], weights[1]), 1)
    for player in (0, 1):
        np.testing.assert_allclose(solved.values[player][:, 0], wanted[player], rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(solved.values[player], solved.best[player])


@pytest.mark.parametrize("case", [SMALL[1], SMALL[5], SMALL[8]], ids=named)
def test_solved_values_take_reaches_of_any_size(case) -> None:
    """As a value function of raw reaches: r_p v_p sums to the program's value, however unlikely the ranges are."""
    split = cut(*case)
    function = SolvedValues(split, 1000)
    weights = random_ranges(split, 2, 23)
    sizes = np.array([[1e-6, 1.0]]), np.array([[1e-3, 1e-8]])
    raw = tuple(w.astype(np.float64) * size for w, size in zip(weights, sizes, strict=True))
    values = function.values(raw)
    for k in (0, 1):
        scale = float(sizes[0][0, k] * sizes[1][0, k])
        for player, sign in ((0, 1), (1, -1)):
            found = in_public(split, player, raw[player] * values[player])[:, k]
            for state in range(split.encoding.num_public):
                exact = sign * public_value(*case, state, (weights[0][:, k], weights[1][:, k]))
                assert found[state] / scale == pytest.approx(exact, abs=1e-3 * split.tree.max_utility)


def test_a_public_state_without_anybody_is_worth_nothing_and_harms_nothing() -> None:
    split = cut(Goofspiel(3), "actions:2")
    gone = (split.encoding.public[0] == 1)[:, None]
    weights = np.where(gone, 0.0, 1.0), np.ones((split.histories[1], 1))
    values = SolvedValues(split, 200).values(weights)
    there = split.encoding.public[1] == 1
    assert not values[1][there].any(), "the other does not get there"
    assert np.isfinite(values[0]).all()
    assert np.isfinite(values[1]).all()


def test_oshi_zumo_is_worth_nothing_at_the_limit_when_both_have_bid_alike() -> None:
    """A symmetric public state with the same range for both is worth 0."""
    case = (OshiZumo(coins=5), "actions:2")
    split = cut(*case)
    tree, (nodes, _) = tree_of(case[0]), border_of(*case)
    number = [numbers(tree, nodes, player) for player in (0, 1)]
    node = next(n for n in nodes if tree.action[n] == tree.action[tree.parent[n]])
    state = int(split.encoding.public[0][number[0][int(tree.history[node, 0])]])
    own = [np.flatnonzero(split.encoding.public[player] == state) for player in (0, 1)]
    order = [own[player][np.argsort(split.encoding.places[player][own[player]])] for player in (0, 1)]
    draws = np.random.default_rng(1).dirichlet(np.ones(len(order[0])))
    weights = tuple(np.zeros((count, 1)) for count in split.histories)
    for player in (0, 1):
        weights[player][order[player], 0] = draws
    found = solve_bottom(split, weights, 1000)
    assert weights[0][:, 0] @ found.values[0][:, 0] == pytest.approx(0, abs=1e-3)
    assert public_value(*case, state, (weights[0][:, 0], weights[1][:, 0])) == pytest.approx(0, abs=1e-9)
