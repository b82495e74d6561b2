"""Sampled regrets of outcome sampling and DREAM are right on average, whatever the baselines."""

from typing import Any

import numpy as np
import pytest

from envs.geister import Geister
from learners.belief_tables.outcome import iterate_games, learn_from_game, sample_game
from learners.belief_tables.traversal import Tables, make_scratch
from learners.geister_beliefs.belief import BeliefRules
from learners.geister_beliefs.tables import ROWS, SLOTS
from tests.learners.belief_tables.oracle import Oracle, Position, normalised, row_of

LIMIT = 4
SHORT = Geister(size=4, ply_limit=LIMIT)
"""Four moves: a player can only win in them by taking a ghost."""
EPSILON = 0.5


def wide() -> Any:
    """Four moves on a board where ghosts stand next to each other at the start."""
    state = SHORT.reset(1, np.random.default_rng(0))
    state["square"][0, :, :2] = [[5, 14], [5, 14]]  # own view: ghosts on the middle rows face each other
    state["occupied"][0] = 1 << 5 | 1 << 14
    return state


def exact_regrets(start: Any, regrets: Any, traverser: int) -> dict[int, Any]:
    """Counterfactual regrets by row of the policies from `regrets`, summed over the four layouts."""
    oracle = Oracle(regrets, regrets, np.zeros((2, ROWS)), "none", 0.5, np.random.default_rng(0), SHORT)
    found: dict[int, Any] = {}

    def value(at: Position, reach: float) -> float:
        if SHORT.finished(at.state)[0]:
            return float(SHORT.returns(at.state)[0, traverser])
        mover = int(at.state["to_move"][0])
        row, legal = row_of(at, mover, int(at.state["red"][0, mover])), oracle.columns(at)
        policy = normalised(regrets[row], legal)
        mine = mover == traverser
        below = {c: value(oracle.after(at, c), reach * (1 if mine else policy[c])) for c in legal}
        mean = sum(policy[c] * below[c] for c in legal)
        if mine:
            numbers = found.setdefault(row, np.zeros(SLOTS))
            for c in legal:
                numbers[c] += reach * (below[c] - mean)
        return float(mean)

    for first in (1, 2):
        for second in (1, 2):
            at = Position(start.copy(), np.full((2, 2), 0.5))
            at.state["red"][0] = first, second
            value(at, 0.25)
    return found


@pytest.mark.parametrize("baselines", [False, True])
@pytest.mark.parametrize("traverser", [0, 1])
def test_sampled_regrets_are_counterfactual_regrets_on_average(baselines: bool, traverser: int) -> None:
    """30,000 games, seed 1: each regret of the three likeliest rows within 4.5 standard errors of the exact one."""
    start, games = wide(), 30_000
    rng = np.random.default_rng(1)
    regrets, sums = rng.normal(size=(ROWS, SLOTS)), np.zeros((ROWS, SLOTS))
    values = rng.uniform(-1, 1, (ROWS, SLOTS)) * baselines
    exact = exact_regrets(start, regrets, traverser)
    assert len(exact) > 20
    rows = sorted(exact, key=lambda row: -np.abs(exact[row]).max())[:3]
    scratch, rules = make_scratch(LIMIT), BeliefRules(0, 1, LIMIT)
    tables = Tables(regrets.copy(), sums, values)
    sampled = np.zeros((games, 3, SLOTS))
    for i in range(games):
        length, result = sample_game(tables, rules, start[0], scratch, traverser, EPSILON, 1.0, rng)
        learn_from_game(tables, rules, scratch, length, result, traverser, 1.0, 0.0)
        for place, row in enumerate(rows):
            sampled[i, place] = tables[0][row] - regrets[row]
        touched = scratch.rows[:length]
        tables[0][touched] = regrets[touched]
    mean, error = sampled.mean(axis=0), sampled.std(axis=0) / games**0.5
    for place, row in enumerate(rows):
        assert np.abs(exact[row]).max() > 0.01
        assert (np.abs(mean[place] - exact[row]) <= 4.5 * error[place] + 1e-12).all()


def test_baselines_stay_within_the_returns() -> None:
    tables = Tables(np.zeros((ROWS, SLOTS)), np.zeros((ROWS, SLOTS)), np.zeros((ROWS, SLOTS)))
    start = SHORT.reset(1, np.random.default_rng(0))
    nodes = iterate_games(
        tables, BeliefRules(1, 1, 30), start[0], make_scratch(30), 1, 5, 500, EPSILON, 0.5, np.random.default_rng(3)
    )
    assert nodes > 5 * 500 * 2 * 10
    assert 0.9 < np.abs(tables[2]).max() <= 1
    assert np.isfinite(tables[0]).all()
    assert (tables[1] >= 0).all()
