"""The part of a run that `dancfr pack` takes: the least that its agent needs to play."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import UsageError
from dancfr.methods.agent_name import AgentName
from dancfr.runs.run import Run, StrategyFile


@dataclass(frozen=True)
class PackedFile:
    """A file of nets or of a table.

    Attributes:
        arrays: Its arrays by name; those of nets are `float32`.
        meta: Its metadata.
    """

    arrays: Mapping[str, NDArray[Any]]
    meta: Mapping[str, Any]


@dataclass(frozen=True)
class Packed:
    """The files by which an agent plays, and the configuration under which it does.

    Attributes:
        config: The run's configuration as JSON, changed where the name of the agent asks for it.
        iteration: The iteration after which the nets were stored.
        files: The files by their paths in the folder of a run.
        exact: Whether arrays keep their precision unless half precision is asked for. So it is with all agents that do
            more with the outputs of their nets than to draw from their softmax or to take the best: regret matching
            and beliefs turn small differences into large ones.
        recorded: Name of the policy in the record of the run that is this agent; None: it was not evaluated.
    """

    config: Mapping[str, Any]
    iteration: int
    files: Mapping[str, PackedFile]
    exact: bool = False
    recorded: str | None = None

    @classmethod
    def of(
        cls,
        config: Mapping[str, Any],
        file: StrategyFile,
        arrays: Mapping[str, NDArray[Any]],
        meta: Mapping[str, Any],
        exact: bool = False,
        recorded: str | None = None,
    ) -> Self:
        """The packed agent of one stored file, with the arrays that it needs of it."""
        return cls(config, file.iteration, {place_of(file): PackedFile(arrays, meta)}, exact, recorded)


def place_of(file: StrategyFile) -> str:
    """The path of a stored strategy in the folder of its run."""
    return f"{file.path.parent.name}/{file.path.name}"


def is_packed(run: Run) -> bool:
    """Whether `dancfr pack` has written a folder."""
    return run.info.get("packed") is True


def refuse_nets(wanted: AgentName, nets: int | None) -> None:
    """Raises UsageError if a number of nets is requested of an agent that is not a mixture."""
    if nets is not None:
        raise UsageError(f"{wanted.text} does not mix nets: leave out --nets")


def refuse_last(wanted: AgentName, average: str | None) -> None:
    """Raises UsageError if the name asks for the last policy, where files hold the average and the last one."""
    if average == "last":
        raise UsageError(
            f"{wanted.text}: both policies are packed, and the name of the folder chooses, as in "
            f"'packed?average={average}': leave out average={average} here"
        )


def kept_nets(wanted: AgentName, have: int, nets: int | None) -> Sequence[int]:
    """Returns the places of the nets of a mixture to keep, evenly spread, the last one among them.

    Args:
        wanted: Name of the agent.
        have: Number of nets that it has.
        nets: Number of nets to keep; None: all.

    Raises:
        UsageError: it has fewer.
    """
    if nets is None:
        return range(have)
    if not 1 <= nets <= have:
        raise UsageError(f"--nets must be from 1 to {have}, the nets of {wanted.text}, got {nets}")
    first = 0 if nets > 1 else have - 1
    places: list[int] = np.linspace(first, have - 1, nets).round().astype(int).tolist()
    return places
