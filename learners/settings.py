"""Settings groups: frozen, typed, bounded, no unknown keys. No torch here: the command line reads them."""

from typing import ClassVar, Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Optimiser = Literal["adam", "rmsprop"]


class Settings(BaseModel):
    """A group of settings. Construction raises `pydantic.ValidationError` (a ValueError) for what does not fit."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)


class Fitting(Protocol):
    """What `learners.training.Trainer` reads of the settings of a training. What it means: `TrainingSettings`."""

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
        """Of the optimiser: what it adds to the root of the mean square of a gradient before dividing by it."""
        ...

    @property
    def clip(self) -> float | None:
        """Bound on the gradient's norm, if there is one."""
        ...

    @property
    def anneal(self) -> bool: ...

    @property
    def warm_start(self) -> bool: ...

    @property
    def weight_average(self) -> float: ...

    @property
    def bf16(self) -> bool: ...


class TrainingSettings(Settings):
    """How a network of DREAM is fitted.

    Attributes:
        batch: Rows of a minibatch.
        minibatches: Minibatches of a fit, drawn uniformly with replacement; None trains one epoch over the buffer.
        learning_rate: Of Adam.
        anneal: Lower the learning rate linearly to 0 over each fit, which ends it near the minimum and not in the
            noise around it; for a given number of minibatches.
        clip: Bound on the gradient's norm.
        warm_start: Continue from the last iteration's weights; otherwise a fit starts from a fresh network.
        weight_average: Play by a running average of the weights over minibatches, which takes most of the noise of the
            last steps out of the net: the n-th minibatch weighs n to this power, so that the average reaches back over
            a constant share of the training (Shamir and Zhang 2013). 0 plays by the weights as they are.
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
    weight_average: float = Field(0.0, ge=0, le=1000)
    bf16: bool = False

    @model_validator(mode="after")
    def _the_end_is_known(self) -> Self:
        if self.anneal and self.minibatches is None:
            raise ValueError("anneal=true needs a number of minibatches: an epoch's end is not known before")
        return self
