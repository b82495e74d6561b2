"""`dancfr exploit --exact`: exact best responses to memoryless agents in Mini Geister."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

from dancfr.agents.by_name import game_of, make_agent
from dancfr.agents.exploit import SEED, ExploitRequest
from dancfr.agents.match_rules import match_rules
from dancfr.errors import UsageError, warn
from dancfr.methods.best_response.result import SEATS
from envs.extensive import FactoredGame
from learners.exact_response.memoryless import MemorylessPolicy
from learners.exact_response.mini_geister import SOLVED, best_response, solves

TRAINED = "leave out --exact for a trained lower bound"


def exploit_exactly(request: ExploitRequest, report: Callable[[str], None] = warn) -> dict[str, Any]:
    """Computes the returns of best responses in both seats; returns the result of `dancfr exploit --json`.

    The intervals of the result are bounds of numerical error, not confidence intervals.

    Raises:
        UsageError: the game is not Mini Geister, the agent is not memoryless, or a name is unknown.
    """
    started = perf_counter()
    game = game_of((request.agent,), request.game)
    rules, options = match_rules(game, (request.agent,), request.settings, request.ply_limit)
    if not solves(rules):
        tree = "dancfr evaluate --exploitability is for games with a tree, and "
        cure = f"{tree if isinstance(rules, FactoredGame) else ''}{TRAINED}"
        raise UsageError(f"--exact is for {SOLVED}, not for {rules.spec.name}: {cure}")
    if request.out is not None:
        raise UsageError("--exact writes no curve and no nets: leave out --out")
    agent = make_agent(request.agent, rules)
    seats: dict[str, dict[str, Any]] = {}
    corners = most = 0
    for seat, name in enumerate(SEATS):
        try:
            found = best_response(MemorylessPolicy(rules, agent, 1 - seat), seat)
        except ValueError as error:
            raise UsageError(f"{error}; {TRAINED}") from None
        interval = [found.value, min(found.value + found.error, rules.spec.max_return)]
        seats[name] = {"value": found.value, "ci95": interval, "by_colours": list(found.by_colours)}
        corners, most = corners + found.corners, max(most, found.most)
        report(f"moving {name}: {found.value:+.6f} a game")
    low, high = (sum(part["ci95"][end] for part in seats.values()) / 2 for end in (0, 1))
    return {
        "agent": request.agent,
        "game": game,
        "game_options": options,
        "exact": True,
        "seed": SEED if request.seed is None else request.seed,
        "games": 0,
        "seconds": perf_counter() - started,
        "value": low,
        "value_ci95": [low, high],
        "seats": seats,
        "nash_conv": max(2 * low, 0.0),
        "exploitability": max(low, 0.0),
        "nash_conv_lower_bound": max(2 * low, 0.0),
        "exploitability_lower_bound": max(low, 0.0),
        "exploitability_at_least": max(low, 0.0),
        "max_return": rules.spec.max_return,
        "curve": [],
        "corners": corners,
        "most_corners": most,
    }
