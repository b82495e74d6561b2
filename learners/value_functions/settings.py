"""Settings of value solving and of the net, without torch, since the command line reads them."""

from typing import Literal, get_args

from pydantic import Field

from learners.settings import Settings

Loss = Literal["huber", "l1", "linf"]
LOSSES: tuple[Loss, ...] = get_args(Loss)
"""The losses that a net can be fitted to."""


class ValueNetSettings(Settings):
    """Settings of the value net, which has hidden layers with ReLU.

    Attributes:
        width: Units of each hidden layer.
        depth: Number of hidden layers.
        zero_sum: Whether the outputs are corrected so that both players' values sum to 0.
        ranges: Form of the inputs, and with them of the values: ``normalised`` to sum 1 in each public state, or
            ``reach`` probabilities as they are, as in paper 003, so that a state counts in the loss by how likely the
            other player's policy reaches it.
    """

    width: int = Field(256, ge=1, le=8192)
    depth: int = Field(3, ge=1, le=32)
    zero_sum: bool = True
    ranges: Literal["normalised", "reach"] = "normalised"

    @property
    def normalises(self) -> bool:
        """Whether ranges sum to 1."""
        return self.ranges == "normalised"


class ValueSolving(Settings):
    """Settings of the samples: how policies of the trunk are drawn, and how the bottom below them is solved.

    Attributes:
        iterations: Iterations of CFR+ in the bottom.
        tolerance: Largest gain of a best response, as a share of the largest return. Public states that exceed it are
            solved for up to 20 times as many iterations; None disables this.
        pure: Share of the infosets at which a random policy plays one action with certainty.
        asked_iterations: Iterations of DL-CFR+ with the current net. The policies of these iterations, for whose ranges
            the solver asks the net, are the ones that are sampled.
        starts: Number of such runs of DL-CFR+ side by side: one starts from the uniform policy, the others from random
            ones.
    """

    iterations: int = Field(1000, ge=1, le=1_000_000)
    tolerance: float | None = Field(5e-4, gt=0)
    pure: float = Field(0.1, ge=0, le=1)
    asked_iterations: int = Field(200, ge=1, le=100_000)
    starts: int = Field(16, ge=1, le=1024)
