"""The record of an agent's thoughts about one position."""

from dataclasses import dataclass, field, fields
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from envs.belief import Beliefs
from envs.game import GameBase, States

DIGITS = 4


@dataclass(frozen=True)
class Insight:
    """An agent's thoughts about a position in which it is to move.

    Lists have an entry for each legal action, in the order of the legal actions.

    Attributes:
        policy: Probability of playing each action.
        source: Where the policy is from. ``policy``: the agent's own, exact. ``greedy``: the action with the greatest
            output of a net. ``search``: the action that a search has chosen; another search may choose another.
            ``settled``: no choice, or one that the agent leaves to the rules of the game's heuristic. ``draws``:
            estimated from `draws` moves of the agent in this position.
        draws: Number of these moves, else None.
        prior: The policy before the search, or that of a policy net whose likeliest action is played; else None.
        values: Value of each action to the player, None for those without one; None if the agent values no action.
        values_are: ``returns``, in the game's unit, or ``advantages``, differences from the value of the position.
        tries: Roll-outs of each action, if the agent searches.
        value: Value of the position to the player, in the game's unit.
        value_from: Where it is from. ``net``: the agent's value of what the player sees. ``critic``: the mean value of
            a critic that sees everything, over deals of what the player does not see. ``search``: the mean of the
            roll-outs of the chosen action. ``self-play``: the exact value if all players play like the agent.
            ``values``: the greatest of `values`.
        arrangements: The probability of each arrangement with which the agent has searched an `envs.hidden.HiddenGame`,
            `[K]`, up to a factor; else None. It is not part of the JSON.
        beliefs: What the agent believes to be hidden, see `envs.belief.Beliefs`.
    """

    policy: list[float] | None
    source: str
    draws: int | None = None
    prior: list[float] | None = None
    values: list[float | None] | None = None
    values_are: str | None = None
    tries: list[int] | None = None
    value: float | None = None
    value_from: str | None = None
    beliefs: Beliefs | None = None
    arrangements: NDArray[np.floating[Any]] | None = field(default=None, repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """Returns the insight as plain numbers, lists and texts, rounded to `DIGITS` digits."""
        return {each.name: _rounded(getattr(self, each.name)) for each in fields(self) if each.repr}


@runtime_checkable
class Thinks(Protocol):
    """An agent that gives its own insight into a position, as one that searches does.

    Of other agents `dancfr.agents.insight.consult` finds out as much as it can from what else they can tell.
    """

    def think(self, states: States, rng: np.random.Generator) -> Insight:
        """Returns the insight into a position in which the agent is to move, without `Insight.beliefs`.

        Args:
            states: The position, `[1]`, of a batch of one game; the agent has taken in its earlier moves by `recall`.
            rng: Source of all random draws.
        """
        ...


def limited(value: float, game: GameBase) -> float:
    """A value of a net, which may be out of the bounds of the game's returns."""
    return float(np.clip(value, -game.spec.max_return, game.spec.max_return))


def normalised(weights: NDArray[np.floating[Any]]) -> list[float]:
    found = np.asarray(weights, np.float64)
    shares: list[float] = (found / found.sum()).tolist()
    return shares


def with_gaps(values: NDArray[np.floating[Any]]) -> list[float | None]:
    """Values with None for those that are missing."""
    return [None if np.isnan(value) else float(value) for value in values]


def _rounded(part: Any) -> Any:
    """A part of an insight with its numbers rounded."""
    if isinstance(part, dict):
        return {key: _rounded(each) for key, each in part.items()}
    if isinstance(part, list):
        return [_rounded(each) for each in part]
    return round(part, DIGITS) if isinstance(part, float) else part


__all__ = ["Insight", "Thinks", "limited", "normalised", "with_gaps"]
