"""The display of games of placement: the board as a viewer sees it."""

from typing import ClassVar, TypeVar

import numpy as np

from envs.display import Plain
from envs.general_display import GeneralDisplay
from envs.placement.game import PlacementGame

Placement = TypeVar("Placement", bound=PlacementGame)


class PlacementDisplay(GeneralDisplay[Placement]):
    """Shows a game of placement on the general page."""

    slanted: ClassVar[bool] = False
    """Whether each row is shifted to the right by half a cell."""

    def facts(self, state: np.void, viewer: int | None) -> list[Plain]:
        """See `GeneralDisplay.facts`."""
        rows, columns = self.game.board
        names = [
            [self.game.describe_action(columns * row + column) for column in range(columns)] for row in range(rows)
        ]
        signs = self.game.rows_of(state, viewer)
        return [{"key": "board", "kind": "board", "rows": signs, "names": names, "slanted": self.slanted}]


__all__ = ["PlacementDisplay"]
