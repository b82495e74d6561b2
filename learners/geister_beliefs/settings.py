"""Settings of the methods of paper 002: in tables, and with nets."""

from typing import Literal

from pydantic import Field

from learners.geister_beliefs.belief import Update
from learners.geister_beliefs.traversal import MOST_DEPTH
from learners.settings import Settings

Method = Literal["depth-limited", "dream", "outcome-sampling"]
"""Depth-limited external sampling, or one of the two that it is compared with."""


class TableSettings(Settings):
    """What is learnt in tables of Mini Geister, and how (paper 002, V-A, and where it is silent, what repeats it).

    Attributes:
        method: ``depth-limited``, ``dream`` or ``outcome-sampling``.
        belief: How beliefs are updated; ``none``: the agent knows nothing but the board.
        baseline: Values of belief states stand in for what is beyond the depth limit, and for the actions not taken in
            ``dream``; without them that is 0.
        depth: Moves below a sampled belief state that are searched.
        states: Belief states of self-play in a pass, each traversed for both players; games, in the other methods.
        passes: Self-play and traversals so often an iteration: `N_traversals` of Algorithm 1.
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
        belief: How beliefs are updated; ``none``: players know the colours of ghosts that were taken, and
            nothing else.
        depth: Moves below a belief state of self-play that are searched.
        leaves: What stands for the value beyond them: ``mover``, that of the player to move there, for the other with
            its sign changed; or ``traverser``, the traverser's where it is to move and else 0, as in the paper.
        returns: Value nets learn the returns of self-play too, not only the values of searches.
        epsilon: Share of uniform moves in self-play.
        doubt: Share of uniform moves that beliefs expect of the opponent, in training and of an agent: without it a
            move that the average policy hardly makes counts for more than it says.
        epsilon_belief: Share of belief states whose beliefs, and then colours, are drawn anew.
        spread: How far they are, see `Arrangements.regenerate`.
    """

    belief: Update = "exact"
    depth: int = Field(2, ge=1, le=MOST_DEPTH)
    leaves: Literal["mover", "traverser"] = "mover"
    returns: bool = True
    epsilon: float = Field(0.25, ge=0, le=1)
    doubt: float = Field(0.25, ge=0, le=1)
    epsilon_belief: float = Field(0.125, ge=0, le=1)
    spread: float = Field(1.5, ge=0, le=10)
