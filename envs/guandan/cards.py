"""Cards, sets of cards and actions of GuanDan: how they are written and how compiled code holds them.

A card is a suit and a rank, ``S3``, ``HT``, ``DA``, or a joker, ``SB`` (black) or ``HR`` (red); there are two of each.

A multiset of cards is two `uint64`, of which the bytes are ranks: `low` has 2 .. 9, `high` has T J Q K A and, in its
byte 5, the jokers. In the byte of a rank, two bits count each suit, in the order H S C D from the lowest; in the byte
of the jokers they count SB and HR. So the union of disjoint multisets is a sum and the rest of a hand a difference.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel

RANKS = "23456789TJQKA"
SUITS = "HSCD"
JOKERS = ("SB", "HR")
CARDS = (*(suit + rank for rank in RANKS for suit in SUITS), *JOKERS)
"""The 54 cards by their index, rank * 4 + suit: the places of a card vector."""

ACE, JOKER_RANK = 12, 13
LEVEL_VALUE, BLACK_VALUE, RED_VALUE = 13, 14, 15
"""Above the natural ranks 0 .. 12 in the order of singles, pairs, triples and bombs."""

DECK_LOW, DECK_HIGH = np.uint64(0xAAAAAAAAAAAAAAAA), np.uint64(0x00000AAAAAAAAAAA)
"""Two of every card."""

(
    PASS,
    SINGLE,
    PAIR,
    TRIPS,
    THREE_PAIR,
    THREE_WITH_TWO,
    TWO_TRIPS,
    STRAIGHT,
    STRAIGHT_FLUSH,
    BOMB,
    FOUR_KINGS,
    TRIBUTE,
    BACK,
) = range(13)

KINDS = (
    "PASS",
    "Single",
    "Pair",
    "Trips",
    "ThreePair",
    "ThreeWithTwo",
    "TwoTrips",
    "Straight",
    "StraightFlush",
    "Bomb",
    "FourKings",
    "tribute",
    "back",
)
"""Names of the kinds of action, as in the competition's messages."""

_RANK_FIELDS = f"{RANKS}BR"

action_dtype = np.dtype(
    [("low", np.uint64), ("high", np.uint64), ("kind", np.uint16), ("rank", np.uint16), ("size", np.uint32)]
)
"""One action: its cards, its kind, and its rank 0 .. 12 for 2 .. A (of a sequence that of the lowest card, A = ace low;
13 and 14 for the jokers; 0 where the notation has none), and how many cards there are. 24 bytes, all in use."""

Cards = tuple[int, int]
Notation = tuple[str, str, list[str] | str]
"""An action as it is written: ``("Pair", "3", ["S3", "H3"])``, ``("PASS", "PASS", "PASS")``."""


class NoSuchCard(ValueError):
    """What was written is no card, no hand, or no action of GuanDan."""


