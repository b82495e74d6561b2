"""A tabular solver as a server: it iterates, and hands out its strategy."""

from collections.abc import Mapping
from typing import Any, Protocol

from numpy.typing import NDArray

from learners.storage import load_state, save_state

Arrays = Mapping[str, NDArray[Any]]


class Solver(Protocol):
    """What a server needs of a solver: its state as arrays and a few numbers."""

    def state_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]: ...

    def load_arrays(self, arrays: Arrays, meta: Mapping[str, Any]) -> None: ...


class SolverServer:
    """A solver in a process of its own; what an iteration is, and what tells of it, its subclasses say.

    Args:
        solver: Does the work.
    """

    def __init__(self, solver: Solver) -> None:
        self._state = solver

    def run(self, iterations: int) -> dict[str, float]:
        """Adds iterations; what came of them, ``nodes`` among it."""
        raise NotImplementedError

    def strategy(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What the strategy is of, and its arrays."""
        raise NotImplementedError

    def save(self, path: str) -> None:
        """Writes the tables to a file."""
        save_state(path, *self._state.state_arrays())

    def load(self, path: str) -> None:
        """Reverse of `save`.

        Raises:
            DamagedFile: the file is not whole.
            ForeignState: it is of another solver.
        """
        self._state.load_arrays(*load_state(path))
