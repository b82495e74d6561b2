"""The answers of a game whose tree is built, checked: a wrong shape or type would make a wrong tree, and no error."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.extensive import ExtensiveGame
from envs.faults import chance_fault
from envs.game import States

SLACK = 1e-9
"""How much the sum of probabilities of chance may differ from 1 in a tree."""


def legal_actions(game: ExtensiveGame, states: States) -> NDArray[np.bool_]:
    """Returns the legal actions, `bool[n, A]`.

    Raises:
        ValueError: the game returns another shape or type.
    """
    legal = game.legal(states)
    require_shape(game, "legal", legal, (len(states), game.spec.num_actions))
    if legal.dtype != np.bool_:
        raise ValueError(f"{game.spec.name}: legal returned {legal.dtype}, expected truth values (bool)")
    return legal


def chances(game: ExtensiveGame, states: States) -> NDArray[np.float64]:
    """Returns the probabilities of the outcomes of chance, `float64[n, outcomes]`.

    Raises:
        ValueError: the game returns another shape, or probabilities that are negative or do not sum to 1.
    """
    found = game.chance(states)
    if fault := chance_fault(found, len(states), SLACK):
        raise ValueError(f"{game.spec.name}: {fault}")
    return found


def codes(game: ExtensiveGame, states: States, player: int | None = None) -> NDArray[np.integer[Any]]:
    """Returns the private observation of `player`, or for None the public one, of the last transition as codes, `[n]`.

    Raises:
        ValueError: the game returns another shape or type, or a negative code, which histories would take for another.
    """
    method, found = ("public", game.public(states)) if player is None else ("private", game.private(states, player))
    require_shape(game, method, found, (len(states),))
    if found.dtype.kind not in "iub":
        raise ValueError(f"{game.spec.name}: {method} returned {found.dtype}, expected integers")
    if (least := found.min(initial=0)) < 0:
        raise ValueError(f"{game.spec.name}: {method} returned {least}, expected codes from 0")
    return found


def require_shape(game: ExtensiveGame, method: str, found: NDArray[Any], expected: tuple[int, ...]) -> None:
    """Raises ValueError if a method of the game has returned an array of another shape."""
    if found.shape != expected:
        raise ValueError(f"{game.spec.name}: {method} returned an array {found.shape}, expected {expected}")


__all__ = ["SLACK", "chances", "codes", "legal_actions", "require_shape"]
