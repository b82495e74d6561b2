"""Benchmark of depth-limited external sampling with tables on Mini Geister, compared with bare reads of the tables."""

from time import process_time
from typing import Any

import numpy as np

from dancfr.bench.timing import noise, rate, result, seconds_each
from dancfr.games.registry import make_game_as
from envs.compiled import kernel
from envs.geister import Geister
from learners.belief_tables.settings import TableSettings
from learners.belief_tables.solver import BeliefSolver
from learners.geister_beliefs.tables import ROWS, SLOTS

ITERATIONS, TARGET_S = 3000, 40.0
"""Iterations of paper 002, with two passes each, and the target for their time on one core in seconds."""
ROWS_A_NODE = 3
"""Table rows read per node: one for the policy, two for the likelihood of the previous move."""
READS = 200_000


def measure(seconds: float) -> dict[str, Any]:
    """Measures nodes/s of the full method with filled tables; the limit is reading as many random rows of a table.

    The detail has the CPU seconds of a whole training of 3000 x 2 passes over 256 belief states, extrapolated from
    fewer passes if `seconds` is too short.
    """
    game = make_game_as(Geister, "mini-geister")
    warm = BeliefSolver(game, TableSettings(), seed=2)
    warm.run(1)
    iterations = min(ITERATIONS, max(1, round(ITERATIONS * seconds / TARGET_S)))
    solver = BeliefSolver(game, TableSettings(), seed=1)
    started = process_time()
    nodes = solver.run(iterations)
    spent = process_time() - started
    more = max(1, iterations // 100)
    done: list[int] = []
    table = np.random.default_rng(0).random((ROWS, SLOTS))
    places = np.random.default_rng(1).integers(0, ROWS, READS)
    calls = {"solver": lambda: done.append(solver.run(more)), "reads": lambda: _read(table, places)}
    times = seconds_each(calls, seconds / 4)
    speed, limit = rate(float(np.median(done)), times["solver"]), rate(READS / ROWS_A_NODE, times["reads"])
    detail = {
        "limit": f"reads of {ROWS_A_NODE} random rows of a table a node",
        "seconds of 3000 x 2": round(spent * ITERATIONS / iterations, 2),
        "iterations run for that": iterations,
        "target": TARGET_S,
        "nodes an iteration": round(nodes / iterations),
        "noise": noise(times["solver"]),
    }
    return result("belief-tables", speed, "nodes/s", limit, speed / limit, detail)


@kernel
def _read(table, places):
    total = 0.0
    for i in range(places.shape[0]):
        for slot in range(table.shape[1]):
            total += table[places[i], slot]
    return total
