"""`dancfr.solve` and `dancfr solve`: a game as a tree by CFR, mirror descent or a linear program, evaluated exactly."""

import inspect
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dancfr.agents.tables import tabular_agent
from dancfr.arguments import checked
from dancfr.errors import RunError, UsageError, nearest, silent, warn
from dancfr.games.registry import known_options, make_game, read_options, rules_made_with
from dancfr.games.trees import make_tree
from dancfr.methods.value_functions.solving import VARIANTS as LIMITED
from dancfr.methods.value_functions.solving import options as limited_options
from dancfr.methods.value_functions.solving import solve_limited
from dancfr.notebooks import axes_for, frame
from dancfr.runs.provenance import git_revision
from dancfr.runs.strategies import check_storable, check_target, load_agent, write_strategy
from dancfr.values import parse_options, show, split_settings
from envs.game import Game, GameBase
from envs.tree import MOST_NODES, Tree
from learners.cfr.agent import TabularAgent, UnknownInfostate
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.linear_program import solve_linear_program
from learners.cfr.mirror_descent import ALGORITHMS as MIRROR_DESCENT
from learners.cfr.mirror_descent import MirrorDescentSolver
from learners.cfr.monte_carlo import WITHOUT_EFFECT, MonteCarloSolver
from learners.cfr.sequence_form import SequenceForm, sequence_form
from learners.cfr.solver import ALGORITHMS, Solver, make_solver
from learners.cfr.vector_solver import VARIANTS, VectorSolver
from learners.html import html_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

LINEAR_PROGRAM = "lp"

MOST_ITERATIONS, MOST_WEIGHT = 10**15, 1e7
PIECE_SECONDS = 0.25
"""Rough time between returns of a solver to Python, which handles signals only then."""


@dataclass(frozen=True, repr=False)
class Solution:
    """A strategy for a game, and its evaluation.

    Attributes:
        tree: The game; of OpenSpiel, without packed infostates unless there was a `warm_start`.
        policy: Average policy of both players by slot, a pair of infoset and action, `float64[S]`.
        found: Everything else, as `dancfr solve --json` prints it.
        rules: The game that was solved.
    """

    tree: Tree
    policy: NDArray[np.float64]
    found: dict[str, Any]
    rules: GameBase

    @property
    def value(self) -> float:
        """Expected return of player 0 if both play the policy, in the game's unit."""
        return float(self.found["value"])

    @property
    def exploitability(self) -> float:
        """Half of NashConv; of a depth-limited solution, that of its trunk."""
        return float(self.found["exploitability"])

    @property
    def nash_conv(self) -> float:
        """Sum of the players' gains by answering best."""
        return float(self.found["nash_conv"])

    @property
    def curve(self) -> list[tuple[int, float]]:
        """Iterations and the exploitability after them."""
        return [(int(iteration), float(value)) for iteration, value in self.found["curve"]]

    def frame(self) -> "DataFrame":
        """Returns the curve as a frame of pandas with the columns ``iteration`` and ``exploitability``."""
        return frame((dict(zip(_POINT, point, strict=True)) for point in self.curve), _POINT)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draws the curve with logarithmic axes, and returns these.

        Args:
            ax: Axes of Matplotlib to draw on, for example of another solution; None makes a figure.

        Raises:
            UsageError: the solution is that of a linear program, which has no curve.
        """
        if not self.curve:
            raise UsageError(f"{self.found['algorithm']} has no iterations and so no curve: plot another algorithm's")
        ax = axes_for(ax, *_POINT, f"{self.found['game']}: exploitability of the average policy")
        ax.loglog(*zip(*self.curve, strict=True), marker="o", label=str(self.found["algorithm"]))
        ax.legend()
        return ax

    def agent(self) -> TabularAgent:
        """Returns the agent that plays the policy.

        Raises:
            UsageError: several infosets look the same to the agent, see `check_storable`.
        """
        return tabular_agent(self.tree, self.policy, str(self.found["algorithm"]), self.rules)

    def as_agent(self) -> TabularAgent:
        """Returns the agent that plays wherever the solution is given as one, see `agent`."""
        return self.agent()

    @checked
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the policy to a file that ends in ``.safetensors``, which every command takes as an agent.

        Raises:
            UsageError: the file cannot be written there.
            RunError: the file could not be written.
        """
        check_target(Path(path))
        about = {key: self.found[key] for key in _ABOUT if key in self.found}
        about |= {"iterations": self.found.get("iterations", 0), "git_revision": git_revision()}
        write_strategy(Path(path), self.tree, self.policy, about)

    def as_dict(self) -> dict[str, Any]:
        """Returns the solution without its policy, as `dancfr solve --json` prints it."""
        return dict(self.found)

    def __repr__(self) -> str:
        found = self.found
        iterations = f", {found['iterations']:,} iterations" if self.curve else ""  # a linear program has none
        return (
            f"Solution({found['game']} by {found['algorithm']}{iterations}: "
            f"value {self.value:+.6g}, exploitability {self.exploitability:.6g}, NashConv {self.nash_conv:.6g})"
        )

    def _repr_html_(self) -> str:
        rows = [(f"{iteration:,}", f"{value:.6g}") for iteration, value in self.curve]
        return html_table(_POINT, rows, repr(self))


