"""The bounds that trained best responses give for the frozen agent."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.evaluation.statistics import bounded_mean, quantile_of_best
from dancfr.methods.best_response.config import BestResponseConfig
from dancfr.methods.best_response.starts import Candidate, start_curves

SEATS = ("first", "second")


Returns = Sequence[NDArray[np.float32]]
"""Returns of an agent's games in the first seat and of those in the second, ``float32[n]`` each."""


@dataclass(frozen=True)
class KnownAgent:
    """A reference agent, and the returns of its games against the frozen agent."""

    name: str
    returns: Returns


def describe(
    config: BestResponseConfig,
    games: int,
    decisions: int,
    curve: Sequence[Sequence[float]],
    candidates: Sequence[Candidate],
    chosen: Sequence[tuple[Candidate, float]],
) -> dict[str, Any]:
    """Keys of `dancfr exploit --json`: the training, and its curve."""
    return {
        "agent": config.agent,
        "game": config.game,
        "game_options": dict(config.game_options),
        "exact": False,
        "seed": config.seed,
        "games": games,
        "decisions": decisions,
        "budget": {"minutes": config.minutes, "games": config.games},
        "starts": list(config.starts),
        "chosen_after_games": [each.games for each, _ in chosen],
        "chosen_starts": [config.starts[each.member] for each, _ in chosen],
        "chosen_decisions": [each.effort.decisions for each, _ in chosen],
        "chosen_cpu_seconds": [each.effort.seconds for each, _ in chosen],
        "chosen_thresholds": [threshold for _, threshold in chosen],
        "curve": [list(point) for point in curve],
        "seat_curves": {name: _curve(candidates, seat) for seat, name in enumerate(SEATS)},
        "start_curves": start_curves(config, candidates),
    }


def _curve(candidates: Sequence[Candidate], seat: int) -> list[list[float]]:
    """The best value of a seat at each point: games and value."""
    best: dict[int, float] = {}
    for each in candidates:
        best[each.games] = max(best.get(each.games, -math.inf), each.values[seat])
    return [[games, value] for games, value in sorted(best.items())]


def bounds(returns: Returns, most: float, known: Sequence[KnownAgent] = ()) -> dict[str, Any]:
    """The bounds that the returns in both seats give for the frozen agent.

    NashConv of an agent that plays both seats of a two-player zero-sum game is what best responses win in the one and
    in the other, added up; exploitability is half of it. Nothing wins more than a best response, so that both are at
    least what any agent wins, and at least 0.

    Args:
        returns: Returns of the response's games.
        most: Largest absolute return of a game.
        known: Other agents; the bound is that of the best of all. ``exploitability_at_least`` allows for the choice
            among them, see `quantile_of_best`, and may be below the interval of the best.

    Returns:
        Further keys of `dancfr exploit --json`.
    """
    names = ("response", *(each.name for each in known))
    quantile = quantile_of_best(len(names))
    (own, _), *others = found = [_measured(each, most, quantile) for each in (returns, *(k.returns for k in known))]
    by, (best, low) = max(zip(names, found, strict=True), key=lambda each: float(each[1][0]["value"]))
    return own | {
        "known": {name: measured for name, (measured, _) in zip(names[1:], others, strict=True)},
        "bound_by": by,
        "nash_conv_lower_bound": max(2 * best["value"], 0.0),
        "exploitability_lower_bound": max(best["value"], 0.0),
        "exploitability_at_least": max(low, 0.0),
        "max_return": most,
        "eval_games": sum(map(len, returns)),
    }


def _measured(returns: Returns, most: float, quantile: float) -> tuple[dict[str, Any], float]:
    """The result of an agent with its 95 % intervals, and its lower bound at another quantile."""
    found = [bounded_mean(each, most) for each in returns]
    value = sum(each.mean for each in found) / 2
    middle = sum(each.middle for each in found) / 2
    error = math.hypot(*(each.error for each in found)) / 2
    low, high = max(min(middle - 1.96 * error, value), -most), min(max(middle + 1.96 * error, value), most)
    seats = {
        name: {"value": each.mean, "ci95": [each.low, each.high], "games": len(part)}
        for name, each, part in zip(SEATS, found, returns, strict=True)
    }
    return {"value": value, "value_ci95": [low, high], "seats": seats}, min(middle - quantile * error, value)
