"""Writes and reads actions, levels and cards in the messages of the GuanDan competition; messages are not trusted.

Each reader takes the value of a field, and raises a ValueError if it is wrong.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dancfr.errors import shortened
from envs.guandan.rules.cards import FOUR_KINGS, PASS, RANKS, action_dtype, notation, pack, parse_action

JokerBomb = Literal["competition", "recording"]
"""How the bomb of all four jokers is written: ``["Bomb", "JOKER", cards]`` for the bots of the competition,
``["FourKings", "B", cards]`` in the recordings. Both are read."""

Option = tuple[str, str, tuple[str, ...]]
"""A legal action of a message: kind, rank and sorted cards."""

NO_ACTION = [None, None, None]
"""Stands for the action to beat in messages to a leader."""

_RANK_NUMBERS = {2 + i: i for i in range(len(RANKS))} | {rank: i for i, rank in enumerate(RANKS)} | {"10": 8}


def written(action: np.void, joker_bomb: JokerBomb) -> list[Any]:
    """An action record as ``[kind, rank, cards]``."""
    kind, rank, cards = notation(action)
    if joker_bomb == "competition" and action["kind"] == FOUR_KINGS:
        return ["Bomb", "JOKER", cards]
    return [kind, rank, cards]


class Hand(NamedTuple):
    """A multiset of cards in two words, and the number of cards."""

    low: int
    high: int
    size: int


def read_rank(value: object) -> int:
    """A level, written as a number 2 .. 14 or a rank ``"2"`` .. ``"A"``, as its index 0 .. 12."""
    rank = _RANK_NUMBERS.get(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else None
    if rank is None:
        raise ValueError(f"a level, 2 .. 14 or '2' .. 'A', was expected, got {shortened(value)}")
    return rank


def read_hand(value: Any) -> Hand:
    """The cards of a hand."""
    return Hand(*pack(value), len(value))


def read_action(value: object) -> NDArray[np.void] | None:
    """An action, `[1]` records; None for null and for three nulls, where nothing was played.

    Whether the cards make the combination that is named is not checked. A pass is ``["PASS", ...]``, with or without
    cards.
    """
    if value is None or value == NO_ACTION:
        return None
    if not isinstance(value, list) or len(value) != 3:
        raise ValueError(f"kind, rank and cards were expected, got {shortened(value)}")
    if value[0] == "PASS":
        return np.zeros(1, action_dtype)
    if not isinstance(value[2], list) or len(value[2]) > 10:
        raise ValueError(f"a list of at most 10 cards was expected, got {shortened(value[2])}")
    return parse_action(value)


def read_option(value: object) -> Option:
    """A legal action as kind, rank and sorted cards. Only its form is checked."""
    if isinstance(value, list) and len(value) == 3:
        kind, rank, cards = value
        if kind == "PASS":
            return "PASS", "PASS", ()
        if isinstance(kind, str) and isinstance(rank, str) and isinstance(cards, list):
            if kind == "Bomb" and rank == "JOKER":
                kind, rank = "FourKings", "B"
            if all(isinstance(card, str) for card in cards):
                return kind, rank, tuple(sorted(cards))
    raise ValueError(f"kind, rank and cards were expected, got {shortened(value)}")


def option_of(action: np.void) -> Option:
    """An action record in the form of `read_option`."""
    kind, rank, cards = notation(action)
    return kind, rank, () if action["kind"] == PASS else tuple(sorted(cards))
