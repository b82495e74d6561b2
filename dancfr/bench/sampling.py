"""Benchmark of Monte Carlo CFR on Leduc hold'em, compared with OpenSpiel's C++ solvers in the same process."""

from collections.abc import Callable
from functools import partial
from typing import Any

from dancfr.bench.tabular import compare, load_pyspiel
from dancfr.bench.timing import result
from dancfr.games.trees import make_tree
from learners.cfr.sequence_form import sequence_form
from learners.cfr.solver import make_solver

SAMPLING = {"external-sampling": "ExternalSamplingMCCFRSolver", "outcome-sampling": "OutcomeSamplingMCCFRSolver"}
SAMPLES, THEIR_SAMPLES = 20_000, 500
"""Iterations in one timed call of our solvers, and of OpenSpiel's."""


def measure(seconds: float) -> dict[str, Any]:
    """Measures iterations/s of external and outcome sampling on Leduc hold'em; `ratio` is that of external sampling.

    An iteration is a traversal for each player.

    Raises:
        UsageError: OpenSpiel is not installed.
    """
    pyspiel = load_pyspiel()
    form, theirs = sequence_form(make_tree("leduc", {})), pyspiel.load_game("leduc_poker")
    detail: dict[str, Any] = {"limit": "OpenSpiel's ExternalSamplingMCCFRSolver in C++"}
    for algorithm, peer in SAMPLING.items():
        solver, other = make_solver(form, algorithm, seed=1), getattr(pyspiel, peer)(theirs, seed=1)
        calls: dict[str, Callable[[], object]] = {
            "ours": partial(solver.run, SAMPLES),
            "theirs": _repeat(other.run_iteration, THEIR_SAMPLES),
        }
        detail[algorithm] = compare(calls, SAMPLES, THEIR_SAMPLES, seconds / 2)
    external = detail["external-sampling"]
    value, limit = external["iterations/s"], external["openspiel iterations/s"]
    return result("mccfr", value, "iterations/s", limit, external["ratio"], detail)


def _repeat(call: Callable[[], object], times: int) -> Callable[[], object]:
    def repeated() -> None:
        for _ in range(times):
            call()

    return repeated
