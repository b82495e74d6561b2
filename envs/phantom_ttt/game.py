"""Phantom tic-tac-toe as an `envs.extensive.ExtensiveGame`."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from envs.placement.game import PlacementGame

LINES = (0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124)
"""Three cells in a line, as sets of cells."""


@dataclass(frozen=True)
class PhantomTicTacToe(PlacementGame):
    """Tic-tac-toe in which players see only their own stones; three in a line win, and a full board is a draw.

    See `PlacementGame` for the options. OpenSpiel's ``phantom_ttt`` with ``obstype=reveal-nothing`` has the same rules.
    """

    ways: ClassVar[tuple[str, ...]] = ("three in a row", "full board")

    name: str = "phantom_ttt"

    @property
    def board(self) -> tuple[int, int]:
        return 3, 3

    def winning_sets(self) -> NDArray[np.bool_]:
        sets = np.arange(512)
        won = np.any([(sets & line) == line for line in LINES], axis=0)
        return np.stack([won, won])


__all__ = ["PhantomTicTacToe"]
