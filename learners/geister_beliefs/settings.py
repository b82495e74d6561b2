"""Settings of the methods of paper 002, with tables and with nets."""

from typing import Literal

from pydantic import Field

from learners.geister_beliefs.belief import Update
from learners.geister_beliefs.traversal import MOST_DEPTH
from learners.settings import Settings

Method = Literal["depth-limited", "dream", "outcome-sampling"]
"""Depth-limited external sampling, or one of the two methods that the paper compares it with."""


class TableSettings(Settings):
    """Settings of the tabular methods on Mini Geister (paper 002, V-A; others were chosen to repeat its results).

    Attributes:
        method: ``depth-limited``, ``dream`` or ``outcome-sampling``.
        belief: How beliefs are updated; with ``none`` the agent knows nothing but the board.
        baseline: Whether to use learnt values: of belief states at the depth limit, and of the actions not taken in
            ``dream``. Without them these values are 0.
        depth: Depth of a search, in moves.
        states: Belief states in a pass, each traversed for both players; in the other methods, games.
        passes: Passes of self-play and traversals in an iteration: `N_traversals` of Algorithm 1.
        epsilon: Share of uniform moves in self-play.
        epsilon_belief: Share of sampled belief states whose beliefs are drawn anew.
        decay: Share of an old value that a new one replaces.
        explore: Share of uniform moves of the traverser in ``dream`` and ``outcome-sampling``.
    """

    method: Method = "depth-limited"
    belief: Update = "paper"
    baseline: bool = True
    depth: int = Field(3, ge=1, le=MOST_DEPTH)
    states: int = Field(256, ge=1, le=1_000_000)
    passes: int = Field(2, ge=1, le=1000)
    epsilon: float = Field(0.25, ge=0, le=1)
    epsilon_belief: float = Field(0.125, ge=0, le=1)
    decay: float = Field(0.5, gt=0, le=1)
    explore: float = Field(0.5, gt=0, le=1)


class SearchSettings(Settings):
    """Self-play and depth-limited external sampling with nets, on boards of any size.

    Attributes:
        belief: How beliefs are updated; with ``none`` players know the colours of captured ghosts and nothing else.
        depth: Depth of a search, in moves.
        leaves: Value at the depth limit: ``mover`` uses the value net for the player to move, with changed sign for the
            other player; ``traverser`` uses it where the traverser is to move and 0 elsewhere, as in the paper.
        returns: Whether value nets also learn the returns of self-play, not only the values of searches.
        epsilon: Share of uniform moves in self-play.
        doubt: Share of uniform moves that beliefs expect of the opponent, in training and at play. Without it a single
            move that the average policy hardly ever makes would decide a belief.
        epsilon_belief: Share of belief states whose beliefs, and then colours, are drawn anew.
        spread: Spread of the new beliefs, see `Arrangements.regenerate`.
    """

    belief: Update = "exact"
    depth: int = Field(2, ge=1, le=MOST_DEPTH)
    leaves: Literal["mover", "traverser"] = "mover"
    returns: bool = True
    epsilon: float = Field(0.25, ge=0, le=1)
    doubt: float = Field(0.25, ge=0, le=1)
    epsilon_belief: float = Field(0.125, ge=0, le=1)
    spread: float = Field(1.5, ge=0, le=10)
