"""Exact best responses: those of `dancfr exploit --exact`, and `--beside-exact`, which calibrates trained ones."""

import json
from time import perf_counter
from typing import Any

from dancfr.agents.by_name import game_of
from dancfr.agents.exploit import SEED, ExploitRequest, exploit
from dancfr.agents.hub.fetch import record_of_commits
from dancfr.agents.match_rules import match_rules
from dancfr.errors import UsageError, warn
from dancfr.evaluation.exploitability import evaluate_exactly
from dancfr.games.registry import make_game
from dancfr.methods.best_response.config import RESULT, BestResponseConfig
from dancfr.methods.best_response.result import SEATS
from dancfr.runs.folder import write_json
from dancfr.runs.metrics import plain
from dancfr.runs.run import Run
from envs.extensive import FactoredGame
from envs.game import GameBase
from learners.exact_response.memoryless import MemorylessPolicy
from learners.exact_response.mini_geister import SOLVED, best_response, solves

TRAINED = "leave out --exact for a trained lower bound"


def exploit_exactly(request: ExploitRequest) -> dict[str, Any]:
    """Computes the returns of best responses in both seats; returns the result of `dancfr exploit --json`.

    The intervals of the result are bounds of numerical error, not confidence intervals.

    Raises:
        UsageError: the game is not Mini Geister, the agent is not memoryless, or a name is unknown.
    """
    game, rules, options = _rules(request)
    if request.out is not None:
        raise UsageError("--exact writes no curve and no nets: leave out --out")
    return _best_responses(request, game, rules, options)


def _best_responses(request: ExploitRequest, game: str, rules: GameBase, options: dict[str, Any]) -> dict[str, Any]:
    """The result of `exploit_exactly` under these rules."""
    if not solves(rules):
        tree = "dancfr evaluate --exploitability is for games with a tree, and "
        cure = f"{tree if isinstance(rules, FactoredGame) else ''}{TRAINED}"
        raise UsageError(f"--exact is for {SOLVED}, not for {rules.spec.name}: {cure}")
    started = perf_counter()
    agent = request.make_agent(request.agent, rules)
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
        if request.options.progress:
            warn(f"moving {name}: {found.value:+.6f} a game")
    low, high = (sum(part["ci95"][end] for part in seats.values()) / 2 for end in (0, 1))
    return {
        "agent": request.agent,
        "game": game,
        "game_options": options,
        "exact": True,
        "seed": SEED,
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
        **record_of_commits((request.agent,)),
    }


def exploit_beside_exact(request: ExploitRequest) -> dict[str, Any]:
    """Trains a best response to an agent whose exact exploitability can be computed, and computes that first.

    Returns:
        The result of `dancfr.agents.exploit.exploit`, with ``exact_exploitability`` and ``found_share``, the share of
        it that the trained response wins; None if it is 0.

    Raises:
        UsageError: see `exploit` and `exploit_exactly`; or neither of them nor a walk over the game's tree or its
            histories is possible.
    """
    game, rules, options = _rules(request)
    if solves(rules):
        exact = _best_responses(request, game, rules, options)["exploitability"]
    else:
        agent, progress = request.make_agent(request.agent, rules), request.options.progress
        exact = evaluate_exactly(request.agent, agent, rules, progress).exploitability
    result = exploit(request)
    share = max(result["value"], 0.0) / exact if exact > 0 else None  # of the trained response, not of `known` agents
    result |= {"exact_exploitability": float(exact), "found_share": share}
    if request.out is not None:
        path = request.out / RESULT
        write_json(path, json.loads(path.read_bytes()) | plain({key: result[key] for key in _CALIBRATION}))
    return result


_CALIBRATION = ("exact_exploitability", "found_share")


def _rules(request: ExploitRequest) -> tuple[str, GameBase, dict[str, Any]]:
    """The game of a request or of the training that it continues: its name, its rules, and their options."""
    if request.options.resume and request.out is not None:
        stored = Run.open(request.out).config_as(BestResponseConfig)
        return stored.game, make_game(stored.game, **stored.game_options), dict(stored.game_options)
    game = game_of((request.agent,), request.game)
    return game, *match_rules(game, (request.frozen,), request.settings, request.ply_limit)
