"""The display of Kuhn poker: both cards, as far as the viewer knows them, and the pot."""

import numpy as np

from envs.display import Plain
from envs.facts import each_player, hand
from envs.general_display import GeneralDisplay
from envs.kuhn.game import Kuhn


class KuhnDisplay(GeneralDisplay[Kuhn]):
    """Shows Kuhn poker on the general page."""

    def facts(self, state: np.void, viewer: int | None) -> list[Plain]:
        hands = [hand(p, card, viewer, self.game.face) for p, card in each_player(state["cards"])]
        played = state["actions"][: state["length"]]
        bets = [1 + sum(int(action) for action in played[player::2]) for player in (0, 1)]
        return [*hands, {"key": "pot", "kind": "number", "value": sum(bets)}]


__all__ = ["KuhnDisplay"]
