"""Settings of DREAM that the command line, the traversals, the learners and the agents share."""

from typing import Literal

from pydantic import Field

from learners.settings import Settings

Average = Literal["exact", "sampled", "paper", "last"]
"""How an agent plays: by an average over all nets, or by the last one; see `learners.dream.agent.DreamAgent`."""

Play = Literal["exact", "sampled", "paper", "last", "net"]
"""The same, or by a net that was trained to play the average; see `learners.dream.average_policy`."""

Importance = Literal["none", "clipped", "full"]
"""Weights 1 / x^xi(s) of the advantage samples; see `learners.dream.advantage.AdvantageLearner`."""


class SamplingSettings(Settings):
    """How games are sampled and how far the estimates are bounded.

    Attributes:
        method: ``outcome`` samples one action of each player, ``external`` follows all of the traverser's (Lanctot et
            al. 2009): exact below, hence without baselines, but only for games with few decisions. What follows here
            is for outcome sampling.
        epsilon: Exploration of the traverser.
        opponent_epsilon: Exploration of the other player; 0 in the papers. The recursion corrects the values for it,
            nothing corrects which histories of an infostate are met.
        ratio_bound: Bound on pi / xi in the recursion; None leaves it unbiased.
        inverse_bound: Bound on 1 / xi at the sampled action; None leaves it unbiased.
        target_clip: Bound on the stored advantages; None leaves them as they are.
    """

    method: Literal["outcome", "external"] = "outcome"
    epsilon: float = Field(0.5, ge=0, le=1)
    opponent_epsilon: float = Field(0.0, ge=0, le=1)
    ratio_bound: float | None = Field(None, gt=0)
    inverse_bound: float | None = Field(None, ge=1)
    target_clip: float | None = Field(None, gt=0)
