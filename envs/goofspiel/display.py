"""The display of Goofspiel: the cards that are left, points, and all rounds with their bids."""

import numpy as np

from envs.display import Plain
from envs.facts import NONE, bids
from envs.general_display import GeneralDisplay
from envs.goofspiel.game import Goofspiel


class GoofspielDisplay(GeneralDisplay[Goofspiel]):
    """Shows Goofspiel on the general page."""

    def facts(self, state: np.void, viewer: int | None) -> list[Plain]:
        """See `GeneralDisplay.facts`."""
        cards, done = self.game.cards, int(state["round"])
        rows, points = [], [0, 0]
        for r in range(min(done + 1, cards)):
            prize, result = int(state["prizes"][r]), int(state["results"][r])
            if prize == NONE:
                continue
            if r < done and result > 0:
                points[result - 1] += prize + 1
            rows.append(bids(prize + 1, state["bids"][:, r], result if r < done else None, viewer, offset=1))
        left = [
            sorted(set(range(cards)) - {int(bid) for bid in state["bids"][p, :cards] if bid != NONE}) for p in (0, 1)
        ]
        hands = [
            {"key": "hand", "kind": "cards", "player": p, "cards": [str(card + 1) for card in left[p]]}
            for p in (0, 1)
            if viewer in (None, p)
        ]
        scores = [{"key": "points", "kind": "number", "player": p, "value": points[p]} for p in (0, 1)]
        return [*hands, *scores, {"key": "rounds", "kind": "rounds", "rows": rows}]


__all__ = ["GoofspielDisplay"]
