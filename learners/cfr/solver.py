"""The tabular algorithms of `dancfr solve`, by name."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from learners.cfr.mirror_descent import ALGORITHMS as MIRROR_DESCENT
from learners.cfr.mirror_descent import MirrorDescentSolver
from learners.cfr.monte_carlo import ALGORITHMS as SAMPLING
from learners.cfr.monte_carlo import MonteCarloSolver
from learners.cfr.sequence_form import SequenceForm
from learners.cfr.vector_solver import VARIANTS, VectorSolver

ALGORITHMS: tuple[str, ...] = (*VARIANTS, *MIRROR_DESCENT, *SAMPLING)


class Solver(Protocol):
    """A solver that iterates towards an equilibrium. Policies are of both players, `float64[S]`."""

    iteration: int

    @property
    def nodes(self) -> int:
        """Number of nodes visited so far."""
        ...

    def run(self, iterations: int) -> None: ...

    def average_policy(self) -> NDArray[np.float64]: ...

    def current_policy(self) -> NDArray[np.float64]: ...

    def start_from(self, policy: NDArray[np.float64], weight: float) -> None: ...


def make_solver(form: SequenceForm, algorithm: str, seed: int = 0, **options: Any) -> Solver:
    """Makes a solver.

    Args:
        form: The game.
        algorithm: One of `ALGORITHMS`.
        seed: Seed of the algorithms that sample.
        options: Options of the algorithm, see `VectorSolver`, `MirrorDescentSolver` and `MonteCarloSolver`.

    Raises:
        ValueError: there is no such algorithm, or the value of an option is not valid.
        TypeError: the algorithm does not have an option.
    """
    if algorithm in VARIANTS:
        return VectorSolver(form, algorithm, **options)
    if algorithm in MIRROR_DESCENT:
        return MirrorDescentSolver(form, **options)
    if algorithm in SAMPLING:
        return MonteCarloSolver(form.tree, algorithm, seed=seed, **options)
    raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}, got {algorithm!r}")


__all__ = ["ALGORITHMS", "Solver", "make_solver"]
