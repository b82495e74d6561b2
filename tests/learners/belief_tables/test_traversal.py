"""The compiled traversal, move by move, against a plain one."""

from typing import Any

import numpy as np
import pytest

from learners.belief_tables.traversal import (
    Search,
    SelfPlay,
    Tables,
    collect,
    make_learnt,
    make_scratch,
    renew,
    traverse,
)
from learners.geister_beliefs.belief import UPDATES, BeliefRules, play
from learners.geister_beliefs.tables import NODE, ROWS, SLOTS
from tests.learners.belief_tables.oracle import GAME, Oracle, Position, column_of

RULES = int(GAME.forced_escape), GAME.ply_limit


def node_of(at: Position) -> Any:
    node = np.zeros(1, NODE)
    for name in at.state.dtype.names:
        node[name] = at.state[name]
    node["belief"] = at.belief
    return node


def some_positions(count: int, seed: int) -> list[Position]:
    """Positions of random games, with beliefs of any kind."""
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < count:
        state = GAME.reset(1, rng)
        for _ in range(rng.integers(0, 20)):
            legal = np.flatnonzero(GAME.legal(state)[0])
            if len(legal):
                GAME.step(state, rng.choice(legal, 1))
        if not GAME.finished(state)[0]:
            found.append(Position(state, rng.exponential(1.0, (2, 2)) + 0.01))
    return found


def tables(seed: int) -> Tables:
    rng = np.random.default_rng(seed)
    regrets = rng.normal(size=(ROWS, SLOTS))
    sums = rng.exponential(size=(ROWS, SLOTS)) * (rng.random((ROWS, 1)) < 0.7)
    return Tables(regrets, sums, rng.uniform(-1, 1, (2, ROWS)))


@pytest.mark.parametrize("update", list(UPDATES))
@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("after_pass", [False, True])
def test_values_and_tables_are_those_of_the_recursion(update: str, limit: int, after_pass: bool) -> None:
    """60 positions, after each 20 of which searches come to see the changes of the others."""
    mine = tables(limit)
    mine[1][:] = np.where(legal_mask(), mine[1], 0)
    plain, grown = (Oracle(*(table.copy() for table in mine), update, 0.5, np.random.default_rng(7)) for _ in range(2))
    known = Tables(*(table.copy() for table in mine)) if after_pass else mine
    plain.target, learnt = grown if after_pass else None, make_learnt(known)
    rng = np.random.default_rng(7)
    scratch, rules, search = make_scratch(limit), BeliefRules(UPDATES[update], *RULES), Search(limit, 0.5, after_pass)
    for t, at in enumerate(some_positions(60, seed=limit), start=1):
        for traverser in (0, 1):
            scratch.nodes[:1] = node_of(at)
            value, _ = traverse(mine, learnt, rules, scratch, search, traverser, float(t), rng)
            assert value == pytest.approx(plain.traverse(at, traverser, 0, limit, t), abs=1e-12)
        if after_pass and t % 20 == 0:
            renew(mine, learnt)
            for ours, theirs in (
                (plain.regrets, grown.regrets),
                (plain.sums, grown.sums),
                (plain.values, grown.values),
            ):
                ours[...] = theirs
    assert len(set(plain.visits)) > 50
    for own, read, other in zip(mine, known, (plain.regrets, plain.sums, plain.values), strict=True):
        np.testing.assert_allclose(own, other, atol=1e-9)
        np.testing.assert_array_equal(own, read)


