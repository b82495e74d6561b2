"""The part of a run that `dancfr pack` takes: the least that its agent needs to play."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from dancfr.errors import UsageError
from dancfr.methods.agent_name import AgentName


@dataclass(frozen=True)
class Packed:
    """One file of nets and the configuration under which they play.

    Attributes:
        config: The run's configuration as JSON, changed where the name of the agent asks for it.
        iteration: The iteration after which the nets were stored.
        file: Path of the file in the folder of a run.
        arrays: Arrays of the file by name, `float32`.
        meta: Metadata of the file.
    """

    config: Mapping[str, Any]
    iteration: int
    file: str
    arrays: Mapping[str, NDArray[Any]]
    meta: Mapping[str, Any]


def refuse_nets(wanted: AgentName, nets: int | None) -> None:
    """Raises UsageError if a number of nets is requested of an agent that is not a mixture."""
    if nets is not None:
        raise UsageError(f"{wanted.text} plays by one net: leave out --nets")
