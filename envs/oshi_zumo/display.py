"""The display of oshi-zumo: the track with the wrestler, coins, and all rounds with their bids."""

import numpy as np

from envs.display import Plain
from envs.extensive import OVER
from envs.facts import bids, each_player
from envs.general_display import GeneralDisplay
from envs.oshi_zumo.game import OshiZumo


class OshiZumoDisplay(GeneralDisplay[OshiZumo]):
    """Shows oshi-zumo on the general page."""

    def facts(self, state: np.void, viewer: int | None) -> list[Plain]:
        """See `GeneralDisplay.facts`."""
        size, done = self.game.size, int(state["round"])
        begun = done + int(state["mover"] != OVER and state["mover"] == 1)
        rows = [
            bids(None, state["bids"][:, r], int(state["results"][r]) if r < done else None, viewer)
            for r in range(begun)
        ]
        coins = [
            {"key": "coins", "kind": "number", "player": p, "value": int(left) if viewer in (None, p) else None}
            for p, left in each_player(state["coins"])
        ]
        track = {"key": "track", "kind": "track", "cells": 2 * size + 1, "at": int(state["wrestler"]) + size}
        return [track, *coins, {"key": "rounds", "kind": "rounds", "rows": rows}]


__all__ = ["OshiZumoDisplay"]
