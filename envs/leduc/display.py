"""The display of Leduc hold'em: the cards of both players, the board, and their bets."""

import numpy as np

from envs.display import Plain
from envs.facts import NONE, each_player, hand
from envs.general_display import GeneralDisplay
from envs.leduc.game import Leduc


class LeducDisplay(GeneralDisplay[Leduc]):
    """Shows Leduc hold'em on the general page."""

    def facts(self, state: np.void, viewer: int | None) -> list[Plain]:
        """See `GeneralDisplay.facts`."""
        game = self.game
        suits = game.suits if game.deal == "cards" else 1

        def face(card: int) -> str:
            return game.face(card) + ("♠♥♦♣"[card % suits] if suits > 1 else "")

        board = int(state["board"])
        return [
            *[hand(p, card, viewer, face) for p, card in each_player(state["cards"])],
            {"key": "board", "kind": "cards", "cards": [] if board == NONE else [face(board)]},
            *[{"key": "bet", "kind": "number", "player": p, "value": bet} for p, bet in each_player(state["bets"])],
        ]


__all__ = ["LeducDisplay"]
