"""The server that runs the tabular methods of paper 002."""

from functools import partial
from typing import Any

from numpy.typing import NDArray

from actors.solving import SolverServer
from envs.geister import Geister
from learners.belief_tables.settings import TableSettings
from learners.belief_tables.solver import BeliefSolver


class BeliefSolverServer(SolverServer):
    """Holds a `BeliefSolver` in a process of its own.

    Args:
        game: Mini Geister.
        settings: Settings of the method.
        seed: Seed of all random draws.
    """

    def __init__(self, game: Geister, settings: TableSettings, seed: int) -> None:
        self._fresh = partial(BeliefSolver, game, settings)
        self.solver = BeliefSolver(game, settings, seed)
        super().__init__(self.solver)

    def run_scratch_solver(self) -> None:
        self._fresh().run(1)

    def run(self, iterations: int) -> dict[str, float]:
        return {"nodes": self.solver.run(iterations)}

    def strategy(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {}, self.solver.strategy().arrays()