_ABOUT = ("game", "game_options", "algorithm", "seed", "settings", "warm_start", "warm_weight")
"""Keys of a solution that its file contains, the last two only after a warm start."""
_POINT = ("iteration", "exploitability")
"""A point of the curve."""


@checked
def solve(
    game: str | Game,
    algorithm: str = "cfr+",
    iterations: int = 1000,
    seed: int = 0,
    *,
    options: Mapping[str, Any] | Sequence[str] = (),
    settings: Mapping[str, Any] | Sequence[str] = (),
    warm_start: str | os.PathLike[str] | None = None,
    warm_weight: float | None = None,
    out: str | os.PathLike[str] | None = None,
    most_nodes: int = MOST_NODES,
    report: Callable[[str], None] = warn,
    progress: bool = True,
) -> Solution:
    """Solves a game and evaluates the strategy exactly.

    Args:
        game: Name of a game that has a tree, or such a game, for example one of your own.
        algorithm: ``cfr+``, ``lp`` (a linear program) or another one of docs/explanation/trees-and-cfr.md.
        iterations: Number of iterations; the linear program ignores it.
        seed: Seed of the algorithms that sample.
        options: Options of the game, by name or as ``key=value``.
        settings: Options of the algorithm, by name or as ``key=value``.
        warm_start: A strategy to start from, see `VectorSolver.start_from`.
        warm_weight: Weight of that strategy in iterations; None: 1.
        out: File for the average strategy; None writes no file.
        most_nodes: Largest number of nodes of the tree.
        report: Function that takes a line of progress.
        progress: Report progress.

    Returns:
        The average policy; sizes of the game; value, exploitability and NashConv of this policy, in the game's unit and
        divided by the largest return; the same of the last iterate; and a curve over iterations.

    Raises:
        UsageError: a name is unknown, a number or an option is not valid, the game has no tree, or a file does not fit.
        RunError: the strategy could not be written, or the linear program could not be solved.
    """
    report = report if progress else silent
    known = (*ALGORITHMS, *LIMITED, LINEAR_PROGRAM)
    if algorithm not in known:
        raise UsageError(nearest(algorithm, known, "algorithm"))
    weight = 1.0 if warm_weight is None else warm_weight
    _check_numbers(iterations, seed, weight)
    if warm_weight is not None and warm_start is None:
        raise UsageError("--warm-weight requires --warm-start, the strategy that has this weight")
    name, rules, options = _rules(game, options)
    chosen = _settings(algorithm, settings, known_options(game) if isinstance(game, str) else None)
    target = None if out is None else Path(out)
    if target is not None:
        check_target(target)
    start = None if warm_start is None else _start(warm_start, algorithm, rules)
    about: dict[str, Any] = {"game": name, "game_options": options, "algorithm": algorithm, "seed": seed}
    about["settings"] = chosen
    if warm_start is not None:
        about |= {"warm_start": Path(warm_start).name, "warm_weight": weight}
    if algorithm in LIMITED:
        if not isinstance(game, str):
            raise UsageError(f"{algorithm} takes the name of a game: register yours by the entry point dancfr.games")
        found, tree, policy = solve_limited(name, options, algorithm, iterations, chosen, most_nodes, report)
        return _stored(Solution(tree, policy, about | _sizes(tree, sequence_form(tree)) | found, rules), target)
    tree = make_tree(rules, None, most_nodes, observations=start is not None)
    if target is not None:
        check_storable(tree)
    form = sequence_form(tree)
    sizes = _sizes(tree, form)
    if algorithm == LINEAR_PROGRAM:
        found, policy = _solve_program(form)
    else:
        try:
            make_solver(form, algorithm, seed, **chosen).run(1)  # compiles the kernels, so that the rate excludes it
            solver = make_solver(form, algorithm, seed, **chosen)
            if start is not None:
                solver.start_from(start(tree), weight)
        except ValueError as error:
            raise UsageError(f"{algorithm}: {error}") from None
        found, policy = _iterate(solver, form, iterations, report)
    found["uniform_exploitability"] = evaluate_policy(form, tree.uniform()).exploitability
    return _stored(Solution(tree, policy, about | sizes | found, rules), target)


