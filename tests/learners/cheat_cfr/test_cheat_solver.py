"""Chance-sampled CFR on Mini-Cheat: infosets by enumeration, every number against plain Python, the curriculum."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from dancfr.bench.plain_cheat import PlainSolver
from dancfr.games.registry import make_game
from envs.cheat.turns import ANSWERING
from learners.cheat_cfr.keys import AGENTS, GENERAL, HISTORY_AWARE, HP_AWARE, MEMORYLESS, KeyForm, keys_of
from learners.cheat_cfr.solver import CheatSolver, HistoryTooLong, count_infosets, draw_deals, list_infosets
from learners.cheat_cfr.strategy import CheatAgent
from learners.cheat_cfr.table import HEAD
from learners.storage import ForeignState


def mini(health, **options):
    return make_game("mini-cheat", health=health, **options)


@pytest.mark.parametrize(
    ("agent", "cards", "counts"),
    [
        (MEMORYLESS, False, {3: 292, 4: 292}),
        (MEMORYLESS, True, {3: 100, 4: 100}),
        (HP_AWARE, False, {3: 1330, 4: 2580, 5: 4264}),
        (HP_AWARE, True, {3: 606, 4: 1064, 5: 1658}),
        (HISTORY_AWARE, False, {3: 12802, 4: 131092, 5: 1343250}),
        (GENERAL, False, {3: 12910, 4: 134940, 5: 1408514}),
    ],
)
def test_infosets_are_those_of_the_enumeration(agent, cards, counts):
    """Two of them, 292 and 100, are paper 001's own."""
    assert {health: count_infosets(mini(health), KeyForm(agent, cards)) for health in counts} == counts


@pytest.mark.parametrize(("agent", "counts"), [(HISTORY_AWARE, [11670, 115810]), (GENERAL, [11958, 122186])])
def test_histories_of_challenged_claims_are_fewer(agent, counts):
    """Counts of an enumeration in another language."""
    assert [count_infosets(mini(health), KeyForm(agent, claims="challenged")) for health in (3, 4)] == counts


def test_challenges_that_are_forced_leave_the_infosets_as_they_are():
    game = mini(3, challenge_last=True)
    assert [count_infosets(game, KeyForm(agent)) for agent in AGENTS] == [292, 1330, 12802, 12910]


@pytest.mark.parametrize(
    ("agent", "prune", "challenge_last"),
    [*product(AGENTS, (False, True), (False,)), *product(AGENTS, (True,), (True,))],
)
def test_every_regret_and_sum_is_that_of_plain_python(agent, prune, challenge_last):
    game = mini(2, challenge_last=challenge_last)
    plain, solver = PlainSolver(game, agent, prune), CheatSolver(game, KeyForm(agent), seed=3)
    for iteration in range(25):
        deal = game.reset(1, np.random.default_rng(np.random.SeedSequence((3, iteration))))[0]
        value = plain.iterate(deal["hand"].tolist(), int(deal["discarder"]))
        assert solver.run(1) == pytest.approx(value, abs=1e-12)
    assert solver.nodes == plain.nodes if prune else solver.nodes < plain.nodes
    table = solver.table
    ours = {}
    for slot in table.occupied:
        numbers = table.values[slot["at"] + HEAD : slot["at"] + HEAD + 2 * slot["count"]]
        if numbers.any():
            key = _plain_key(int(slot["first"]), int(slot["second"]), solver.form)
            ours[key] = numbers
    theirs = {key: np.array(i.regrets + i.sums) for key, i in plain.infosets.items() if any(i.regrets + i.sums)}
    assert ours.keys() == theirs.keys()
    assert len(ours) > 100
    for key, numbers in ours.items():
        assert numbers == pytest.approx(theirs[key], abs=1e-9), key


