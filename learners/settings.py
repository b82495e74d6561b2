"""Base class of the settings groups, and the settings of a network's training.

This module does not import torch, since the command line reads settings.
"""

from typing import ClassVar, Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Optimiser = Literal["adam", "rmsprop", "rmsprop_tf"]
"""``rmsprop`` as torch computes it, ``rmsprop_tf`` as TensorFlow 1 does, see `learners.optimisers`."""


class Settings(BaseModel):
    """An immutable group of settings with checked types and bounds.

    Raises:
        pydantic.ValidationError: A value has a wrong type or is out of bounds, or a key is unknown. It is a ValueError.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)


def scheduled(start: float, end: float | None, done: float) -> float:
    """The value of a setting that changes geometrically.

    Args:
        start: Value at first.
        end: Value when all is done; None: that at first.
        done: Part of the schedule that is done; above 1 as 1.
    """
    if end is None or start == 0:
        return start
    return float(start * (end / start) ** min(done, 1.0))


def part_done(iteration: int, iterations: int) -> float:
    """The part of a schedule that is done in an iteration, counted from 1: 0 in the first, 1 from the last on."""
    return min((iteration - 1) / max(iterations - 1, 1), 1.0)


class Fitting(Protocol):
    """The settings that `learners.training.Trainer` reads; see `TrainingSettings` for those without a docstring."""

    @property
    def batch(self) -> int: ...

    @property
    def minibatches(self) -> int | None: ...

    @property
    def optimiser(self) -> Optimiser: ...

    @property
    def learning_rate(self) -> float: ...

    @property
    def epsilon(self) -> float:
        """Term that the optimiser adds to the root mean square of a gradient before it divides by it, or to the mean
        square (``rmsprop_tf``)."""
        ...

    @property
    def clip(self) -> float | None:
        """Maximum norm of the gradient; None does not clip it."""
        ...

    @property
    def anneal(self) -> bool: ...

    @property
    def warm_start(self) -> bool: ...

    @property
    def keep_moments(self) -> bool: ...

    @property
    def weight_average(self) -> float: ...

    @property
    def bf16(self) -> bool: ...


class TrainingSettings(Settings):
    """Settings of the fits of a network with Adam.

    Attributes:
        batch: Rows per minibatch.
        minibatches: Minibatches per fit, drawn uniformly with replacement; None trains one epoch over the buffer.
        learning_rate: Learning rate of Adam.
        anneal: Lower the learning rate linearly to 0 over each fit, to end near the minimum rather than in the noise
            around it. Requires `minibatches`.
        clip: Maximum norm of the gradient.
        warm_start: Continue from the weights of the last iteration; otherwise each fit starts from a new network.
        keep_moments: Continue with Adam's moments, too, where `warm_start` continues from the weights.
        weight_average: Exponent of a running average of the weights, which is used for inference and removes most of
            the noise of the last steps. The n-th minibatch has a weight of n to this power, so that the average covers
            a constant share of the training (Shamir and Zhang 2013). 0 uses the latest weights.
        bf16: Run the network in bfloat16 (autocast); the weights stay float32.
    """

    optimiser: ClassVar[Optimiser] = "adam"
    epsilon: ClassVar[float] = 1e-8

    batch: int = Field(1024, ge=2)
    minibatches: int | None = Field(200, ge=1)
    learning_rate: float = Field(1e-3, gt=0, le=1)
    anneal: bool = False
    clip: float = Field(1.0, gt=0)
    warm_start: bool = True
    keep_moments: bool = True
    weight_average: float = Field(0.0, ge=0, le=1000)
    bf16: bool = False

    @model_validator(mode="after")
    def _check_anneal(self) -> Self:
        if self.anneal and self.minibatches is None:
            raise ValueError(
                "anneal=true needs a number of minibatches, since the length of an epoch is not known in advance"
            )
        return self