def legal_mask() -> Any:
    from learners.geister_beliefs.tables import LEGAL, ROWS_OF_OWN

    legal = LEGAL[int(GAME.forced_escape)][np.arange(ROWS) // ROWS_OF_OWN]
    return np.unpackbits(legal[:, None], axis=1, bitorder="little").astype(bool)


@pytest.mark.parametrize("update", ["paper", "exact"])
def test_beliefs_are_those_of_the_recursion(update: str) -> None:
    sums = np.where(legal_mask(), tables(3)[1], 0)
    plain = Oracle(sums, sums, np.zeros((2, ROWS)), update, 0.5, np.random.default_rng(0))
    rng = np.random.default_rng(5)
    for at in some_positions(200, seed=9):
        node = node_of(at)
        action = int(rng.choice(np.flatnonzero(GAME.legal(at.state)[0])))
        mover = int(at.state["to_move"][0])

        expected = plain.after(at, column_of(action, int(at.state["red"][0, mover])))
        play(node[0], action, sums, BeliefRules(UPDATES[update], *RULES))
        np.testing.assert_allclose(node["belief"][0], expected.belief, rtol=1e-12)
        for name in ("square", "ending", "to_move", "ply", "winner"):
            np.testing.assert_array_equal(node[name], expected.state[name])


def test_an_exact_belief_is_bayes_over_the_whole_game() -> None:
    """Its mean is the posterior of all likelihoods together, from even odds; its sum counts the moves."""
    sums = np.where(legal_mask(), tables(4)[1] + 0.1, 0)
    plain = Oracle(sums, sums, np.zeros((2, ROWS)), "exact", 0.5, np.random.default_rng(0))
    rng = np.random.default_rng(11)
    compared = 0
    for _ in range(40):
        at = Position(GAME.reset(1, rng), np.full((2, 2), 0.5))
        node, odds = node_of(at), np.ones((2, 2))
        while not GAME.finished(at.state)[0]:
            mover = int(at.state["to_move"][0])
            action = int(rng.choice(np.flatnonzero(GAME.legal(at.state)[0])))
            at = Position(at.state, node["belief"][0].copy())
            odds[1 - mover] *= [plain.likelihood(at, action, blue) for blue in (0, 1)]
            play(node[0], action, sums, BeliefRules(UPDATES["exact"], *RULES))
            GAME.step(at.state, np.array([action]))
            belief = node["belief"][0, 1 - mover]
            if odds[1 - mover].sum() == 0:
                break
            assert belief[0] / belief.sum() == pytest.approx(odds[1 - mover, 0] / odds[1 - mover].sum(), abs=1e-9)
            moves = at.state["ply"][0]
            assert belief.sum() == pytest.approx(1 + (moves + (1 if mover == 0 else 0)) // 2)
            compared += 1
    assert compared > 200


def test_staying_on_an_exit_shows_that_the_ghost_is_red() -> None:
    at = Position(GAME.reset(1, np.random.default_rng(0)), np.full((2, 2), 0.5))
    at.state["square"][0, 0, :2] = 0, 9
    at.state["occupied"][0, 0] = 1 | 1 << 9
    at.state["red"][0, 0] = 1  # ghost 0, on the exit, is red
    node = node_of(at)
    play(node[0], 4 * 1 + 1, np.zeros((ROWS, SLOTS)), BeliefRules(UPDATES["exact"], *RULES))
    np.testing.assert_allclose(node["belief"][0, 1], [0, 2])
    node = node_of(at)
    play(node[0], 4 * 1 + 1, np.zeros((ROWS, SLOTS)), BeliefRules(UPDATES["paper"], *RULES))
    np.testing.assert_allclose(node["belief"][0, 1], [0.5, 1.5])


def test_self_play_meets_the_states_of_whole_games() -> None:
    """Without regeneration the roots are consecutive positions; with it alone, beliefs are spread and colours fit."""
    sums = np.zeros((ROWS, SLOTS))
    start = GAME.reset(1, np.random.default_rng(0))
    roots, game = np.zeros(4000, NODE), np.zeros(1, NODE)
    game["ending"] = 1
    rng = np.random.default_rng(2)
    rules = BeliefRules(1, *RULES)
    collect(sums, rules, SelfPlay(start, game, roots, 0.25, 0.0), np.zeros(SLOTS), rng)
    assert (roots["ending"] == 0).all()
    steps = np.diff(roots["ply"])
    assert set(np.unique(steps[steps != 1] + roots["ply"][:-1][steps != 1])) == {0}, "a game begins where one has ended"
    game["ending"] = 1
    collect(sums, rules, SelfPlay(start, game, roots, 0.25, 1.0), np.zeros(SLOTS), rng)
    mean = roots["belief"][:, 0, 0] / roots["belief"][:, 0].sum(axis=1)
    blue = roots["red"][:, 1] == 2
    assert np.histogram(mean, 4, (0, 1))[0].min() > 850  # of 1000 each; seven standard deviations
    for low in (0.0, 0.5):
        part = (mean >= low) & (mean < low + 0.5)
        assert abs(blue[part].mean() - mean[part].mean()) < 0.05