def test_averages_may_be_weighted_by_the_opponents_reach():
    """As paper 001 prints it: regrets are the same, and strategy sums are those of a recursion with this weight."""

    class Printed(PlainSolver):
        def _walk(self, game, reach):
            value = super()._walk(game, reach)  # no strategy changes in the first iteration, in which all are uniform
            if not (game.phase == ANSWERING and game.hand[game.discarder] == 0):
                key = (
                    game.mover,
                    game.hand[game.mover],
                    game.rank,
                    1 + game.claimed if game.claimed else int(sum(game.put) > 0),
                )
                policy = self.infosets[key].policy
                weighted.setdefault(key, np.zeros(len(policy)))
                weighted[key] += reach[1 - game.mover] * np.array(policy)
            return value

    weighted = {}
    game = mini(2, challenge_last=True)
    solver, own = (CheatSolver(game, KeyForm(MEMORYLESS), 3, counterfactual=printed) for printed in (True, False))
    deal = draw_deals(game, 3, 0, 1)[0]
    Printed(game, MEMORYLESS).iterate(deal["hand"].tolist(), int(deal["discarder"]))
    solver.run(1)
    own.run(1)
    sums = {}
    for slot, other in zip(solver.table.occupied, own.table.occupied, strict=True):
        regrets, found = (slot["at"] + HEAD + np.arange(slot["count"]) + part * slot["count"] for part in (0, 1))
        assert (solver.table.values[regrets] == own.table.values[other["at"] + HEAD + np.arange(other["count"])]).all()
        sums[_plain_key(int(slot["first"]), 0, solver.form)] = solver.table.values[found]
    assert {key for key, each in sums.items() if each.any()} == weighted.keys()
    for key, each in weighted.items():
        assert sums[key] == pytest.approx(each, abs=1e-12)


def _plain_key(first, second, form):
    """A compiled key as `PlainSolver` has it."""
    hand, rest = first & ((1 << 4 * form.ranks) - 1), first >> 4 * form.ranks
    key = ((rest >> 4) & 1, hand, (rest >> 5) & 15, rest & 15)
    if form.health_bits:
        key += ((rest >> 9) & ((1 << form.health_bits) - 1), rest >> (9 + form.health_bits))
    return key + ((second,) if form.turns >= 0 else ())


def test_keys_of_infostates_are_those_that_the_solver_met():
    """Agents look infosets up by their observations; the solver makes its keys from whole states."""
    game = mini(3)
    for keys in (
        KeyForm(GENERAL),
        KeyForm(GENERAL, True, 2, "challenged"),
        KeyForm(HP_AWARE),
        KeyForm(MEMORYLESS, True),
    ):
        solver = list_infosets(game, keys)
        known = {tuple(key) for key in solver.strategy().keys.tolist()}
        met, rng = set(), np.random.default_rng(1)
        states = game.reset(2000, rng)
        while len(states):
            met |= {tuple(key) for key in keys_of(game.observe(states, game.to_move(states)), solver.form).tolist()}
            legal = game.legal(states)
            game.step(states, np.array([rng.choice(np.flatnonzero(row)) for row in legal]))
            states = states[~game.finished(states)]
        assert met <= known
        assert len(met) > 0.5 * min(len(known), 2000)


def test_listed_infosets_bear_the_stamp_of_no_iteration():
    table = list_infosets(mini(3), KeyForm(MEMORYLESS)).table
    stamps = table.occupied["at"]
    assert len(stamps) > 0
    assert not table.values[stamps].any()


def test_the_same_seed_gives_the_same_numbers_however_the_run_is_cut_up():
    whole, parts = (CheatSolver(mini(3), KeyForm(GENERAL), seed=5) for _ in range(2))
    whole.run(12)
    parts.run(7)
    again = CheatSolver(mini(3), KeyForm(GENERAL), seed=5)
    again.load_arrays(*parts.state_arrays())
    again.run(5)
    one, two = whole.state_arrays(), again.state_arrays()
    assert one[1] == two[1]
    assert one[0]["values"].tobytes() == two[0]["values"].tobytes()
    assert one[0]["slots"].tobytes() == two[0]["slots"].tobytes()
    assert CheatSolver(mini(3), KeyForm(GENERAL), seed=6).run(12) != pytest.approx(whole.run(12))


def test_a_state_of_something_else_is_refused():
    arrays, meta = CheatSolver(mini(1), KeyForm()).state_arrays()
    solver = CheatSolver(mini(1), KeyForm())
    with pytest.raises(ForeignState, match="Cheat"):
        solver.load_arrays({"slots": arrays["slots"]}, meta)
    with pytest.raises(ForeignState, match="slots and values"):
        solver.load_arrays({"slots": np.zeros(3), "values": arrays["values"]}, meta)


def _records(solver):
    """Key, strategy sums and present strategy of each infoset; -1 for the strategy of one that was not met last."""
    values = solver.table.values
    for slot in solver.table.occupied:
        count, sums = slot["count"], slot["at"] + HEAD + slot["count"]
        met = values[slot["at"]] == solver.iteration
        policy = values[sums + count : sums + 2 * count] if met else np.full(count, -1.0)
        yield (int(slot["first"]), int(slot["second"])), values[sums : sums + count], policy


