"""Settings of value solving and of the net, without torch, since the command line reads them."""

from typing import Literal

from pydantic import Field

from learners.settings import Settings

Loss = Literal["huber", "l1", "linf"]


class ValueNetSettings(Settings):
    """The net: hidden layers with ReLU.

    Attributes:
        width: Units of each hidden layer.
        depth: Number of hidden layers.
        zero_sum: Whether the outputs are corrected so that both players' values sum to 0.
    """

    width: int = Field(256, ge=1, le=8192)
    depth: int = Field(3, ge=1, le=32)
    zero_sum: bool = True


class ValueSolving(Settings):
    """How policies of the trunk are drawn and the bottom below them is solved.

    Attributes:
        iterations: Iterations of CFR+ in the bottom.
        tolerance: Largest gain of a best response, as a share of the largest return; public states that exceed it are
            solved up to 20 times as long. None: no public state is.
        pure: Share of the infosets at which a random policy plays one action for sure.
        asked_iterations: Iterations of DL-CFR+ with the current net, from which the policies are drawn whose ranges the
            solver has asked the net for.
        starts: How many such solutions run side by side: one from the uniform policy, the others from random ones.
    """

    iterations: int = Field(1000, ge=1, le=1_000_000)
    tolerance: float | None = Field(5e-4, gt=0)
    pure: float = Field(0.1, ge=0, le=1)
    asked_iterations: int = Field(200, ge=1, le=100_000)
    starts: int = Field(16, ge=1, le=1024)
