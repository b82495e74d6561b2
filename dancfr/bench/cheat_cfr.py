"""Benchmark of chance-sampled CFR on Mini-Cheat, compared with the same algorithm in plain Python."""

from collections.abc import Callable
from time import process_time
from typing import Any

from dancfr.bench.plain_cheat import PlainSolver
from dancfr.bench.timing import joined, noise, rate, result
from dancfr.games.registry import make_game_as
from envs.cheat import Cheat
from learners.cheat_cfr.keys import AGENTS, GENERAL, KeyForm
from learners.cheat_cfr.solver import CheatSolver, draw_deals

ITERATIONS = 100
"""Iterations of a timed run, as in paper 001, tables 1 and 2."""
REPEATS = 3
"""Runs of each solver; benchmarks of less than a second run each solver once."""


def measure(seconds: float) -> dict[str, Any]:
    """Measures iterations/s of the general agent on Cheat-3 over its first 100 iterations, one deal each.

    The peer of the first row is plain Python that walks the same nodes of the same deals: those that some player
    reaches. The peer of the second row walks the whole tree below each deal, as paper 001 does, with the same results;
    its ratio is what compilation and the omission of the other nodes bring together. The detail has the nodes per
    iteration of each, and the CPU seconds of 100 iterations of each agent on Cheat-3 to Cheat-5. The plain solvers
    determine how long the benchmark takes.
    """
    game = make_game_as(Cheat, "mini-cheat", health=3)
    calls: dict[str, Callable[[], int]] = {
        "ours": lambda: _compiled(game),
        "same nodes": lambda: _plain(game, prune=True),
        "whole trees": lambda: _plain(game, prune=False),
    }
    calls["ours"]()  # compiles
    times: dict[str, list[float]] = {name: [] for name in calls}
    nodes = {}
    for _ in range(REPEATS if seconds >= 1 else 1):
        for name, call in calls.items():
            started = process_time()
            nodes[name] = round(call() / ITERATIONS)
            times[name].append(process_time() - started)
    rates = {name: rate(ITERATIONS, each) for name, each in times.items()}

    def row(peer: str, case: str, limit: str, **more: Any) -> dict[str, Any]:
        measured = {
            "nodes an iteration": {name: nodes[name] for name in ("ours", peer)},
            "noise": {name: noise(times[name]) for name in ("ours", peer)},
        }
        ours, theirs = rates["ours"], rates[peer]
        detail = {"limit": limit, **measured, **more}
        return result("cheat-cfr", ours, "iterations/s", theirs, ours / theirs, detail, case)

    agents = {f"Cheat-{n}": {agent: _report(agent, n) for agent in AGENTS} for n in (3, 4, 5)}
    return joined(
        row("same nodes", "like for like", "plain Python on the same nodes", **{"100 iterations": agents}),
        row("whole trees", "against whole trees", "plain Python on the whole tree below each deal"),
    )


def _report(agent: str, health: int) -> dict[str, Any]:
    """Measures the cost of 100 iterations and the size of their table."""
    solver = CheatSolver(make_game_as(Cheat, "mini-cheat", health=health), KeyForm(agent), 1)
    started = process_time()
    solver.run(ITERATIONS)
    return {
        "seconds": round(process_time() - started, 4),
        "infosets": solver.table.used,
        "nodes": solver.nodes,
        "megabytes": round(solver.table.bytes / 1e6, 1),
    }


def _compiled(game: Cheat) -> int:
    """Runs the iterations with the compiled solver; returns the number of nodes."""
    solver = CheatSolver(game, KeyForm(GENERAL), 1)
    solver.run(ITERATIONS)
    return solver.nodes


def _plain(game: Cheat, prune: bool) -> int:
    """Runs the iterations in plain Python, on the deals that the compiled solver draws; returns the number of nodes."""
    solver = PlainSolver(game, GENERAL, prune)
    for deal in draw_deals(game, 1, 0, ITERATIONS):
        solver.iterate(deal["hand"].tolist(), int(deal["discarder"]))
    return solver.nodes
