"""Depth-limited solving from the command line: `dancfr solve --algorithm dl-cfr+|cfr-d`, and runs of value nets as
agents (paper 003)."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import UsageError
from dancfr.games.limits import limit_of
from dancfr.games.registry import make_game
from dancfr.games.trees import make_tree
from dancfr.methods.value_net.config import ValueNetConfig
from dancfr.runs.run import Run
from envs.tree import MOST_NODES, Tree
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.sequence_form import sequence_form
from learners.value_function.completion import complete
from learners.value_function.exploitability import TrunkEvaluator
from learners.value_function.parts import Pair, Split, split_game
from learners.value_function.solver import VARIANTS, DepthLimitedSolver, SolvedValues, ValueFunction, ZeroValues
from learners.value_function.trunks import plans_of

SOLVED, ZERO = "solved", "zero"
PIECE_SECONDS = 0.5
"""How long a solver runs before it is looked for signals and told of progress, roughly."""


def options(*, values: str = SOLVED, limit: str = "", bottom: int = 1000) -> dict[str, Any]:
    """The options of depth-limited algorithms.

    Args:
        values: What histories at the limit are worth: ``solved``, ``zero``, or the folder of a run of a value net.
        limit: Where the game is cut; empty: where it is by default.
        bottom: Iterations of CFR+ in the bottom, where it is solved.
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
    """Solves the trunk of a game, and evaluates it exactly: exploitability is that of the trunk (paper 003, Experiment
    Description).

    Args:
        game, game_options: The game.
        algorithm: A key of `VARIANTS`.
        iterations: Of the trunk.
        chosen: See `options`.
        most_nodes: Largest tree.
        report: Takes a line of progress.

    Returns:
        What was found, the tree, and a policy of the whole game, `float64[S]`: the trunk's average, and below it what
        the bottom's solution for its ranges is.

    Raises:
        UsageError: the game cannot be cut there, or there is no such value function of it.
    """
    settings = options(**chosen)
    if settings["bottom"] < 1:
        raise UsageError(f"bottom={settings['bottom']}: at least one iteration")
    split = cut_game(game, game_options, settings["limit"] or None, most_nodes)
    tree = split.tree
    function = value_function(settings["values"], split, game, settings["bottom"])
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
    largest = tree.max_utility
    return (
        {
            "limit": str(split.limit),
            "limit_public_states": split.encoding.num_public,
            "value": whole.value,
            "exploitability": exploitability,
            "nash_conv": 2 * exploitability,
            "normalised": {"exploitability": exploitability / largest, "nash_conv": 2 * exploitability / largest},
            "max_utility": largest,
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
    """Runs so many iterations by pieces, since Ctrl-C is heard between them; the seconds that took."""
    started, piece = time.perf_counter(), 1
    while iterations > 0:
        count, begun = min(piece, iterations), time.perf_counter()
        solver.run(count)
        iterations -= count
        piece = max(1, int(count * PIECE_SECONDS / max(time.perf_counter() - begun, 1e-9)))
    return time.perf_counter() - started


def cut_game(game: str, game_options: dict[str, Any], limit: str | None, most_nodes: int = MOST_NODES) -> Split:
    """The game cut at a depth limit; None: at its own, see `dancfr.games.limits`.

    Raises:
        UsageError: it has no tree, or cannot be cut there.
    """
    cut = limit_of(game, game_options, limit)
    tree = make_tree(game, game_options, most_nodes)
    try:
        return split_game(make_game(game, **game_options), cut, tree)
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from None


def value_function(name: str, split: Split, game: str, bottom: int = 1000) -> ValueFunction:
    """The value function of that name, see `options`.

    Raises:
        UsageError: there is no such run, or it is of another game or limit.
    """
    if name == SOLVED:
        return SolvedValues(split, bottom)
    if name == ZERO:
        return ZeroValues()
    base, _, wanted = name.partition("@")
    run = Run.open(base)
    if run.method != "value-net":
        raise UsageError(f"{base} is a run of {run.method}: value functions are runs of value-net, solved or zero")
    config = run.config_as(ValueNetConfig)
    trained = make_game(config.game, **config.game_options)
    if trained.spec.name != split.tree.name or config.cut != split.limit:
        raise UsageError(f"{base} is a value function of {config.game} at {config.cut}, not of {game} at {split.limit}")
    files = run.list_strategies()
    if wanted and files and wanted not in (iterations := [str(file.iteration) for file in files]):
        raise UsageError(f"{base} has nets of the iterations {', '.join(iterations)}, not of {wanted}")
    if wanted:
        files = [file for file in files if str(file.iteration) == wanted]
    if not files:
        raise UsageError(f"{name} has no net yet: it gets its first one at iteration {config.evaluation.every}")
    return load_net(run, config, split, files[-1].iteration)


def load_net(run: Run, config: Any, split: Split, iteration: int) -> ValueFunction:
    """The net that a run had after an iteration.

    Raises:
        UsageError: its file does not fit the run's configuration.
    """
    from learners.value_function.network import NetValues, RangeValueNet

    weights, _ = run.load_strategy(0, iteration)
    try:
        return NetValues(split, RangeValueNet.load(split.encoding, config.network, weights))
    except ValueError as error:
        raise UsageError(f"{run.path}, iteration {iteration}, does not fit the run's configuration: {error}") from None


def trunk_of(split: Split, function: ValueFunction, iterations: int) -> Pair:
    """Average policies of the trunk that DL-CFR+ finds, by sequence."""
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
