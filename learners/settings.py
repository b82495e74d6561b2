"""Base of every settings group: frozen, typed, bounded, no unknown keys."""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """A group of settings. Construction raises `pydantic.ValidationError` (a ValueError) for what does not fit."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)
