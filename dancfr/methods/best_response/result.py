"""What a trained best response says of the frozen agent."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dancfr.evaluation.statistics import bounded_mean
from dancfr.methods.best_response.config import BestResponseConfig
from learners.networks.settings import Weights

SEATS = ("first", "second")


@dataclass(frozen=True)
class Candidate:
    """A net of one seat.

    Attributes:
        games: Training games before it.
        value: Its mean return at its point of the curve.
        iteration: Of the run.
        net: Its weights.
    """

    games: int
    value: float
    iteration: int
    net: Weights


def describe(
    config: BestResponseConfig,
    games: int,
    curve: Sequence[Sequence[float]],
    candidates: Sequence[Sequence[Candidate]],
    chosen: Sequence[Candidate],
) -> dict[str, Any]:
    """Keys of `dancfr exploit --json`: what was trained, and its curve."""
    return {
        "agent": config.agent,
        "game": config.game,
        "game_options": dict(config.game_options),
        "exact": False,
        "seed": config.seed,
        "games": games,
        "chosen_after_games": [each.games for each in chosen],
        "curve": [list(point) for point in curve],
        "seat_curves": {
            name: [[each.games, each.value] for each in found] for name, found in zip(SEATS, candidates, strict=True)
        },
    }


def bounds(returns: Sequence[NDArray[np.float32]], most: float) -> dict[str, Any]:
    """What the returns of the response in both seats say of the frozen agent.

    NashConv of an agent that plays both seats of a two-player zero-sum game is what best responses win in the one and
    in the other, added up; exploitability is half of it. Nothing wins more than a best response, so that both are at
    least what any response wins, and at least 0.

    Args:
        returns: Of the games in the first seat and of those in the second, ``float32[n]`` each.
        most: Largest absolute return of a game.

    Returns:
        Further keys of `dancfr exploit --json`.
    """
    found = [bounded_mean(each, most) for each in returns]
    value = sum(each.mean for each in found) / 2
    middle = sum(each.middle for each in found) / 2
    half = 1.96 * math.hypot(*(each.error for each in found)) / 2
    low, high = max(min(middle - half, value), -most), min(max(middle + half, value), most)
    return {
        "value": value,
        "value_ci95": [low, high],
        "seats": {
            name: {"value": each.mean, "ci95": [each.low, each.high], "games": len(part)}
            for name, each, part in zip(SEATS, found, returns, strict=True)
        },
        "nash_conv_lower_bound": max(2 * value, 0.0),
        "exploitability_lower_bound": max(value, 0.0),
        "exploitability_at_least": max(low, 0.0),
        "max_return": most,
        "eval_games": sum(map(len, returns)),
    }
