"""`dancfr solve`: solves a game as a tree by CFR, mirror descent or a linear program, and evaluates it exactly."""

import inspect
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dancfr.errors import UsageError, nearest, warn
from dancfr.games.registry import known_options, make_game, read_options
from dancfr.games.trees import make_tree
from dancfr.methods.value_net.solving import VARIANTS as LIMITED
from dancfr.methods.value_net.solving import options as limited_options
from dancfr.methods.value_net.solving import solve_limited
from dancfr.runs.strategies import check_target, load_agent, write_strategy
from dancfr.values import parse_options
from envs.tree import MOST_NODES, Tree
from learners.cfr.agent import UnknownInfostate
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.linear_program import solve_linear_program
from learners.cfr.mirror_descent import ALGORITHMS as MIRROR_DESCENT
from learners.cfr.mirror_descent import MirrorDescentSolver
from learners.cfr.monte_carlo import MonteCarloSolver
from learners.cfr.sequence_form import SequenceForm, sequence_form
from learners.cfr.solver import ALGORITHMS, Solver, make_solver
from learners.cfr.vector_solver import VARIANTS, VectorSolver

LINEAR_PROGRAM = "lp"

MOST_ITERATIONS, MOST_WEIGHT = 10**15, 1e7
PIECE_SECONDS = 0.25
"""Rough time between returns of a solver to Python, which handles signals only then."""


def solve(
    game: str,
    algorithm: str = "cfr+",
    iterations: int = 1000,
    seed: int = 0,
    *,
    game_settings: Sequence[str] = (),
    settings: Sequence[str] = (),
    warm_start: Path | None = None,
    warm_weight: float = 1.0,
    out: Path | None = None,
    most_nodes: int = MOST_NODES,
    report: Callable[[str], None] = warn,
) -> dict[str, Any]:
    """Solves a game and evaluates the strategy exactly.

    Args:
        game: Name of a game that has a tree.
        algorithm: One of `ALGORITHMS` or of the depth-limited solvers, or ``lp`` for the linear program.
        iterations: Number of iterations; the linear program ignores it.
        seed: Seed of the algorithms that sample.
        game_settings: ``key=value`` options of the game.
        settings: ``key=value`` options of the algorithm.
        warm_start: A strategy to start from, see `VectorSolver.start_from`.
        warm_weight: Weight of that strategy in iterations.
        out: File for the average strategy; None writes no file.
        most_nodes: Largest number of nodes of the tree.
        report: Function that takes a line of progress.

    Returns:
        Sizes of the game; value, exploitability and NashConv of the average policy, in the game's unit and divided by
        the largest return; the same of the last iterate; and a curve over iterations.

    Raises:
        UsageError: a name is unknown, a number or an option is not valid, the game has no tree, or a file does not fit.
        RunError: the strategy could not be written.
    """
    known = (*ALGORITHMS, *LIMITED, LINEAR_PROGRAM)
    if algorithm not in known:
        raise UsageError(nearest(algorithm, known, "algorithm"))
    _check_numbers(iterations, seed, warm_weight)
    options = read_options(game, game_settings)
    types = {name: parameter.annotation for name, parameter in algorithm_options(algorithm).items()}
    for key in (setting.partition("=")[0].strip() for setting in settings):
        if key not in types and key in (known_options(game) or ()):
            raise UsageError(f"{key} is an option of the game, not of {algorithm}: write --option {key}=...")
    chosen = parse_options(settings, types, algorithm)
    if out is not None:
        check_target(out)
    start = None if warm_start is None else _start(warm_start, algorithm, game, options)
    about: dict[str, Any] = {"game": game, "game_options": options, "algorithm": algorithm, "seed": seed}
    about["settings"] = chosen
    if algorithm in LIMITED:
        found, tree, policy = solve_limited(game, options, algorithm, iterations, chosen, most_nodes, report)
        return about | _sizes(tree, sequence_form(tree)) | _store(out, tree, policy, about, found)
    tree = make_tree(game, options, most_nodes)
    form = sequence_form(tree)
    sizes = _sizes(tree, form)
    if algorithm == LINEAR_PROGRAM:
        found, policy = _solve_program(form)
    else:
        try:
            make_solver(form, algorithm, seed, **chosen).run(1)  # compiles the kernels, so that the rate excludes it
            solver = make_solver(form, algorithm, seed, **chosen)
            if start is not None:
                solver.start_from(start(tree), warm_weight)
        except ValueError as error:
            raise UsageError(f"{algorithm}: {error}") from None
        found, policy = _iterate(solver, form, iterations, report)
    return about | sizes | _store(out, tree, policy, about, found)


