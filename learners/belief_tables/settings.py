"""Settings of the tabular methods of paper 002."""

from typing import Literal

from pydantic import Field, model_validator

from learners.belief_tables.traversal import MOST_DEPTH
from learners.geister_beliefs.belief import Update
from learners.settings import Settings

Method = Literal["depth-limited", "dream", "outcome-sampling"]
"""Depth-limited external sampling, or one of the two methods that the paper compares it with."""

_SEARCHES = ("depth", "updates", "epsilon", "epsilon_belief")
_UNREAD: dict[Method, tuple[str, ...]] = {
    "depth-limited": ("explore",),
    "dream": _SEARCHES,
    "outcome-sampling": (*_SEARCHES, "decay"),
}
"""The settings that a method does not read."""


class TableSettings(Settings):
    """Settings of the tabular methods on Mini Geister (paper 002, V-A; others were chosen to repeat its results).

    Attributes:
        method: ``depth-limited``, ``dream`` or ``outcome-sampling``.
        belief: How beliefs are updated; with ``none`` the agent knows nothing but the board.
        baseline: Whether to use learnt values: of belief states at the depth limit, and of the actions not taken in
            ``dream``. Without them these values are 0.
        depth: Depth of a search of ``depth-limited``, in moves.
        states: Belief states in a pass, each traversed for both players; in the other methods, games.
        passes: Passes of self-play and traversals in an iteration: `N_traversals` of Algorithm 1.
        updates: When the searches of ``depth-limited`` see changes of the tables: after the ``pass``, as Algorithm 2
            prints it, or as soon as a ``search``, the same or one before it, has made them.
        epsilon: Share of uniform moves in the self-play of ``depth-limited``.
        epsilon_belief: Share of its sampled belief states whose beliefs are redrawn.
        decay: Share of an old value that a new one replaces.
        explore: Share of uniform moves of the traverser in ``dream`` and ``outcome-sampling``.
    """

    method: Method = "depth-limited"
    belief: Update = "paper"
    baseline: bool = True
    depth: int = Field(3, ge=1, le=MOST_DEPTH)
    states: int = Field(256, ge=1, le=1_000_000)
    passes: int = Field(2, ge=1, le=1000)
    updates: Literal["pass", "search"] = "pass"
    epsilon: float = Field(0.25, ge=0, le=1)
    epsilon_belief: float = Field(0.125, ge=0, le=1)
    decay: float = Field(0.5, gt=0, le=1)
    explore: float = Field(0.5, gt=0, le=1)

    @model_validator(mode="after")
    def _check_read(self) -> "TableSettings":
        fields = type(self).model_fields
        unread = [name for name in _UNREAD[self.method] if getattr(self, name) != fields[name].default]
        if unread:
            names = ", ".join(unread)
            raise ValueError(f"{names} must be left out with method={self.method}, which reads no such setting")
        return self
