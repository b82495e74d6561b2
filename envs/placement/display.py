"""The display of games of placement: the board as a viewer sees it."""

from typing import Any, ClassVar, TypeVar

import numpy as np

from envs.display import Plain
from envs.general_display import GeneralDisplay
from envs.placement.game import FAILED, PlacementGame

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

    def event(self, before: np.void, action: Any, after: np.void, viewer: int | None) -> Plain:
        """See `GeneralDisplay.event`. A try that failed has a note, and says whether the turn is over."""
        found = super().event(before, action, after, viewer)
        if found.get("hidden") or not self._failed(before, after):
            return found
        return found | {"note": "taken", "then": "over" if self.game.abrupt else "again"}

    def told(self, before: np.void, action: Any, after: np.void, player: int) -> bool:
        """See `envs.display.Secretive`. A try that failed is not told of, but if it has lost the turn."""
        own = self.game.to_move(np.array([before]))[0] == player
        return bool(own or self.game.abrupt or not self._failed(before, after))

    def _failed(self, before: np.void, after: np.void) -> bool:
        player = int(self.game.to_move(np.array([before]))[0])
        return bool(self.game.private(np.array([after]), player)[0] == FAILED)


__all__ = ["PlacementDisplay"]
