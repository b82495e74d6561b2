"""The worth of a belief to a critic that sees all hands: mean values over deals beside the return of the round."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.game import States
from envs.guandan.beliefs.evidence import observe
from envs.guandan.beliefs.knowledge import OTHERS, PLACES
from envs.guandan.beliefs.net import HandsBelief
from envs.guandan.beliefs.placements import STEPS, deal_into
from envs.guandan.game import GuanDan
from learners.listed.critic import CriticInference

DEALS = 16
"""Deals over which the values of a position are averaged."""

PART = 256
"""Positions at a time."""

Deal = Callable[[States, NDArray[Any], NDArray[np.uint64]], None]


def deal_by_tributes(states: States, players: NDArray[Any], seeds: NDArray[np.uint64]) -> None:
    """Deals like `HandsBelief.deal`, with all deals alike likely that agree with the tributes."""
    known, zeros = observe(states, players)[2], np.zeros((len(states), OTHERS, PLACES, STEPS))
    deal_into(states, np.ascontiguousarray(players, np.int64), known, zeros, seeds)


def values_by_deals(
    game: GuanDan, critic: CriticInference, belief: HandsBelief, states: States, rng: np.random.Generator
) -> dict[str, NDArray[np.float64]]:
    """The critic's values to the movers of n positions, averaged over deals of each kind, `float64[n]` each.

    Args:
        game: The rules.
        critic: Its values of a position to the mover.
        belief: The belief.
        states: `[n]` records.
        rng: Draws the seeds of the deals.

    Returns:
        ``true``, the values of the true hands; ``uniform``, ``tributes`` and ``learned``, those of `DEALS` deals.
    """
    kinds: dict[str, Deal] = {"uniform": game.redeal, "tributes": deal_by_tributes, "learned": belief.deal}
    found = {"true": _values(game, critic, states)}
    for name, deal in kinds.items():
        parts = []
        for start in range(0, len(states), PART):
            dealt = np.repeat(states[start : start + PART], DEALS)
            seeds = rng.integers(0, 2**64, len(dealt), np.uint64)
            deal(dealt, dealt["to_move"].astype(np.int64), seeds)
            parts.append(_values(game, critic, dealt).reshape(-1, DEALS).mean(axis=1))
        found[name] = np.concatenate(parts)
    return found


def _values(game: GuanDan, critic: CriticInference, states: States) -> NDArray[np.float64]:
    movers = states["to_move"]
    return critic(game.observe(states, movers), game.observe_hidden(states, movers)).astype(np.float64)


__all__ = ["DEALS", "deal_by_tributes", "values_by_deals"]
