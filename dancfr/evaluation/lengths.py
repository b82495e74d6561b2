"""How long one game of an evaluation is, whatever a run was trained on."""

from dataclasses import replace
from typing import Any

PLY_LIMITS = {"geister": 300}
"""Length of evaluation games where the command does not say (paper 000, 5.1); other games keep their own."""

LENGTHS: dict[str, dict[str, Any]] = {"guandan": {"length": "round", "situation": "drawn"}}
"""Options that say what one game of an evaluation is, whatever a run was trained on."""

WHOLE: dict[str, dict[str, Any]] = {"guandan": {"situation": "first"}}
"""What goes with ``length=match`` unless the command says otherwise: a match begins with its first round."""


def evaluated_as(game: Any) -> Any:
    """A game that a run is trained on, as the run is evaluated: with the length that `LENGTHS` says."""
    return replace(game, **LENGTHS[game.spec.name]) if game.spec.name in LENGTHS else game
