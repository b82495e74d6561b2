"""Depth-limited solving (paper 003), for `dancfr solve --algorithm dl-cfr+|cfr-d` and for agents of value nets."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import UsageError
from dancfr.games.limits import limit_of
from dancfr.games.registry import make_game
from dancfr.games.rules import check_rules
from dancfr.games.trees import make_tree
from dancfr.methods.agent_name import parse_name
from dancfr.methods.value_functions.config import ValueFunctionConfig
from dancfr.runs.run import Run
from envs.tree import MOST_NODES, Tree
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.sequence_form import sequence_form
from learners.value_functions.completion import complete
from learners.value_functions.exploitability import TrunkEvaluator
from learners.value_functions.parts import Pair, Split, split_game
from learners.value_functions.solver import VARIANTS, DepthLimitedSolver, SolvedValues, ValueFunction, ZeroValues
from learners.value_functions.trunks import plans_of

SOLVED, ZERO = "solved", "zero"
PIECE_SECONDS = 0.5
"""Rough time between returns of a solver to Python, which handles signals only then."""


def options(*, values: str = SOLVED, limit: str = "", bottom: int = 1000) -> dict[str, Any]:
    """Returns the options of depth-limited algorithms.

    Args:
        values: Values at the depth limit: ``solved``, ``zero``, or the folder of a run of value-functions.
        limit: Depth limit; empty: the default of the game.
        bottom: Number of iterations of CFR+ in the subgames, if their values are solved.
    """
    return {"values": values, "limit": limit, "bottom": bottom}


def solve_limited(
    game: str,
    game_options: dict[str, Any],
    algorithm: str,
    iterations: int,
    chosen: dict[str, Any],
    most_nodes: int,
    report: Callable[[str], None],
) -> tuple[dict[str, Any], Tree, NDArray[np.float64]]:
    """Solves the trunk of a game and evaluates it exactly (paper 003, Experiment Description).

    Args:
        game, game_options: The game.
        algorithm: A key of `VARIANTS`.
        iterations: Number of iterations of the trunk.
        chosen: See `options`.
        most_nodes: Maximum number of nodes of the tree.
        report: Function that shows a line of progress.

    Returns:
        The results, in which exploitability is that of the trunk strategy; the tree; and a policy for the whole game,
        `float64[S]`: the average policy of the trunk, and below it the solution of the subgames for its ranges.

    Raises:
        UsageError: the game cannot be cut at the depth limit, the value function does not exist, or an option has no
            effect.
    """
    settings = options(**chosen)
    if settings["bottom"] < 1:
        raise UsageError(f"bottom must be at least 1, got {settings['bottom']}")
    if "bottom" in chosen and settings["values"] != SOLVED:
        raise UsageError(f"values={settings['values']} solves no subgames: leave out bottom, or set values=solved")
    split = cut_game(game, game_options, settings["limit"] or None, most_nodes)
    tree = split.tree
    function = value_function(settings["values"], split, game, game_options, settings["bottom"])
    solver, evaluator = DepthLimitedSolver(split, function, algorithm), TrunkEvaluator(split)
    seconds, curve = 0.0, []
    for point in (*(10**k for k in range(1, len(str(iterations))) if 10**k < iterations), iterations):
        seconds += _run(solver, point - solver.iteration)
        found = evaluator.evaluate(plans_of(split.trunk, solver.average_policies()))
        exploitability = max(float(found.exploitability[0]), 0.0)
        curve.append([point, exploitability])
        report(f"iteration {point:,}: exploitability of the trunk {exploitability:.6g}")
    policy = complete(split, solver.average_policies())
    whole = evaluate_policy(sequence_form(tree), policy)
    largest = tree.max_utility or 1.0
    return (
        {
            "limit": str(split.limit),
            "limit_public_states": split.encoding.num_public,
            "value": whole.value,
            "exploitability": exploitability,
            "nash_conv": 2 * exploitability,
            "normalised": {"exploitability": exploitability / largest, "nash_conv": 2 * exploitability / largest},
            "max_utility": tree.max_utility,
            "returns_sum": 2 * tree.shift,
            "completed": {"exploitability": whole.exploitability, "nash_conv": whole.nash_conv},
            "iterations": iterations,
            "iterations_per_second": iterations / max(seconds, 1e-9),
            "seconds": seconds,
            "curve": curve,
        },
        tree,
        policy,
    )


def _run(solver: DepthLimitedSolver, iterations: int) -> float:
    """Runs iterations in pieces, since Ctrl-C waits for the end of a piece, and returns the seconds."""
    started, piece = time.perf_counter(), 1
    while iterations > 0:
        count, begun = min(piece, iterations), time.perf_counter()
        solver.run(count)
        iterations -= count
        piece = max(1, int(count * PIECE_SECONDS / max(time.perf_counter() - begun, 1e-9)))
    return time.perf_counter() - started


def cut_game(game: str, game_options: dict[str, Any], limit: str | None, most_nodes: int = MOST_NODES) -> Split:
    """Returns the game, split at a depth limit; None stands for the default limit, see `dancfr.games.limits`.

    Raises:
        UsageError: the game has no tree, or cannot be split at the limit.
    """
    cut = limit_of(game, game_options, limit)
    tree = make_tree(game, game_options, most_nodes)
    try:
        return split_game(make_game(game, **game_options), cut, tree)
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from None


def value_function(
    name: str, split: Split, game: str, game_options: dict[str, Any], bottom: int = 1000
) -> ValueFunction:
    """Returns the value function with a name, see `options`.

    Raises:
        UsageError: the run does not exist, or belongs to another game, other rules or another depth limit.
    """
    if name == SOLVED:
        return SolvedValues(split, bottom)
    if name == ZERO:
        return ZeroValues()
    wanted = parse_name(name)
    wanted.options({}, searches=False)
    base = wanted.base
    run = Run.open(base)
    if run.method != "value-functions":
        raise UsageError(
            f"values must be solved, zero or a run of value-functions, and {base} is a run of {run.method}"
        )
    run.require_game()
    config = run.config_as(ValueFunctionConfig)
    trained = make_game(config.game, **config.game_options)
    if trained.spec.name != split.tree.name or config.cut != split.limit:
        raise UsageError(f"{base} is a value function of {config.game} at {config.cut}, not of {game} at {split.limit}")
    check_rules(base, trained, make_game(game, **game_options))
    files = run.list_strategies()
    if wanted.iteration is not None:
        have = ", ".join(str(file.iteration) for file in files)
        files = [file for file in files if file.iteration == wanted.iteration]
        if have and not files:
            raise UsageError(f"{base} has nets of iterations {have}, but not of {wanted.iteration}")
    if not files:
        raise UsageError(
            f"{name} has no net yet: it gets its first one at iteration {config.evaluation.every}, or when it stops"
        )
    return load_net(run, config, split, files[-1].iteration)


def load_net(run: Run, config: ValueFunctionConfig, split: Split, iteration: int) -> ValueFunction:
    """Loads the net of a run after an iteration.

    Raises:
        UsageError: the file does not fit the run's configuration.
    """
    from learners.value_functions.network import NetValues, RangeValueNet

    weights, _ = run.load_strategy(0, iteration)
    try:
        return NetValues(split, RangeValueNet.load(split.encoding, config.network, weights))
    except ValueError as error:
        raise UsageError(f"{run.path}, iteration {iteration}, does not fit the run's configuration: {error}") from None


def trunk_of(split: Split, function: ValueFunction, iterations: int) -> Pair:
    """Returns the average policies of the trunk that DL-CFR+ finds, by sequence."""
    solver = DepthLimitedSolver(split, function)
    solver.run(iterations)
    return solver.average_policies()


__all__ = [
    "SOLVED",
    "VARIANTS",
    "ZERO",
    "cut_game",
    "load_net",
    "options",
    "solve_limited",
    "trunk_of",
    "value_function",
]
