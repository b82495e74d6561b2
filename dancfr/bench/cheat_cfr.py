"""Benchmark of chance-sampled CFR on Mini-Cheat, compared with the same algorithm in plain Python."""

from collections.abc import Callable
from time import process_time
from typing import Any

from dancfr.bench.plain_cheat import PlainSolver
from dancfr.bench.timing import noise, rate, result
from dancfr.games.registry import make_game
from envs.cheat import Cheat
from learners.cfr.cheat.keys import AGENTS, GENERAL, KeyForm
from learners.cfr.cheat.solver import CheatSolver, draw_deals

ITERATIONS = 100
"""Iterations of a timed run, as in paper 001, tables 1 and 2."""
REPEATS = 3
"""Runs of each solver; benchmarks of less than a second run each solver once."""


def measure(seconds: float) -> dict[str, Any]:
    """Measures iterations/s of the general agent on Cheat-3 over its first 100 iterations, one deal each.

    The limit is the rate of plain Python that walks the whole tree below each deal, as paper 001 does, on the same
    deals, by the same rules and with the same results. The detail has the rate of plain Python that skips subtrees
    which neither player reaches, as the compiled solver does, and the CPU seconds of 100 iterations of each agent on
    Cheat-3 to Cheat-5. The plain solver determines how long the benchmark takes.
    """
    game: Cheat = make_game("mini-cheat", health=3)
    calls: dict[str, Callable[[], object]] = {
        "compiled": lambda: CheatSolver(game, KeyForm(GENERAL), 1).run(ITERATIONS),
        "plain": lambda: _plain(game, prune=False),
        "plain, pruned": lambda: _plain(game, prune=True),
    }
    calls["compiled"]()  # compiles
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(REPEATS if seconds >= 1 else 1):
        for name, call in calls.items():
            started = process_time()
            call()
            times[name].append(process_time() - started)
    rates = {name: rate(ITERATIONS, each) for name, each in times.items()}
    detail = {
        "limit": "plain Python, the whole tree below each deal",
        "plain Python without what nobody reaches": round(rates["plain, pruned"], 1),
        "ratio to that": round(rates["compiled"] / rates["plain, pruned"], 1),
        "noise": {name: noise(each) for name, each in times.items()},
        "100 iterations": {f"Cheat-{n}": {agent: _report(agent, n) for agent in AGENTS} for n in (3, 4, 5)},
    }
    ratio = rates["compiled"] / rates["plain"]
    return result("cheat-cfr", rates["compiled"], "iterations/s", rates["plain"], ratio, detail)


def _report(agent: str, health: int) -> dict[str, Any]:
    """Measures the cost of 100 iterations and the size of their table."""
    solver = CheatSolver(make_game("mini-cheat", health=health), KeyForm(agent), 1)
    started = process_time()
    solver.run(ITERATIONS)
    return {
        "seconds": round(process_time() - started, 4),
        "infosets": solver.table.used,
        "nodes": solver.nodes,
        "megabytes": round(solver.table.bytes / 1e6, 1),
    }


def _plain(game: Cheat, prune: bool) -> None:
    """Runs the iterations in plain Python, on the deals that the compiled solver draws."""
    solver = PlainSolver(game, GENERAL, prune)
    for deal in draw_deals(game, 1, 0, ITERATIONS):
        solver.iterate(deal["hand"].tolist(), int(deal["discarder"]))
