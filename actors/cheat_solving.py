"""A solver of Cheat as a server: it walks deals, and hands out its strategy."""

from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from envs.cheat import Cheat
from learners.cfr.cheat.keys import KeyForm
from learners.cfr.cheat.solver import CheatSolver
from learners.storage import load_state, save_state


class CheatSolverServer:
    """Chance-sampled CFR in a process of its own.

    Args:
        game: The game of the first stage.
        keys: What infosets tell apart.
        seed: Of the deals.
    """

    def __init__(self, game: Cheat, keys: KeyForm, seed: int) -> None:
        CheatSolver(replace(game, health=1), keys).run(1)  # compiles, so that no iteration's time has that in it
        self.solver = CheatSolver(game, keys, seed)

    def enter(self, game: Cheat) -> None:
        """Goes on with the next game of a curriculum; nothing happens where it is at that game already."""
        if game != self.solver.game:
            self.solver.enter(game)

    def run(self, iterations: int) -> dict[str, float]:
        """Adds iterations; what came of them."""
        before = self.solver.nodes
        value = self.solver.run(iterations)
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
        """What the strategy is of, and its arrays."""
        return {"health": self.solver.game.health}, self.solver.strategy().arrays()

    def save(self, path: str) -> None:
        """Writes the table to a file."""
        save_state(path, *self.solver.state_arrays())

    def load(self, path: str) -> None:
        """Reverse of `save`.

        Raises:
            DamagedFile: the file is not whole.
            ForeignState: it is of another solver.
        """
        self.solver.load_arrays(*load_state(path))
