"""How the competition's messages write actions, ranks and cards, and how they are read without trust.

Readers take a field of a message and the name to blame: whatever does not fit is a `ProtocolError` that names it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from envs.guandan.cards import FOUR_KINGS, PASS, RANKS, NoSuchCard, action_dtype, notation, pack, parse_action, unpack

Message = dict[str, Any]
"""One JSON object, as it goes over the wire."""

JokerBomb = Literal["competition", "recording"]
"""The bomb of all four jokers: ``["Bomb", "JOKER", cards]`` for the bots of the competition, ``["FourKings", "B",
cards]`` in the recordings."""

JOKER_BOMBS: tuple[JokerBomb, ...] = ("competition", "recording")
LONGEST_COMPLAINT = 200
Option = tuple[str, str, tuple[str, ...]]
"""A legal action of a message: kind, rank and sorted cards."""

NO_ACTION = [None, None, None]
"""Where no move is to be beaten."""

_RANK_NUMBERS = {2 + i: i for i in range(len(RANKS))} | {rank: i for i, rank in enumerate(RANKS)} | {"10": 8}


class ProtocolError(ValueError):
    """A message that does not say what its kind has to say; the text names the field.

    Attributes:
        field: The field of the message; empty where the message as a whole is meant.
    """

    def __init__(self, field: str, complaint: str) -> None:
        text = f"{field}: {complaint}" if field else complaint
        super().__init__(text if len(text) <= LONGEST_COMPLAINT else f"{text[: LONGEST_COMPLAINT - 3]}...")
        self.field = field


def written(action: np.void, joker_bomb: JokerBomb) -> list[Any]:
    """An action as it stands in a message."""
    kind, rank, cards = notation(action)
    if joker_bomb == "competition" and action["kind"] == FOUR_KINGS:
        return ["Bomb", "JOKER", cards]
    return [kind, rank, cards]


def written_cards(low: int, high: int) -> list[str]:
    """The cards of a multiset, by rank."""
    return unpack(low, high)


def read_json(text: str | bytes) -> Message:
    """The object that a text holds.

    Raises:
        ProtocolError: it holds none.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("", f"no JSON: {error}") from None
    return read_object(value)


def read_object(value: object) -> Message:
    """The same for a value that has been read."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ProtocolError("", f"a JSON object was expected, not {type(value).__name__}")
    return dict(value)


def read_plain(value: object) -> Message:
    """The same for an object that need not come from JSON; other readers compare what is in it.

    Raises:
        ProtocolError: it is no object, or a field holds what JSON does not have, such as an array of NumPy.
    """
    message = read_object(value)
    for name, field in message.items():
        try:
            strange = _strange(field)
        except RecursionError:
            raise ProtocolError(name, "it goes too deep") from None
        if strange is not None:
            raise ProtocolError(name, f"a value of JSON was expected, not {strange}")
    return message


def _strange(value: object) -> str | None:
    """Type of the first value within one that JSON does not have."""
    if isinstance(value, (list, tuple)):
        inner: Iterable[object] = value
    elif isinstance(value, dict):
        inner = (*value, *value.values())
    else:
        return None if value is None or isinstance(value, (str, int, float)) else type(value).__name__
    return next((found for each in inner if type(each) is not str and (found := _strange(each))), None)


def read_field(message: Message, name: str) -> Any:
    """A field that has to be there."""
    if name not in message:
        raise ProtocolError(name, "missing")
    return message[name]


def read_integer(value: object, name: str, low: int, high: int) -> int:
    """An integer from `low` to `high`."""
    if type(value) is not int or not low <= value <= high:
        raise ProtocolError(name, f"an integer from {low} to {high} was expected, not {shortened(value)}")
    return value


def read_list(value: object, name: str, longest: int) -> list[Any]:
    """A list of at most so many entries."""
    if not isinstance(value, (list, tuple)):
        raise ProtocolError(name, f"a list was expected, not {shortened(value)}")
    if len(value) > longest:
        raise ProtocolError(name, f"at most {longest} entries were expected, not {len(value)}")
    return list(value)


def read_rank(value: object, name: str) -> int:
    """A level, as a number 2 .. 14 or a rank ``"2"`` .. ``"A"``, by its index 0 .. 12."""
    rank = _RANK_NUMBERS.get(value) if isinstance(value, (int, str)) and not isinstance(value, bool) else None
    if rank is None:
        raise ProtocolError(name, f"a level, 2 .. 14 or '2' .. 'A', was expected, not {shortened(value)}")
    return rank


def read_levels(message: Message) -> tuple[int, int, int]:
    """The round's level, the own team's and the opponents'."""
    level, own, others = (read_rank(read_field(message, name), name) for name in ("curRank", "selfRank", "oppoRank"))
    return level, own, others


def read_cards(value: object, name: str, longest: int) -> tuple[int, int, int]:
    """A multiset of cards and how many there are."""
    cards = read_list(value, name, longest)
    try:
        return (*pack(cards), len(cards))
    except NoSuchCard as error:
        raise ProtocolError(name, str(error)) from None


def read_action(value: object, name: str) -> NDArray[np.void] | None:
    """An action, `[1]` records; None for null and for three nulls, where nothing was played.

    Whether its cards make that combination is not looked at. A pass is written with words or with no cards.
    """
    if value is None:
        return None
    parts = read_list(value, name, 3)
    if parts == NO_ACTION:
        return None
    if len(parts) != 3:
        raise ProtocolError(name, f"kind, rank and cards were expected, not {shortened(value)}")
    if parts[0] == "PASS":
        return np.zeros(1, action_dtype)
    read_list(parts[2], name, 10)
    try:
        return parse_action(parts)
    except NoSuchCard as error:
        raise ProtocolError(name, str(error)) from None


def read_options(value: object, name: str, longest: int) -> list[Option]:
    """A list of legal actions as kind, rank and sorted cards; only its form is looked at.

    Raises:
        ProtocolError: no list, an empty one, or an entry that is no kind, rank and cards.
    """
    options = read_list(value, name, longest)
    if not options:
        raise ProtocolError(name, "no action to choose from")
    return [_option(each, name, place) for place, each in enumerate(options)]


def _option(value: object, name: str, place: int) -> Option:
    if isinstance(value, (list, tuple)) and len(value) == 3:
        kind, rank, cards = value
        if kind == "PASS":
            return "PASS", "PASS", ()
        if isinstance(kind, str) and isinstance(rank, str) and isinstance(cards, (list, tuple)):
            if kind == "Bomb" and rank == "JOKER":
                kind, rank = "FourKings", "B"
            if all(isinstance(card, str) for card in cards):
                return kind, rank, tuple(sorted(cards))
    raise ProtocolError(f"{name}[{place}]", f"kind, rank and cards were expected, not {shortened(value)}")


def option_of(action: np.void) -> Option:
    """An action of the engine in the form of `read_options`."""
    kind, rank, cards = notation(action)
    return kind, rank, () if action["kind"] == PASS else tuple(sorted(cards))


def shortened(value: object) -> str:
    """A value as it is said in a complaint."""
    if isinstance(value, (Mapping, Sequence)) and not isinstance(value, (str, bytes)) and len(value) > 8:
        return f"{type(value).__name__} of {len(value)} entries"
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # integers of thousands of digits
        return type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."
