"""Settings of value solving and of the net. No torch here: the command line reads them."""

from typing import Literal

from pydantic import Field

from learners.settings import Settings

Loss = Literal["huber", "l1", "linf"]


class ValueNetSettings(Settings):
    """The net: hidden layers with ReLU.

    Attributes:
        width: Units of each hidden layer.
        depth: Number of hidden layers.
        zero_sum: Whether values are made to fit the game's being zero-sum.
    """

    width: int = Field(256, ge=1, le=8192)
    depth: int = Field(3, ge=1, le=32)
    zero_sum: bool = True


class ValueSolving(Settings):
    """How strategies of the trunk are made and the bottom below them is solved.

    Attributes:
        iterations: Of CFR+ in the bottom.
        tolerance: Public states in which a best response gains more than this, as a share of the largest return, are
            solved up to 20 times as long; None: none is.
        pure: Share of the infosets of a random strategy at which it is pure.
        asked_iterations: Of DL-CFR+ with the net of the moment, from which the strategies are drawn whose ranges it has
            asked for.
        starts: How many such solutions run side by side: one from uniform play, the others from random strategies.
    """

    iterations: int = Field(1000, ge=1, le=1_000_000)
    tolerance: float | None = Field(5e-4, gt=0)
    pure: float = Field(0.1, ge=0, le=1)
    asked_iterations: int = Field(200, ge=1, le=100_000)
    starts: int = Field(16, ge=1, le=1024)
