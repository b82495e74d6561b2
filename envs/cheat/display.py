"""The display of Cheat: the player's own cards, all discards and claims, and cards revealed by challenges.

Cards are numbers of ranks counted from Ace, 0 to `Cheat.ranks` - 1, in rising order. All cards of a rank are alike.
"""

from typing import Any

import numpy as np

from envs.cheat import rules
from envs.cheat.cards import absolute
from envs.cheat.game import FACES, Cheat
from envs.cheat.render import Heap, seats
from envs.display import Plain
from envs.game import States


class CheatDisplay:
    """Shows a player their own cards and the number of all others.

    Args:
        game: The rules.
    """

    def __init__(self, game: Cheat) -> None:
        self._game = game

    def scene(self, state: np.void, viewer: int | None) -> Plain:
        """See `Display.scene`.

        A player of ``players`` has ``hand``, ``put`` (cards in the pile) and ``picked`` (for a discard that is not yet
        laid), each with its ``size`` and its ``cards``, null if the viewer does not know them, and ``health``, null
        without a limit. ``claimed`` is the size of the discard to be answered, 0 while one is to be laid.
        """
        game = self._game
        return {
            "ranks": game.ranks,
            "copies": game.copies,
            "most": game.max_discard,
            "points": game.health or None,
            "picking": game.picking,
            "rank": int(state["rank"]),
            "discarder": int(state["discarder"]),
            "answering": bool(state["phase"] == rules.ANSWERING),
            "claimed": int(state["claimed"]),
            "players": [
                {"hand": _heap(seat.hand), "put": _heap(seat.put), "picked": _heap(seat.picked), "health": seat.health}
                for seat in seats(game, state, viewer)
            ],
        }

    def choices(self, states: States) -> list[Plain]:
        """See `Display.choices`.

        The ``kind`` of a choice is pass, challenge, lay (``cards``, where discards are chosen as a whole), pick
        (``card``) or stop, which lays the cards that were picked.
        """
        rank = int(states[0]["rank"])
        return [self._choice(int(action), rank) for action in np.flatnonzero(self._game.legal(states)[0])]

    def event(self, before: np.void, action: Any, after: np.void, viewer: int | None) -> Plain:
        """See `Display.event`. The ``kind`` of an event is one of the following.

        ==========  ==================================================================================================
        pick        a card was picked for the next discard: ``card``, null if hidden
        lay         a discard was laid: its size, ``count``, and the ``rank`` that is claimed; ``cards``, null if hidden
        pass        a player let the claim pass
        challenge   the discard is shown to all: its ``cards``, the ``rank`` that was claimed, whether that was
                    ``true``, who takes the pile, ``taker``, and its ``size``
        ==========  ==================================================================================================
        """
        rank = int(before["rank"])
        if before["phase"] == rules.ANSWERING:
            return self._challenge(before, after, rank) if action == rules.CHALLENGE else self._choice(rules.PASS, rank)
        hidden = viewer not in (None, int(before["mover"]))
        if after["phase"] != rules.ANSWERING:
            picked = {"label": "picks a card", "kind": "pick", "card": None, "hidden": True}
            return picked if hidden else self._choice(int(action), rank)
        count, cards = int(after["claimed"]), self._cards(after["discard"], rank)
        claim = f"lays {count} as {FACES[rank]}"
        if hidden:
            return {"label": claim, "kind": "lay", "count": count, "rank": rank, "cards": None}
        return {"label": f"{claim}: {_faces(cards)}", "kind": "lay", "count": count, "rank": rank, "cards": cards}

    def _challenge(self, before: np.void, after: np.void, rank: int) -> Plain:
        cards, taker = self._cards(before["discard"], rank), int(after["taken"])
        true = all(card == rank for card in cards)
        size = sum(sum(absolute(int(put), rank, self._game.ranks)) for put in before["put"])
        return {
            "label": f"challenges: {_faces(cards)}, {'true' if true else 'a lie'}; player {taker} takes {size}",
            "kind": "challenge",
            "cards": cards,
            "rank": rank,
            "true": true,
            "taker": taker,
            "size": size,
        }

    def _choice(self, action: int, rank: int) -> Plain:
        game = self._game
        if action in (rules.PASS, rules.CHALLENGE):
            name = "pass" if action == rules.PASS else "challenge"
            return {"label": name, "kind": name}
        if not game.picking:
            cards = self._cards(game.sets[action - rules.SET], rank)
            return {"label": f"lay {_faces(cards)}", "kind": "lay", "cards": cards}
        if action == rules.STOP:
            return {"label": "lay", "kind": "stop"}
        card = (action - rules.PICK + rank) % game.ranks
        return {"label": f"pick {FACES[card]}", "kind": "pick", "card": card}

    def _cards(self, word: np.integer, rank: int) -> list[int]:
        counts = absolute(int(word), rank, self._game.ranks)
        return [card for card, count in enumerate(counts) for _ in range(count)]


def _heap(heap: Heap) -> Plain:
    return {"size": heap.size, "cards": None if heap.faces is None else [FACES.index(face) for face in heap.faces]}


def _faces(cards: list[int]) -> str:
    return " ".join(FACES[card] for card in cards)


__all__ = ["CheatDisplay"]
