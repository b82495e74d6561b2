"""The result of the writers of `dancfr export`."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Written:
    """The exported nets of an agent.

    Attributes:
        about: How the agent plays by them, for the file that describes it.
        difference: Largest difference from the agent.
        infostates: Number of infostates at which they were compared.
    """

    about: dict[str, Any]
    difference: float
    infostates: int
