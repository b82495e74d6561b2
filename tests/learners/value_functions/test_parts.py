"""A game cut in two is the same game: its parts value policies as a walk over its nodes does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envs.extensive import OVER
from envs.tree import compile_tree
from learners.cfr.sequence_form import sequence_form
from learners.cfr.treeplex import find_roots
from learners.value_functions.batched import BatchSolver
from learners.value_functions.limit import Limit
from learners.value_functions.parts import split_game
from learners.value_functions.trunks import normalise, plans_of, ranges_of, sums_by_public
from tests.envs.sketch import Sketch
from tests.envs.small_trees import tree_of
from tests.learners.cfr.oracle import form_of
from tests.learners.value_functions.oracle import (
    LARGER,
    SMALL,
    border_of,
    by_sequence,
    counterfactual,
    cut,
    named,
    random_policy,
    ranges,
    reach,
)

SEEDS = st.integers(0, 2**32 - 1)


def down(treeplex, policy, roots):
    """The plan of a policy by sequence from roots of these likelihoods, in float64."""
    plan = policy.copy()
    plan[: treeplex.num_roots] = roots
    for j in range(len(treeplex.parent)):
        plan[treeplex.begin[j] : treeplex.begin[j + 1]] *= plan[treeplex.parent[j]]
    return plan


def plans_of_slots(part, tree, policy, roots):
    return [
        down(treeplex, by_sequence(treeplex, tree, policy), r) for treeplex, r in zip(part.players, roots, strict=True)
    ]


def check_value(case, seed: int) -> None:
    split, tree, form = cut(*case), tree_of(case[0]), form_of(case[0])
    policy = random_policy(tree, np.random.default_rng(seed), pure=0.3)
    upper = plans_of_slots(split.trunk, tree, policy, ([1.0], [1.0]))
    entries = [plan[leaves] for plan, leaves in zip(upper, split.leaves, strict=True)]
    for found, wanted in zip(entries, ranges(*case, policy), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)
    lower = plans_of_slots(split.bottom, tree, policy, entries)
    above, below = (x[0] @ (part.payoff @ x[1]) for x, part in ((upper, split.trunk), (lower, split.bottom)))
    assert above + below == pytest.approx(form.value(policy), abs=1e-12)
    for player in (0, 1):
        part = split.half_fixed(player)
        roots = (upper[0], np.ones(1)) if player == 0 else (np.ones(1), upper[1])
        plans = plans_of_slots(part, tree, policy, roots)
        assert plans[0] @ (part.payoff @ plans[1]) == pytest.approx(form.value(policy), abs=1e-12)
        assert part.players[player].num_roots == split.trunk.players[player].num_sequences
        assert part.players[1 - player].num_roots == 1


@settings(max_examples=25)
@given(st.sampled_from(SMALL), SEEDS)
def test_trunk_and_bottom_and_half_fixed_games_give_the_value_of_any_policy(case, seed: int) -> None:
    check_value(case, seed)


@pytest.mark.parametrize("case", LARGER, ids=named)
def test_the_same_in_larger_games(case) -> None:
    check_value(case, 1)


@settings(max_examples=25)
@given(st.sampled_from(SMALL), SEEDS)
def test_values_at_the_limit_are_those_of_a_walk(case, seed: int) -> None:
    """Counterfactual values of a policy, history by history, for ranges of any kind, those of 0 among them."""
    split, tree, rng = cut(*case), tree_of(case[0]), np.random.default_rng(seed)
    policy = random_policy(tree, rng)
    weights = [rng.exponential(size=count) * (rng.random(count) < 0.7) for count in split.histories]
    wanted = counterfactual(*case, (weights[0], weights[1]), policy)
    solver = BatchSolver(split.bottom, (weights[0][:, None], weights[1][:, None]))
    own = [by_sequence(treeplex, tree, policy)[:, None].astype(np.float32) for treeplex in split.bottom.players]
    for player in (0, 1):
        found = solver.values((own[0], own[1]), player)
        np.testing.assert_allclose(found[:, 0], wanted[player], atol=2e-5)


@pytest.mark.parametrize("case", SMALL + LARGER, ids=named)
def test_public_states_partition_the_bottom(case) -> None:
    """Every history, decision, sequence and payoff of the bottom is in one of the public states, and in no other."""
    split = cut(*case)
    assert len(split.subgames) == split.encoding.num_public
    total = 0.0
    for player in (0, 1):
        whole = split.bottom.players[player]
        roots = np.concatenate([own[player] for own, _ in split.subgames])
        assert sorted(roots.tolist()) == list(range(whole.num_roots))
        infosets = np.concatenate([part.players[player].infoset for _, part in split.subgames])
        assert sorted(infosets.tolist()) == sorted(whole.infoset.tolist())
        slots = np.stack([part.players[player].sequence >= 0 for _, part in split.subgames])
        np.testing.assert_array_equal(slots.sum(axis=0), whole.sequence >= 0)
        sequences = [part.players[player].num_sequences for _, part in split.subgames]
        assert sum(sequences) == whole.num_sequences
    for (first, second), part in split.subgames:
        assert (part.players[0].num_roots, part.players[1].num_roots) == (len(first), len(second))
        np.testing.assert_allclose(part.transposed.toarray(), part.payoff.toarray().T)
        total += part.payoff.sum()
    assert total == pytest.approx(split.bottom.payoff.sum(), abs=1e-9)
    assert sum(part.payoff.nnz for _, part in split.subgames) == split.bottom.payoff.nnz


@settings(max_examples=25)
@given(st.sampled_from(SMALL), SEEDS)
def test_public_states_by_themselves_give_the_same_values(case, seed: int) -> None:
    split, tree, rng = cut(*case), tree_of(case[0]), np.random.default_rng(seed)
    policy = random_policy(tree, rng)
    weights = [rng.exponential(size=(count, 1)) for count in split.histories]
    own = [by_sequence(treeplex, tree, policy)[:, None].astype(np.float32) for treeplex in split.bottom.players]
    whole = BatchSolver(split.bottom, (weights[0], weights[1]))
    for (first, second), part in split.subgames:
        solver = BatchSolver(part, (weights[0][first], weights[1][second]))
        mine = [by_sequence(treeplex, tree, policy)[:, None].astype(np.float32) for treeplex in part.players]
        for player, roots in ((0, first), (1, second)):
            found = solver.values((mine[0], mine[1]), player)
            np.testing.assert_allclose(found, whole.values((own[0], own[1]), player)[roots], atol=1e-6)


@pytest.mark.parametrize("case", SMALL + LARGER, ids=named)
def test_trunk_and_bottom_share_no_decision_and_leave_none_out(case) -> None:
    split, tree = cut(*case), tree_of(case[0])
    _, below = border_of(*case)
    counts = np.diff(tree.slots)
    for player in (0, 1):
        upper, lower = split.trunk.players[player], split.bottom.players[player]
        free = np.flatnonzero((tree.player == player) & (counts > 1))
        assert sorted([*upper.infoset.tolist(), *lower.infoset.tolist()]) == free.tolist()
        at = {int(i) for i in tree.infoset[(tree.mover == player) & below]}
        assert set(lower.infoset.tolist()) == {i for i in at if counts[i] > 1}
        owner = find_roots(lower)
        assert set(owner[: lower.num_roots].tolist()) == set(range(lower.num_roots))
        for j in range(len(lower.parent)):
            assert (owner[lower.begin[j] : lower.begin[j + 1]] == owner[lower.parent[j]]).all()


@settings(max_examples=25)
@given(st.sampled_from(SMALL), SEEDS)
def test_arrivals_send_values_to_the_sequences_that_lead_there(case, seed: int) -> None:
    split, rng = cut(*case), np.random.default_rng(seed)
    for player in (0, 1):
        values = rng.normal(size=(split.histories[player], 2))
        wanted = np.zeros((split.trunk.players[player].num_sequences, 2))
        np.add.at(wanted, split.leaves[player], values)
        np.testing.assert_allclose(split.arrivals[player] @ values, wanted, atol=1e-12)


@settings(max_examples=25)
@given(st.sampled_from(SMALL), SEEDS)
def test_ranges_are_made_to_sum_to_1_and_their_sums_kept(case, seed: int) -> None:
    """Where a player does not get to, his range is drawn, or uniform; elsewhere it is only scaled."""
    split, rng = cut(*case), np.random.default_rng(seed)
    public = split.encoding.public
    weights = [rng.exponential(size=(count, 3)) for count in split.histories]
    gone = rng.integers(split.encoding.num_public)
    for player in (0, 1):
        weights[player][public[player] == gone, 1] = 0
    for draw in (None, np.random.default_rng(1)):
        scaled, sums = normalise(split, (weights[0], weights[1]), draw)
        for player in (0, 1):
            np.testing.assert_allclose(sums_by_public(split, player, scaled[player]), 1, atol=1e-12)
            np.testing.assert_allclose(sums[player], sums_by_public(split, player, weights[player]))
            there = sums[player][public[player]] > 0
            again = scaled[player] * sums[player][public[player]]
            np.testing.assert_allclose(again, weights[player], atol=1e-12)
            assert (scaled[player][~there] > 0).all()
            if draw is None:
                lost = scaled[player][public[player] == gone, 1]
                np.testing.assert_allclose(lost, 1 / len(lost))
    assert sums[0][gone, 1] == sums[1][gone, 1] == 0


def test_plans_are_products_of_probabilities() -> None:
    for case in (SMALL[1], SMALL[8]):
        split, tree = cut(*case), tree_of(case[0])
        policy = random_policy(tree, np.random.default_rng(3))
        own = tuple(by_sequence(treeplex, tree, policy)[:, None].astype(np.float32) for treeplex in split.trunk.players)
        found = ranges_of(split, plans_of(split.trunk, own))
        for player in (0, 1):
            walked = reach(tree, policy, player)
            np.testing.assert_allclose(found[player][:, 0], ranges(*case, policy)[player], atol=1e-6)
            assert walked.max() == 1


class Detour(Sketch):
    """Player 1 says 0 or 1, player 0 chooses in secret, player 1 has one action only, then guesses the choice: right
    or wrong counts 1, and 2 if he has said 1. What is forced stands between two decisions of one player."""

    state = np.dtype([("mover", np.int8), ("moves", np.int8), ("said", np.int8), ("chosen", np.int8), ("won", np.int8)])

    def __init__(self) -> None:
        super().__init__("detour", size=4, most=4, stake=2.0)

    def initial(self, batch):
        return np.array([(1, 0, 0, 0, 0)] * batch, self.state)

    def chance(self, states):
        return np.ones((len(states), 1))

    def legal(self, states):
        free = super().legal(states)
        free[:, 1] &= states["moves"] != 2
        return free

    def apply(self, states, choices):
        moves = states["moves"].copy()
        for field, at in (("said", 0), ("chosen", 1)):
            states[field] = np.where(moves == at, choices, states[field])
        stake = 1 + states["said"]
        states["won"] = np.where(moves == 3, np.where(choices == states["chosen"], -stake, stake), 0)
        states["mover"] = np.select([moves == 0, moves < 3], [0, 1], OVER)
        states["moves"] = moves + 1

    def public(self, states):
        return np.where(states["moves"] == 1, 1 + states["said"], 0).astype(np.int64)

    def observe(self, states, players):
        return np.stack([players, states["moves"], states["said"], 0 * players], axis=1).astype(np.uint8)


@pytest.mark.parametrize("limit", ["actions:1", "actions:2", "actions:3"])
def test_a_forced_move_between_decisions_does_not_part_them(limit: str) -> None:
    tree = compile_tree(Detour())
    split, form = split_game(Detour(), Limit.parse(limit), tree), sequence_form(tree)
    for player in (0, 1):
        part, whole = split.half_fixed(player), form.players[1 - player]
        free = part.players[1 - player]
        assert free.parent.tolist() == whole.parent.tolist()
        assert free.begin.tolist() == whole.begin.tolist()
    policy = random_policy(tree, np.random.default_rng(1), pure=0.0)
    upper = plans_of_slots(split.trunk, tree, policy, ([1.0], [1.0]))
    for player in (0, 1):
        roots = (upper[0], np.ones(1)) if player == 0 else (np.ones(1), upper[1])
        part = split.half_fixed(player)
        plans = plans_of_slots(part, tree, policy, roots)
        assert plans[0] @ (part.payoff @ plans[1]) == pytest.approx(form.value(policy), abs=1e-12)