def _rules(game: str | Game, options: Mapping[str, Any] | Sequence[str]) -> tuple[str, Any, dict[str, Any]]:
    """Returns the name of a game, the game, and its options if it was given by name."""
    if not isinstance(game, str):
        if options:
            raise UsageError(f"the rules of {game.spec.name} are given: leave out the options")
        return game.spec.name, game, rules_made_with(game)
    given = read_options(game, options)
    return game, make_game(game, **given), given


def _settings(
    algorithm: str, settings: Mapping[str, Any] | Sequence[str], of_game: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Returns the options of an algorithm, each of which has the type of the solver's argument."""
    types = {name: parameter.annotation for name, parameter in algorithm_options(algorithm).items()}
    texts = [f"{key}={show(value)}" for key, value in settings.items()] if isinstance(settings, Mapping) else settings
    for key in split_settings(texts):
        if key not in types and key in (of_game or ()):
            raise UsageError(f"{key} is an option of the game, not of {algorithm}: write --option {key}=...")
    return parse_options(texts, types, algorithm)


def _stored(solution: Solution, out: Path | None) -> Solution:
    """Writes a solution to a file unless `out` is None."""
    if out is not None:
        solution.save(out)
        solution.found["files"] = [str(out)]
    return solution


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
    try:
        equilibrium = solve_linear_program(form)
    except RuntimeError as error:
        raise RunError(str(error)) from None
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
    """The options of an algorithm: the keyword-only arguments of its solver that it reads, without the seed."""
    if algorithm == LINEAR_PROGRAM:
        return {}
    if algorithm in LIMITED:
        return dict(inspect.signature(limited_options).parameters)
    solver: Any = MonteCarloSolver
    if algorithm in VARIANTS:
        solver = VectorSolver
    elif algorithm in MIRROR_DESCENT:
        solver = MirrorDescentSolver
    found, others = inspect.signature(solver).parameters, ("seed", *WITHOUT_EFFECT.get(algorithm, ()))
    return {k: p for k, p in found.items() if p.kind is p.KEYWORD_ONLY and k not in others}


def _check_numbers(iterations: int, seed: int, warm_weight: float) -> None:
    """Raises UsageError if a number is outside its range."""
    if not 1 <= iterations <= MOST_ITERATIONS:
        bound = "at least 1" if iterations < 1 else f"at most {MOST_ITERATIONS:,}"
        raise UsageError(f"--iterations must be {bound}, got {iterations}")
    if seed < 0:
        raise UsageError(f"--seed must be at least 0, got {seed}")
    if not 0 < warm_weight <= MOST_WEIGHT:  # also false for nan
        raise UsageError(f"--warm-weight must be more than 0 and at most {MOST_WEIGHT:,.0f}, got {warm_weight:g}")


def _start(path: str | os.PathLike[str], algorithm: str, game: GameBase) -> Callable[[Tree], Any]:
    """Returns a function that reads the policy on a tree from a stored strategy."""
    if algorithm in LIMITED:
        raise UsageError("depth-limited solving always starts from the uniform policy: leave out --warm-start")
    if algorithm == LINEAR_PROGRAM:
        raise UsageError("a linear program has no starting point: leave out --warm-start")
    agent = load_agent(str(path), game)

    def policy(tree: Tree) -> Any:
        try:
            return agent.tree_policy(tree)
        except UnknownInfostate as error:
            raise UsageError(f"{error}: the strategy belongs to other rules of {game.spec.name}") from None

    return policy