_SHOWN = sorted(range(len(CARDS)), key=lambda i: (i // 4, "SHCD".index(CARDS[i][0]) if i < 52 else i))
_INDEX = {card: index for index, card in enumerate(CARDS)}


def card_bit(index: int) -> Cards:
    """One card as a multiset."""
    bit = 1 << 2 * index
    return bit & (2**64 - 1), bit >> 64


def pack(cards: Sequence[str]) -> Cards:
    """A multiset from the names of its cards.

    Raises:
        NoSuchCard: a name is no card, or a card comes more than twice.
    """
    if isinstance(cards, (str, bytes)) or not isinstance(cards, Sequence):
        raise NoSuchCard(f"a list of cards such as ['S3', 'HT'] was expected, not {cards!r}")
    total, counts = 0, [0] * len(CARDS)
    for card in cards:
        index = _INDEX.get(card) if isinstance(card, str) else None
        if index is None:
            raise NoSuchCard(f"{card!r} is no card: write suit and rank, as in S3, HT or DA, or SB or HR for a joker")
        counts[index] += 1
        if counts[index] > 2:
            raise NoSuchCard(f"{card} comes more than twice, but two decks hold it twice only")
        total += 1 << 2 * index
    return total & (2**64 - 1), total >> 64


def unpack(low: int, high: int) -> list[str]:
    """Names of the cards of a multiset, by rank and then in the order S H C D."""
    total = int(low) | int(high) << 64
    return [CARDS[index] for index in _SHOWN for _ in range(total >> 2 * index & 3)]


def parse_level(level: str | int) -> int:
    """Index of a level's rank, 0 .. 12, from ``"2"`` .. ``"A"``.

    Raises:
        NoSuchCard: it is none.
    """
    if isinstance(level, str) and len(level) == 1 and level in RANKS:
        return RANKS.index(level)
    raise NoSuchCard(f"{level!r} is no level: one of {', '.join(RANKS)} was expected")


def notation(action: np.void) -> Notation:
    """An action as it is written."""
    kind = int(action["kind"])
    name = KINDS[kind]
    if kind == PASS:
        return (name, name, name)
    cards = unpack(action["low"], action["high"])
    if kind in (TRIBUTE, BACK):
        return (name, name, cards)
    rank = "B" if kind == FOUR_KINGS else _RANK_FIELDS[int(action["rank"])]
    return (name, rank, cards)


def parse_action(written: Sequence[Any]) -> NDArray[np.void]:
    """An action from its notation, `[1]` records; whether it follows the rules is not looked at.

    The joker bomb may be written as in the recordings, ``FourKings``, or as by the competition's bots, ``Bomb`` with
    rank ``JOKER``.

    Raises:
        NoSuchCard: it is no action.
    """
    if isinstance(written, (str, bytes)) or not isinstance(written, Sequence) or len(written) != 3:
        raise NoSuchCard(f"an action is written as kind, rank and cards, not {written!r}")
    kind, rank, cards = written
    action = np.zeros(1, action_dtype)
    if kind == "PASS":
        return action
    if kind == "Bomb" and rank == "JOKER":
        kind, rank = "FourKings", "B"
    if not isinstance(kind, str) or kind not in KINDS:
        raise NoSuchCard(f"{kind!r} is no kind of action: {', '.join(KINDS)}")
    low, high = pack(cards)
    index = KINDS.index(kind)
    action["low"], action["high"], action["kind"], action["size"] = low, high, index, len(cards)
    if index in (TRIBUTE, BACK) and len(cards) == 1:
        card = _INDEX[cards[0]]
        action["rank"] = card // 4 if card < 52 else card - 39
    elif index not in (TRIBUTE, BACK, FOUR_KINGS):
        if not isinstance(rank, str) or len(rank) != 1 or rank not in _RANK_FIELDS:
            raise NoSuchCard(f"{rank!r} is no rank: one of {', '.join(_RANK_FIELDS)} was expected")
        action["rank"] = _RANK_FIELDS.index(rank)
    return action


@kernel
def byte_of(low, high, rank):
    """The byte of a rank in a multiset, or of the jokers for rank 13."""
    if rank < 8:
        return (low >> np.uint64(8 * rank)) & np.uint64(255)
    return (high >> np.uint64(8 * (rank - 8))) & np.uint64(255)


@kernel
def count_of(low, high, index):
    """How many of the card with that index a multiset holds."""
    if index < 32:
        return np.int64((low >> np.uint64(2 * index)) & np.uint64(3))
    return np.int64((high >> np.uint64(2 * index - 64)) & np.uint64(3))


@kernel
def holds(low, high, part_low, part_high):
    """Whether a multiset holds another one."""
    enough = True
    for index in range(54):
        enough &= count_of(low, high, index) >= count_of(part_low, part_high, index)
    return enough


@kernel
def size_of(low, high):
    """Number of cards in a multiset."""
    total = np.int64(0)
    for word in (low, high):
        pairs = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
        nibbles = (pairs & np.uint64(0x0F0F0F0F0F0F0F0F)) + ((pairs >> np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F))
        total += np.int64((nibbles * np.uint64(0x0101010101010101)) >> np.uint64(56))
    return total


@kernel
def card_words(index):
    """One card as a multiset."""
    if index < 32:
        return np.uint64(1) << np.uint64(2 * index), np.uint64(0)
    return np.uint64(0), np.uint64(1) << np.uint64(2 * index - 64)


@kernel
def add_byte(low, high, byte, rank):
    """A multiset with further cards of a rank (13 for jokers), given as the byte of their suit counts."""
    if rank < 8:
        return low + (np.uint64(byte) << np.uint64(8 * rank)), high
    return low, high + (np.uint64(byte) << np.uint64(8 * (rank - 8)))


@kernel
def emit(rows, n, low, high, kind, rank, size):
    """Writes an action as row n of an array of records, and returns n + 1."""
    row = rows[n]
    row.low = low
    row.high = high
    row.kind = kind
    row.rank = rank
    row.size = size
    return n + 1
