"""The server that runs chance-sampled CFR on Cheat."""

from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from actors.explained import Explained
from actors.solving import SolverServer
from envs.cheat import Cheat
from envs.game import GameBase
from learners.cheat_cfr.keys import KeyForm
from learners.cheat_cfr.solver import CheatSolver, HistoryTooLong


class TooManyTurns(Explained):
    """A game can have more turns than an infoset key holds."""

    wrong_use = True


class CheatSolverServer(SolverServer):
    """Holds a `CheatSolver` in a process of its own.

    Args:
        game: The game of the first stage.
        keys: What infosets distinguish.
        seed: Seed of the deals.
        keep_sums, copy_infosets: See `CheatSolver.enter`.
    """

    def __init__(self, game: Cheat, keys: KeyForm, seed: int, keep_sums: bool, copy_infosets: bool) -> None:
        self._keys = keys
        self.solver = CheatSolver(game, keys, seed, keep_sums, copy_infosets)
        super().__init__(self.solver)

    def run_scratch_solver(self) -> None:
        CheatSolver(replace(self.solver.game, health=1), self._keys).run(1)

    def enter(self, game: GameBase) -> None:
        """Continues with the next game of a curriculum; does nothing if this is the current game."""
        assert isinstance(game, Cheat)
        if game != self.solver.game:
            self.solver.enter(game)

    def run(self, iterations: int) -> dict[str, float]:
        """Runs iterations; returns the metrics of the table.

        Raises:
            TooManyTurns: see `learners.cheat_cfr.solver.HistoryTooLong`.
        """
        before = self.solver.nodes
        try:
            value = self.solver.run(iterations)
        except HistoryTooLong as error:
            raise TooManyTurns(str(error)) from None
        table = self.solver.table
        return {
            "health": self.solver.game.health,
            "value": value,
            "nodes": self.solver.nodes - before,
            "infosets": table.used,
            "visited": table.visited,
            "megabytes": table.bytes / 1e6,
        }

    def strategy(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        return {"health": self.solver.game.health}, self.solver.strategy().arrays()
