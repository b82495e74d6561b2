"""Benchmark of random play of Cheat through its batch interface."""

from typing import Any

from dancfr.bench.environment import measure_play
from dancfr.bench.timing import result
from envs.cheat import Cheat

STEPS_OF_SETS = 20  # lock steps per call for discards as sets, with 2,381 actions


def measure(seconds: float) -> dict[str, Any]:
    """Measures actions/s of two players with 13 ranks of 4 cards: masks, uniform choice, checked step and new games.

    Discards are chosen card by card, so an action is a card, the end of a discard, or an answer to a claim. The detail
    has discards that are chosen as a whole (``sets``).
    """
    found = measure_play(Cheat(), "actions/s", seconds * 0.7)
    rate, unit, limit, ratio, detail = measure_play(Cheat(discards="sets"), "actions/s", seconds * 0.3, STEPS_OF_SETS)
    found[-1]["sets"] = {unit: rate, "limit": limit, "ratio": ratio, "nanoseconds": detail["nanoseconds"]}
    return result("cheat-env", *found)
