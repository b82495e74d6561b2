"""Settings of the fits of Deep Monte-Carlo (paper 004, IV-B)."""

from typing import Literal

from pydantic import Field

from learners.listed.settings import ListedTrainingSettings


class DmcTrainingSettings(ListedTrainingSettings):
    """Settings of the fits of a Q-network to Monte-Carlo returns.

    Attributes:
        staleness: Lambda (paper 004, eq. 1 and 2): a sample has no gradient if its value differs from the value that
            the actor saw by more than this share of the latter; None trains on all samples.
        staleness_floor: Lower bound on the absolute value that the share is taken of, in units of the return. 0 is the
            paper's clip: the nearer to 0 a value was, the sooner its sample loses its gradient, and the values of a new
            net are all near 0. 1, the smallest return of a round of GuanDan, keeps samples of such undecided values.
        critic: Baseline of the targets. ``none``: the target is the return, and the net learns Q-values, as in the
            paper. ``all``: a second net, in training only, values what all players see, and the target is the estimate
            of an advantage by its values (Schulman et al. 2016), so the net learns advantages, which have less noise
            and order actions in the same way.
    """

    staleness: float | None = Field(0.65, gt=0)
    staleness_floor: float = Field(1.0, ge=0)
    critic: Literal["none", "all"] = "none"
