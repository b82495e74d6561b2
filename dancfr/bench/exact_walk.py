"""Benchmark of exact evaluation by a walk over histories, compared with a walk that only counts them."""

from typing import Any

import numpy as np

from dancfr.bench.timing import noise, rate, result, seconds_each
from dancfr.games.registry import make_game
from envs.compiled import kernel
from envs.placement.exact import UNDECIDED, evaluate, outcomes
from envs.placement.game import PlacementGame
from envs.placement.ranking import rank

DEPTH = 24
COLUMNS = 4


def measure(seconds: float) -> dict[str, Any]:
    """Measures histories/s of evaluations of dark hex on 2x4 cells, classical and abrupt, on one core.

    An evaluation has the value and both best responses of uniform policies. The limit visits the same histories with
    sets of stones alone, without policies, infosets and gains.
    """
    cases = [_case(abrupt, seconds / 2) for abrupt in (False, True)]
    return cases[0] | {"others": cases[1:]}


def _case(abrupt: bool, seconds: float) -> dict[str, Any]:
    game = make_game("dark_hex", rows=2, columns=COLUMNS, abrupt=abrupt)
    assert isinstance(game, PlacementGame)
    settled = outcomes(game.won, abrupt)
    rankings = [rank(game.won, player, abrupt) for player in (0, 1)]
    policies = [np.full(int(each.slots[0]), 0.2, np.float32) for each in rankings]
    visited = sum(count_histories(settled, abrupt, cell) for cell in range(2 * COLUMNS))
    calls = {
        "evaluation": lambda: evaluate(settled, abrupt, rankings, policies, 1),
        "bare": lambda: [count_histories(settled, abrupt, cell) for cell in range(2 * COLUMNS)],
    }
    times = seconds_each(calls, seconds)
    speed, limit = rate(float(visited), times["evaluation"]), rate(float(visited), times["bare"])
    detail = {
        "limit": "a walk over the same histories that only counts them",
        "histories": visited,
        "noise": noise(times["evaluation"]),
    }
    name = "abrupt" if abrupt else "classical"
    return result("exact-walk", speed, "histories/s", limit, speed / limit, detail) | {"case": name}


@kernel
def count_histories(settled, abrupt, start):
    """Counts the histories in which player 0 tries cell `start` first, as far as the return is not settled.

    Args:
        settled: See `envs.placement.exact.outcomes`.
        abrupt: Whether a failed try ends the turn.
        start: Cell of the first try.
    """
    cells = 0
    size = settled.shape[0]
    while size > 1:
        size //= 3
        cells += 1
    full = (1 << cells) - 1
    powers = np.ones(cells, np.int64)
    for cell in range(1, cells):
        powers[cell] = 3 * powers[cell - 1]
    mover, todo = np.zeros(DEPTH, np.int64), np.zeros(DEPTH, np.int64)
    position = np.zeros(DEPTH, np.int64)
    stones, known = np.zeros((DEPTH, 2), np.int64), np.zeros((DEPTH, 2), np.int64)
    todo[0] = 1 << start
    count, depth = 0, 0
    while depth >= 0:
        left = todo[depth]
        if left == 0:
            depth -= 1
            continue
        bit = left & -left
        todo[depth] = left ^ bit
        count += 1
        me = mover[depth]
        other = 1 - me
        failed = stones[depth, other] & bit != 0
        place = position[depth]
        if not failed:
            cell = 0
            while bit >> cell > 1:
                cell += 1
            place += powers[cell] * (1 + me)
            if settled[place, other] != UNDECIDED:
                continue
        under = depth + 1
        position[under] = place
        stones[under, other], known[under, other] = stones[depth, other], known[depth, other]
        stones[under, me] = stones[depth, me] | (0 if failed else bit)
        known[under, me] = known[depth, me] | (bit if failed else 0)
        turn = me if failed and not abrupt else other
        mover[under] = turn
        todo[under] = full & ~(stones[under, turn] | known[under, turn])
        depth = under
    return count


__all__ = ["count_histories", "measure"]
