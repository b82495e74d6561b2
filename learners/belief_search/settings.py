"""Settings of self-play and searches of paper 002 with nets."""

from typing import Literal

from pydantic import Field

from learners.geister_beliefs.belief import Update
from learners.settings import Settings

MOST_DEPTH = 6
"""Most moves of a search."""


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
        epsilon_belief: Share of belief states whose beliefs, and then colours, are redrawn.
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
