"""Settings of the fits of a policy over candidates."""

from typing import Literal, Self

from pydantic import Field, model_validator

from learners.listed.settings import ListedTrainingSettings
from learners.settings import part_done, scheduled


class CandidatePolicyTrainingSettings(ListedTrainingSettings):
    """Settings of the fits of a policy and its critic by PPO's clipped objective.

    Attributes:
        proposals: Number of choices that the policy covers, those of the highest logits. More cost memory and time.
        ratio_clip: Epsilon of PPO's objective, see `learners.policy_gradient.settings.PolicyTrainingSettings`.
        value_weight: Weight of the critic's squared error in the loss of a policy.
        entropy: Weight of the policy's entropy in the loss, where advantages have a root mean square of 1.
        entropy_end: Weight of the entropy at the end of the schedule; None: constant.
        learning_rate_end: Learning rate at the end of the schedule; None: constant.
        schedule: Number of fits over which the two change geometrically to their values at the end.
    """

    proposals: int = Field(16, ge=2, le=255)
    ratio_clip: float = Field(0.2, gt=0, le=1)
    value_weight: float = Field(0.25, gt=0)
    entropy: float = Field(0.02, ge=0)
    entropy_end: float | None = Field(None, ge=0)
    learning_rate_end: float | None = Field(None, gt=0, le=1)
    schedule: int = Field(1000, ge=1)

    @model_validator(mode="after")
    def _schedule_of_entropy_is_geometric(self) -> Self:
        if self.entropy_end is not None and (self.entropy == 0) != (self.entropy_end == 0):
            raise ValueError(
                "entropy and entropy_end must both be positive, as a geometric schedule runs from one to the other, "
                f"got {self.entropy:g} and {self.entropy_end:g}"
            )
        return self

    def at(self, name: Literal["learning_rate", "entropy"], iteration: int) -> float:
        """Value of a scheduled setting in an iteration, counted from 1."""
        return scheduled(getattr(self, name), getattr(self, f"{name}_end"), part_done(iteration, self.schedule))