def _store(out: Path | None, tree: Tree, policy: Any, about: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Writes the policy to a file unless `out` is None, and returns the results with the file's name."""
    if out is None:
        return found
    write_strategy(out, tree, policy, about | {"iterations": found.get("iterations", 0)})
    return found | {"files": [str(out)]}


def _iterate(
    solver: Solver, form: SequenceForm, iterations: int, report: Callable[[str], None]
) -> tuple[dict[str, Any], Any]:
    """Runs a solver to the end, with exact evaluations at the iterations of `_points`."""
    first, seconds, curve = solver.iteration, 0.0, []
    policy, evaluation = solver.average_policy(), None
    for point in _points(iterations):
        seconds += _run(solver, first + point - solver.iteration)
        policy = solver.average_policy()
        evaluation = evaluate_policy(form, policy)
        curve.append([solver.iteration, evaluation.exploitability])
        report(f"iteration {solver.iteration:,}: exploitability {evaluation.exploitability:.6g}")
    assert evaluation is not None
    last = evaluate_policy(form, solver.current_policy())
    found = evaluation.as_dict() | {
        "iterations": solver.iteration,
        "iterations_per_second": iterations / max(seconds, 1e-9),
        "seconds": seconds,
        "nodes_touched": solver.nodes,
        "last_iterate": {"value": last.value, "exploitability": last.exploitability, "nash_conv": last.nash_conv},
        "curve": curve,
    }
    return found, policy


def _run(solver: Solver, iterations: int) -> float:
    """Runs `iterations` iterations in pieces, since Ctrl-C waits for the end of a piece, and returns the seconds."""
    seconds, piece = 0.0, 1
    while iterations > 0:
        count = min(piece, iterations)
        started = time.perf_counter()
        solver.run(count)
        took = time.perf_counter() - started
        seconds += took
        iterations -= count
        piece = max(1, min(16 * piece, int(count * PIECE_SECONDS / max(took, 1e-9))))
    return seconds


def _solve_program(form: SequenceForm) -> tuple[dict[str, Any], Any]:
    started = time.perf_counter()
    equilibrium = solve_linear_program(form)
    found = evaluate_policy(form, equilibrium.policy).as_dict()
    found |= {"value": equilibrium.value, "iterations": 0, "iterations_per_second": 0.0, "curve": []}
    return found | {"seconds": time.perf_counter() - started}, equilibrium.policy


def _sizes(tree: Tree, form: SequenceForm) -> dict[str, Any]:
    """Sizes of a game. ``infosets`` is the number of infosets of one player, the larger one where they differ."""
    return {
        "nodes": tree.num_nodes,
        "infosets": max(tree.num_infosets),
        "infosets_by_player": list(tree.num_infosets),
        "public_states": tree.num_public_states,
        "sequences": [treeplex.num_sequences for treeplex in form.players],
        "payoffs": int(form.payoff.nnz),
        "tree_megabytes": (tree.bytes + form.bytes) / 1e6,
        "tree_seconds": tree.seconds,
    }


def _points(iterations: int) -> list[int]:
    """1, 2, 5, 10, 20, 50, ... and the last iteration."""
    points = [m * 10**k for k in range(len(str(iterations))) for m in (1, 2, 5) if m * 10**k < iterations]
    return [*points, iterations]


def algorithm_options(algorithm: str) -> dict[str, inspect.Parameter]:
    """The options of an algorithm: the keyword-only arguments of its solver, without the seed."""
    if algorithm == LINEAR_PROGRAM:
        return {}
    if algorithm in LIMITED:
        return dict(inspect.signature(limited_options).parameters)
    solver: Any = MonteCarloSolver
    if algorithm in VARIANTS:
        solver = VectorSolver
    elif algorithm in MIRROR_DESCENT:
        solver = MirrorDescentSolver
    found = inspect.signature(solver).parameters
    return {k: p for k, p in found.items() if p.kind is p.KEYWORD_ONLY and k != "seed"}


def _check_numbers(iterations: int, seed: int, warm_weight: float) -> None:
    """Raises UsageError if a number is outside its range."""
    if not 1 <= iterations <= MOST_ITERATIONS:
        bound = "at least 1" if iterations < 1 else f"at most {MOST_ITERATIONS:,}"
        raise UsageError(f"--iterations must be {bound}, got {iterations}")
    if seed < 0:
        raise UsageError(f"--seed must be at least 0, got {seed}")
    if not 0 < warm_weight <= MOST_WEIGHT:  # also false for nan
        raise UsageError(f"--warm-weight must be more than 0 and at most {MOST_WEIGHT:,.0f}, got {warm_weight:g}")


def _start(path: Path, algorithm: str, game: str, options: dict[str, Any]) -> Callable[[Tree], Any]:
    """Returns a function that reads the policy on a tree from a stored strategy."""
    if algorithm in LIMITED:
        raise UsageError("depth-limited solving always starts from the uniform policy: leave out --warm-start")
    if algorithm == LINEAR_PROGRAM:
        raise UsageError("a linear program has no starting point: leave out --warm-start")
    agent = load_agent(str(path), make_game(game, **options))

    def policy(tree: Tree) -> Any:
        try:
            return agent.tree_policy(tree)
        except UnknownInfostate as error:
            raise UsageError(f"{error}: the strategy belongs to other rules of {game}") from None

    return policy
