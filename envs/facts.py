"""Facts of a position that the general page shows beside a game's line of text: cards, counts, rounds of bids.

A fact is a JSON object with a ``key``, which the page writes in the user's language, and a ``kind``:

==========  ============================================================================================
cards       ``cards``, a list of faces, null where a card is hidden, and the ``player`` whose they are
number      ``value``, null where it is hidden, perhaps the ``player`` whose it is
rounds      ``rows``: prize or null, the bids of both players, each null if hidden, and who won the round
board       ``rows`` of cells, each a sign or null, and whether the board is ``slanted``: each row by half a cell
track       ``cells`` and ``at``, the cell of the piece, which may lie outside
==========  ============================================================================================
"""

from collections.abc import Callable
from typing import Any

from envs.display import Plain

NONE = 255
"""A card, bid or result that is not there yet, in the games that use these functions."""

POKER_FACES = "JQK"


def each_player(values: Any) -> list[tuple[int, int]]:
    """The players with their values."""
    return [(player, int(value)) for player, value in enumerate(values)]


def hand(player: int, card: int, viewer: int | None, face: Callable[[int], str]) -> Plain:
    """The one card of a player."""
    hidden = viewer not in (None, player)
    cards = [] if card == NONE else [None if hidden else face(card)]
    return {"key": "hand", "kind": "cards", "player": player, "cards": cards}


def bids(prize: int | None, made: Any, result: int | None, viewer: int | None, offset: int = 0) -> Plain:
    """A round of bids: who has won it, 0 if neither did, or null while it is open."""
    shown = [None if bid == NONE or viewer not in (None, p) else bid + offset for p, bid in each_player(made)]
    return {"prize": prize, "bids": shown, "won": result}


__all__ = ["NONE", "POKER_FACES", "bids", "each_player", "hand"]
