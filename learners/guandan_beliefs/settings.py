"""Settings of the training of beliefs about hands."""

from pydantic import Field

from learners.settings import Settings, TrainingSettings


class HandsTrainingSettings(TrainingSettings):
    """Settings of the fits of a net about hands with Adam; each fit is one epoch over the positions of a chunk.

    Attributes:
        learning_rate_end: Learning rate at the end of the training, towards which it falls geometrically.
    """

    batch: int = Field(256, ge=2)
    minibatches: int | None = None
    learning_rate: float = Field(2e-3, gt=0, le=1)
    learning_rate_end: float = Field(1e-4, gt=0, le=1)
    weight_average: float = Field(7.0, ge=0, le=1000)


class HandsNetSettings(Settings):
    """Sizes of a net about hands.

    Attributes:
        seat_width: Units of the layer that reads the evidence of one seat.
        width: Units of the two layers that read all seats and the table.
    """

    seat_width: int = Field(96, ge=1)
    width: int = Field(128, ge=1)


__all__ = ["HandsNetSettings", "HandsTrainingSettings"]