class TestCurriculum:
    def test_infosets_of_more_health_begin_with_what_stood_for_them(self):
        solver = CheatSolver(mini(1), KeyForm(GENERAL), seed=2, copy_infosets=True)
        solver.run(40)
        before = {tuple(k): s for k, s in zip(solver.strategy().keys.tolist(), solver.table.occupied, strict=True)}
        old = solver.table.values.copy()
        solver.enter(mini(2))
        shift, bits = 4 * 3 + 9, solver.form.health_bits
        step = (1 << shift, 1 << (shift + bits))
        found = {tuple(k): s for k, s in zip(solver.strategy().keys.tolist(), solver.table.occupied, strict=True)}
        assert len(found) == 4 * len(before)  # both players' health is 1 in all of them: 1 1, 2 1, 1 2, 2 2
        for (first, second), slot in before.items():
            numbers = old[slot["at"] + HEAD : slot["at"] + HEAD + 2 * slot["count"]]
            for raised in (0, step[0], step[1], step[0] + step[1]):
                copy = found[first + raised, second]
                begun = solver.table.values[copy["at"] + HEAD : copy["at"] + HEAD + 2 * copy["count"]]
                assert begun.tobytes() == numbers.tobytes()

    def test_without_copies_they_begin_with_nothing(self):
        solver = CheatSolver(mini(1), KeyForm(GENERAL), seed=2)
        solver.run(40)
        before = solver.strategy().keys.tolist()
        solver.enter(mini(2))
        assert solver.strategy().keys.tolist() == before

    def test_its_first_strategy_is_the_average_so_far(self):
        begun, kept = (CheatSolver(mini(1), KeyForm(MEMORYLESS), seed=2, keep_sums=keep) for keep in (False, True))
        for solver in (begun, kept):
            solver.run(60)
        before = {key: sums.copy() for key, sums, _ in _records(begun)}
        for solver in (begun, kept):
            solver.enter(mini(2))
            solver.run(1)
        met = 0
        for (key, new, policy), (again, all_of_them, same) in zip(_records(begun), _records(kept), strict=True):
            assert key == again
            assert policy.tobytes() == same.tobytes()
            if key not in before:
                continue
            if policy[0] >= 0:  # this iteration has met it
                total = before[key].sum()
                average = before[key] / total if total > 0 else np.full(len(policy), 1 / len(policy))
                assert policy == pytest.approx(average, abs=1e-12)
                assert all_of_them == pytest.approx(before[key] + new, abs=1e-9)
                met += total > 0
            else:
                assert (new == before[key]).all()
        assert met > 20

    def test_games_must_grow_and_be_alike(self):
        solver = CheatSolver(mini(3), KeyForm())
        with pytest.raises(ValueError, match="2 after 3"):
            solver.enter(mini(2))
        with pytest.raises(ValueError, match="health"):
            solver.enter(mini(4, ranks=4))


class TestRefusals:
    @pytest.mark.parametrize(
        ("game", "keys", "message"),
        [
            (mini(3, players=3, dealt=1), KeyForm(), "2 players"),
            (mini(3, discards="cards"), KeyForm(), "discards=sets"),
            (mini(0, ply_limit=50), KeyForm(MEMORYLESS), "ply_limit=0"),
            (mini(3), KeyForm("perfect"), "agent must be one of memoryless.*perfect"),
            (mini(3), KeyForm(GENERAL, claims="none"), "claims must be one of all, challenged, got 'none'"),
            (mini(3), KeyForm(GENERAL, turns=60), "turns must be from 0 to 31, got 60"),
            (make_game("cheat", discards="sets"), KeyForm(), "health must be from 1 to 1 .*13 ranks, got 3"),
        ],
    )
    def test_keys_that_do_not_fit(self, game, keys, message):
        with pytest.raises(ValueError, match=message):
            CheatSolver(game, keys)

    def test_histories_that_do_not_fit(self):
        game = make_game("mini-cheat", health=40, max_discard=1)
        solver = CheatSolver(replace(game, max_discard=2, dealt=1, ranks=2, copies=1), KeyForm(HISTORY_AWARE))
        with pytest.raises(HistoryTooLong, match="turns"):
            solver.run(1)


def test_an_agent_plays_what_it_does_not_know_uniformly():
    game = mini(3)
    solver = CheatSolver(game, KeyForm(GENERAL), seed=1)
    solver.run(1)
    agent = CheatAgent(game, KeyForm(GENERAL), solver.strategy(), "average", "x")
    states = game.reset(200, np.random.default_rng(8))
    table = agent.table(game.observe(states, game.to_move(states)), game.legal(states))
    assert table.sum(axis=1) == pytest.approx(1.0)
    assert (table[~game.legal(states)] == 0).all()
    uniform = game.legal(states) / game.legal(states).sum(axis=1, keepdims=True)
    same = np.abs(table - uniform).max(axis=1) < 1e-12
    assert 0 < same.sum() <= 200
