"""What the small games show beside their one line of text: cards, counts, rounds of bids, the track of oshi-zumo.

A fact is a JSON object with a ``key``, which the page writes in the user's language, and a ``kind``:

==========  ============================================================================================
cards       ``cards``, a list of faces, null where a card is hidden, and the ``player`` whose they are
number      ``value``, null where it is hidden, perhaps the ``player`` whose it is
rounds      ``rows``: prize or null, the bids of both players, each null if hidden, and who won the round
track       ``cells`` and ``at``, the cell of the wrestler, which may lie outside
==========  ============================================================================================
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from dancfr.serve.browser.displays.display import Plain
from envs.extensive import OVER, FactoredGame
from envs.goofspiel import Goofspiel
from envs.kuhn import Kuhn
from envs.leduc import Leduc
from envs.oshi_zumo import OshiZumo

NONE = 255
"""A card, bid or result that is not there yet, in all of these games."""

_FACES = "JQK"


def facts_of(game: FactoredGame, state: np.void, viewer: int | None) -> list[Plain] | None:
    """The facts of a game that a player knows, or all of them for None; null for a game that is not known here."""
    for kind, facts in _FACTS:
        if isinstance(game, kind):
            return facts(game, state, viewer)
    return None


def _kuhn(game: Kuhn, state: np.void, viewer: int | None) -> list[Plain]:
    faces = _FACES if game.cards == len(_FACES) else None
    hands = [_hand(p, card, viewer, lambda c: faces[c] if faces else str(c + 1)) for p, card in _each(state["cards"])]
    played = state["actions"][: state["length"]]
    bets = [1 + sum(int(action) for action in played[player::2]) for player in (0, 1)]
    return [*hands, {"key": "pot", "kind": "number", "value": sum(bets)}]


def _leduc(game: Leduc, state: np.void, viewer: int | None) -> list[Plain]:
    suits = game.suits if game.deal == "cards" else 1

    def face(card: int) -> str:
        rank, suit = card // suits, card % suits
        return (_FACES[rank] if game.ranks == len(_FACES) else str(rank + 1)) + ("♠♥♦♣"[suit] if suits > 1 else "")

    board = int(state["board"])
    return [
        *[_hand(p, card, viewer, face) for p, card in _each(state["cards"])],
        {"key": "board", "kind": "cards", "cards": [] if board == NONE else [face(board)]},
        *[{"key": "bet", "kind": "number", "player": p, "value": bet} for p, bet in _each(state["bets"])],
    ]


def _goofspiel(game: Goofspiel, state: np.void, viewer: int | None) -> list[Plain]:
    done = int(state["round"])
    rows, points = [], [0, 0]
    for r in range(min(done + 1, game.cards)):
        prize, result = int(state["prizes"][r]), int(state["results"][r])
        if prize == NONE:
            continue
        if r < done and result > 0:
            points[result - 1] += prize + 1
        rows.append(_round(prize + 1, state["bids"][:, r], result if r < done else None, viewer, offset=1))
    left = [
        sorted(set(range(game.cards)) - {int(bid) for bid in state["bids"][p, : game.cards] if bid != NONE})
        for p in (0, 1)
    ]
    hands = [
        {"key": "hand", "kind": "cards", "player": p, "cards": [str(card + 1) for card in left[p]]}
        for p in (0, 1)
        if viewer in (None, p)
    ]
    scores = [{"key": "points", "kind": "number", "player": p, "value": points[p]} for p in (0, 1)]
    return [*hands, *scores, {"key": "rounds", "kind": "rounds", "rows": rows}]


def _oshi_zumo(game: OshiZumo, state: np.void, viewer: int | None) -> list[Plain]:
    done = int(state["round"])
    running = state["mover"] != OVER
    begun = done + int(running and state["mover"] == 1)
    rows = [
        _round(None, state["bids"][:, r], int(state["results"][r]) if r < done else None, viewer) for r in range(begun)
    ]
    coins = [
        {"key": "coins", "kind": "number", "player": p, "value": int(left) if viewer in (None, p) else None}
        for p, left in _each(state["coins"])
    ]
    track = {"key": "track", "kind": "track", "cells": 2 * game.size + 1, "at": int(state["wrestler"]) + game.size}
    return [track, *coins, {"key": "rounds", "kind": "rounds", "rows": rows}]


_FACTS: list[tuple[type, Callable[[Any, np.void, int | None], list[Plain]]]] = [
    (Kuhn, _kuhn),
    (Leduc, _leduc),
    (Goofspiel, _goofspiel),
    (OshiZumo, _oshi_zumo),
]


def _each(values: Any) -> list[tuple[int, int]]:
    return [(player, int(value)) for player, value in enumerate(values)]


def _hand(player: int, card: int, viewer: int | None, face: Callable[[int], str]) -> Plain:
    """The one card of a player."""
    hidden = viewer not in (None, player)
    cards = [] if card == NONE else [None if hidden else face(card)]
    return {"key": "hand", "kind": "cards", "player": player, "cards": cards}


def _round(prize: int | None, bids: Any, result: int | None, viewer: int | None, offset: int = 0) -> Plain:
    """A round of bids: who has won it, 0 for nobody, or null while it is open."""
    shown = [None if bid == NONE or viewer not in (None, p) else bid + offset for p, bid in _each(bids)]
    return {"prize": prize, "bids": shown, "won": result}


__all__ = ["facts_of"]
