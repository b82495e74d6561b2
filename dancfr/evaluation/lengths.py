"""Length of evaluation games, which does not depend on the length that a run was trained on."""

from dataclasses import replace
from typing import Any

PLY_LIMITS = {"geister": 300}
"""Default maximum number of plies of evaluation games (paper 000, 5.1); other games keep their own limit."""

LENGTHS: dict[str, dict[str, Any]] = {"guandan": {"length": "round", "situation": "drawn"}}
"""Options that define a game of an evaluation, whatever the values that a run was trained with."""

WHOLE: dict[str, dict[str, Any]] = {"guandan": {"situation": "first"}}
"""Default options with ``length=match``: a match begins with its first round."""


def evaluated_as(game: Any) -> Any:
    """Returns the game that evaluates runs trained on `game`, which has the length of `LENGTHS`."""
    return replace(game, **LENGTHS[game.spec.name]) if game.spec.name in LENGTHS else game
