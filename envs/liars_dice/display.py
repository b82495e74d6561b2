"""The display of liar's dice: the dice of both players, as far as the viewer knows them, and the last bid."""

import numpy as np

from envs.display import Plain
from envs.general_display import GeneralDisplay
from envs.liars_dice.game import LiarsDice


class LiarsDiceDisplay(GeneralDisplay[LiarsDice]):
    """Shows liar's dice on the general page."""

    def facts(self, state: np.void, viewer: int | None) -> list[Plain]:
        """See `GeneralDisplay.facts`."""
        dice = [
            {
                "key": "dice",
                "kind": "cards",
                "player": player,
                "cards": [str(face) if viewer in (None, player) else None for face in self.game.dice_of(state, player)],
            }
            for player in (0, 1)
        ]
        last = [self.game.describe_action(bid) for bid in self.game.bids_of(state)[-1:]]
        return [*dice, {"key": "bid", "kind": "cards", "cards": last}]


__all__ = ["LiarsDiceDisplay"]
