"""Writes and reads actions, levels and cards in the messages of the GuanDan competition; messages are not trusted.

Each reader takes the value of a field and the field's name, and raises `ProtocolError` with that name if the value is
wrong.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dancfr.serve.messages import Message, ProtocolError, read_field, read_list, shortened
from envs.guandan.cards import FOUR_KINGS, PASS, RANKS, NoSuchCard, action_dtype, notation, pack, parse_action

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


def read_rank(value: object, name: str) -> int:
    """A level, written as a number 2 .. 14 or a rank ``"2"`` .. ``"A"``, as its index 0 .. 12."""
    rank = _RANK_NUMBERS.get(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else None
    if rank is None:
        raise ProtocolError(name, f"a level, 2 .. 14 or '2' .. 'A', was expected, got {shortened(value)}")
    return rank


def read_levels(message: Message) -> tuple[int, int, int]:
    """The level of the round, of the receiver's team and of the opponents, 0 .. 12."""
    level, own, others = (read_rank(read_field(message, name), name) for name in ("curRank", "selfRank", "oppoRank"))
    return level, own, others


def read_cards(value: object, name: str, max_length: int) -> tuple[int, int, int]:
    """The two words of a multiset of cards, and the number of cards."""
    cards = read_list(value, name, max_length)
    try:
        return (*pack(cards), len(cards))
    except NoSuchCard as error:
        raise ProtocolError(name, str(error)) from None


def read_action(value: object, name: str) -> NDArray[np.void] | None:
    """An action, `[1]` records; None for null and for three nulls, where nothing was played.

    Whether the cards make the combination that is named is not checked. A pass is ``["PASS", ...]``, with or without
    cards.
    """
    if value is None:
        return None
    parts = read_list(value, name, 3)
    if parts == NO_ACTION:
        return None
    if len(parts) != 3:
        raise ProtocolError(name, f"kind, rank and cards were expected, got {shortened(value)}")
    if parts[0] == "PASS":
        return np.zeros(1, action_dtype)
    read_list(parts[2], name, 10)
    try:
        return parse_action(parts)
    except NoSuchCard as error:
        raise ProtocolError(name, str(error)) from None


def read_options(value: object, name: str, max_length: int) -> list[Option]:
    """A list of legal actions as kind, rank and sorted cards. Only their form is checked.

    Raises:
        ProtocolError: The value is not a list, the list is empty, or an entry is not kind, rank and cards.
    """
    options = read_list(value, name, max_length)
    if not options:
        raise ProtocolError(name, "no action to choose from")
    return [_read_option(each, name, index) for index, each in enumerate(options)]


def _read_option(value: object, name: str, index: int) -> Option:
    if isinstance(value, (list, tuple)) and len(value) == 3:
        kind, rank, cards = value
        if kind == "PASS":
            return "PASS", "PASS", ()
        if isinstance(kind, str) and isinstance(rank, str) and isinstance(cards, (list, tuple)):
            if kind == "Bomb" and rank == "JOKER":
                kind, rank = "FourKings", "B"
            if all(isinstance(card, str) for card in cards):
                return kind, rank, tuple(sorted(cards))
    raise ProtocolError(f"{name}[{index}]", f"kind, rank and cards were expected, got {shortened(value)}")


def option_of(action: np.void) -> Option:
    """An action record in the form of `read_options`."""
    kind, rank, cards = notation(action)
    return kind, rank, () if action["kind"] == PASS else tuple(sorted(cards))
