"""Servers that hold a tabular solver, run its iterations and return its strategy."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

from numpy.typing import NDArray

from envs.compiled import compilations
from envs.game import GameBase
from learners.storage import load_state, save_state

Arrays = Mapping[str, NDArray[Any]]


class Solver(Protocol):
    """A solver whose state is arrays and a few numbers."""

    def state_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]: ...

    def load_arrays(self, arrays: Arrays, meta: Mapping[str, Any]) -> None: ...


class SolverServer(ABC):
    """Holds a solver in a process of its own. Subclasses define iterations, metrics and the strategy.

    Args:
        solver: The solver.
    """

    def __init__(self, solver: Solver) -> None:
        self._state = solver

    def warm_up(self) -> list[str]:
        """Compiles the kernels of an iteration; returns the names of those that were not in the cache."""
        with compilations() as compiled:
            self.run_scratch_solver()
        return compiled

    @abstractmethod
    def run_scratch_solver(self) -> None:
        """Runs an iteration of another solver, which is discarded."""

    def enter(self, game: GameBase) -> None:  # noqa: B027 (few methods have curricula)
        """Switches to another game, the next one of a curriculum."""

    @abstractmethod
    def run(self, iterations: int) -> dict[str, float]:
        """Runs `iterations` more iterations and returns metrics, among them ``nodes``."""

    @abstractmethod
    def strategy(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Returns a description of the strategy, and its arrays."""

    def save(self, path: str) -> None:
        """Writes the state to a file."""
        save_state(path, *self._state.state_arrays())

    def load(self, path: str) -> None:
        """Reverse of `save`.

        Raises:
            DamagedFile: the file is incomplete or damaged.
            ForeignState: the file belongs to another solver.
        """
        self._state.load_arrays(*load_state(path))
