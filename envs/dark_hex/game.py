"""Dark hex as an `envs.extensive.ExtensiveGame`."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from envs.extensive import check_types
from envs.placement.game import PlacementGame
from envs.placement.rules import MOST_CELLS


@dataclass(frozen=True)
class DarkHex(PlacementGame):
    """Hex in which players see only their own stones. Player 0 connects top and bottom, player 1 left and right.

    Each row is shifted to the right by half a cell, so that a cell touches the next ones of its row, the one below and
    the one below to the left. OpenSpiel's ``dark_hex`` with ``obstype=reveal-nothing`` has the same rules, but
    its infostates also show the number of all tries so far.

    Attributes:
        rows: Number of rows.
        columns: Number of columns; the board has at most 16 cells.
    """

    ways: ClassVar[tuple[str, ...]] = ("connection",)

    name: str = "dark_hex"
    rows: int = 3
    columns: int = 3

    def __post_init__(self) -> None:
        check_types(self, {"rows": int, "columns": int})
        if self.rows < 2 or self.columns < 2 or self.rows * self.columns > MOST_CELLS:
            raise ValueError(
                f"rows and columns must be at least 2 and have a product of at most {MOST_CELLS}, got {self.rows} and "
                f"{self.columns}"
            )
        super().__post_init__()

    @property
    def board(self) -> tuple[int, int]:
        return self.rows, self.columns

    def winning_sets(self) -> NDArray[np.bool_]:
        """Grows the stones of each set that are joined to a player's first side, until nothing is added."""
        cells = [(row, column) for row in range(self.rows) for column in range(self.columns)]
        bit = {cell: 1 << number for number, cell in enumerate(cells)}
        touching = [
            sum(bit.get((r + dr, c + dc), 0) for dr, dc in ((0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1)))
            for r, c in cells
        ]
        sets = np.arange(1 << len(cells))
        won = []
        for axis, last in ((0, self.rows - 1), (1, self.columns - 1)):
            start, goal = (sum(b for cell, b in bit.items() if cell[axis] == side) for side in (0, last))
            reached, grown = np.zeros_like(sets), sets & start
            while (grown != reached).any():
                reached = grown
                for number, neighbours in enumerate(touching):
                    grown = grown | np.where(reached >> number & 1, sets & neighbours, 0)
            won.append(reached & goal > 0)
        return np.stack(won)


__all__ = ["DarkHex"]
