"""Benchmark of CFR+ on trees, compared with OpenSpiel's C++ solver on the same games in the same process."""

from collections.abc import Callable
from time import process_time
from typing import Any

from dancfr.bench.timing import joined, noise, rate, result, seconds_each
from dancfr.errors import UsageError
from dancfr.games.trees import make_tree
from envs.openspiel import to_efg
from envs.tree import Tree
from learners.cfr.exact_evaluation import evaluate_policy
from learners.cfr.sequence_form import sequence_form
from learners.cfr.solver import make_solver

GAMES: dict[str, str | None] = {
    "leduc": "leduc_poker",
    "goofspiel5": "goofspiel(imp_info=True,num_cards=5,points_order=descending,returns_type=point_difference)",
    "oshi_zumo8_k1": None,
    "leduc_2b2r": None,
}
"""OpenSpiel's name of each game, or None if it lacks the game (its oshi_zumo reveals both bids). OpenSpiel also loads
any tree in Gambit's format; the faster of the two forms is the peer."""

ITERATIONS = {"leduc": 200, "goofspiel5": 50, "oshi_zumo8_k1": 100, "leduc_2b2r": 20}
"""Iterations of our solver in one timed call; a timed call of OpenSpiel's is one iteration."""


def measure(seconds: float) -> dict[str, Any]:
    """Measures iterations/s of CFR+ (alternating, linear averages) on each of four games, beside OpenSpiel's on it.

    Both solvers update both players in an iteration. The detail has the exploitability after 100 iterations of both
    solvers, in our unit. Games and methods are the same, so the two should agree; in goofspiel they differ in the third
    digit, because many actions tie and rounding decides between them.

    Raises:
        UsageError: OpenSpiel is not installed.
    """
    pyspiel = load_pyspiel()
    return joined(*(_cfr_plus(pyspiel, name, seconds / len(GAMES)) for name in GAMES))


def _cfr_plus(pyspiel: Any, name: str, seconds: float) -> dict[str, Any]:
    """Returns the row of a game."""
    tree = make_tree(name, {})
    form = sequence_form(tree)
    theirs, played = _faster_game(pyspiel, name, tree)
    ours, peer = make_solver(form, "cfr+"), pyspiel.CFRPlusSolver(theirs)
    calls = {"ours": lambda: ours.run(ITERATIONS[name]), "theirs": peer.evaluate_and_update_policy}
    speed = compare(calls, ITERATIONS[name], 1, seconds)
    detail = {"limit": f"OpenSpiel's CFRPlusSolver in C++, {played}", **speed}
    ours, peer = make_solver(form, "cfr+"), pyspiel.CFRPlusSolver(theirs)
    ours.run(100)
    for _ in range(100 if seconds > 1 else 1):
        peer.evaluate_and_update_policy()
    unit = tree.max_utility / max(theirs.max_utility(), 1e-9)
    found = evaluate_policy(form, ours.average_policy()).exploitability
    if seconds > 1:
        detail["exploitability"] = [found, unit * pyspiel.exploitability(theirs, peer.average_policy())]
    detail |= {"nodes": tree.num_nodes, "tree seconds": round(tree.seconds, 3), "megabytes": form.bytes / 1e6}
    value, limit = speed["iterations/s"], speed["openspiel iterations/s"]
    return result("cfr-plus", value, "iterations/s", limit, speed["ratio"], detail, name)


def _faster_game(pyspiel: Any, name: str, tree: Tree) -> tuple[Any, str]:
    """Returns the form of the game in which OpenSpiel's solver is faster, and the name of that form."""
    forms = {"on the tree as text": pyspiel.load_efg_game(to_efg(tree))}
    if text := GAMES[name]:
        game = pyspiel.load_game(text)
        simultaneous = game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS
        forms["by its own rules"] = pyspiel.convert_to_turn_based(game) if simultaneous else game
    solvers = {form: pyspiel.CFRPlusSolver(game) for form, game in forms.items()}
    times = seconds_each({f: s.evaluate_and_update_policy for f, s in solvers.items()}, 0.0)
    best = min(times, key=lambda form: min(times[form]))
    return forms[best], best


def compare(calls: dict[str, Callable[[], object]], ours: int, theirs: int, seconds: float) -> dict[str, Any]:
    """Measures two solvers in turn and returns their rates and ratio.

    Args:
        calls: The timed calls, ``ours`` and ``theirs``.
        ours: Iterations in one call of our solver.
        theirs: Iterations in one call of OpenSpiel's.
        seconds: Approximate time to spend.
    """
    times = seconds_each(calls, seconds, process_time)
    mine, peer = rate(ours, times["ours"]), rate(theirs, times["theirs"])
    rates = {"iterations/s": mine, "openspiel iterations/s": peer, "ratio": mine / peer}
    return rates | {"noise": noise(times["ours"]), "openspiel noise": noise(times["theirs"])}


def load_pyspiel() -> Any:
    """Imports OpenSpiel; raises UsageError if it is not installed."""
    from envs.openspiel.loading import import_pyspiel

    try:
        return import_pyspiel()
    except ImportError as error:
        raise UsageError(str(error)) from None
