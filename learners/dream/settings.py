"""Settings of DREAM that the command line, the traversals, the learners and the agents share."""

from typing import Literal

from pydantic import Field

from learners.settings import Settings

Average = Literal["exact", "sampled", "paper", "last"]
"""Policies of an agent: averages over all nets, or the last net; see `learners.dream.agent.DreamAgent`."""

Play = Literal["exact", "sampled", "paper", "last", "net"]
"""These policies, and that of a net fitted to the average policy; see `learners.deep_cfr.average_policy`."""


class SamplingSettings(Settings):
    """Settings of the sampling of games, and of the bounds on the estimates.

    Attributes:
        method: ``outcome`` samples one action of each player. ``external`` follows all actions of the traverser
            (Lanctot et al. 2009), which needs no baselines but is possible only in games with few decisions. The other
            settings are those of outcome sampling.
        estimator: ``sampled`` corrects the baseline by the sampled returns, weighted by importance, as DREAM does.
            ``history`` takes the baseline Q(h, a) for the value of the history and ignores the returns: the advantage
            of an action is Q(h, a) - sum_b pi(b) Q(h, b), as in ESCHER (McAleer et al. 2023, arXiv 2206.04122). This is
            as good as the baseline net, and needs no bounds. ESCHER's traverser samples uniformly: epsilon=1.
        epsilon: Exploration of the traverser.
        opponent_epsilon: Exploration of the other player; 0 in the papers. The recursion corrects the values for it,
            but not the frequencies of the histories of an infostate.
        ratio_bound: Bound on pi / xi in the recursion; None for unbiased estimates.
        inverse_bound: Bound on 1 / xi at the sampled action; None for unbiased estimates.
        target_clip: Bound on the absolute values of stored advantages; None does not clip them.
        baseline_at: Decisions at which the recursion uses the baseline. ``all``: those of both players, as VR-MCCFR and
            DREAM do. ``own``: those of the traverser alone, as eqs. 5 and 6 of paper 000 can be read; a decision of the
            other player then has the value of the decision that followed it.
        clip_baseline: Whether baselines are limited to the game's largest return, in the recursion and in the targets
            of their own fits. Paper 000 does not say so. With batch normalisation, the net may leave this range at
            states unlike those it was fitted to, and targets that bootstrap from such values move it further away.
    """

    method: Literal["outcome", "external"] = "outcome"
    estimator: Literal["sampled", "history"] = "sampled"
    epsilon: float = Field(0.5, ge=0, le=1)
    opponent_epsilon: float = Field(0.0, ge=0, le=1)
    ratio_bound: float | None = Field(None, gt=0)
    inverse_bound: float | None = Field(None, ge=1)
    target_clip: float | None = Field(None, gt=0)
    baseline_at: Literal["all", "own"] = "all"
    clip_baseline: bool = False
