"""Cards, multisets of cards and actions of GuanDan: their notation, and their representation in compiled code.

A card is written as suit and rank, ``S3``, ``HT``, ``DA``, or is a joker, ``SB`` (black) or ``HR`` (red). There are two
of each card.

A multiset of cards is a pair of words, `uint64` `low` and `high`, with one byte per rank: `low` has the ranks 2 .. 9,
`high` has T J Q K A and, in byte 5, the jokers. The byte of a rank has a count of two bits for each suit, in the order
H S C D from the lowest bits; the byte of the jokers counts SB and HR. The words of a disjoint union are therefore sums,
and those of a hand without some cards differences.

Example: H3 H3 S3 D2 has byte 0 (rank 2) = 0b01_00_00_00 and byte 1 (rank 3) = 0b00_00_01_10, so `low` is 0x0640.
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
"""The 54 cards by index, rank * 4 + suit; also the entries of a card vector."""

ACE, JOKER_RANK = 12, 13
LEVEL_VALUE, BLACK_VALUE, RED_VALUE = 13, 14, 15
"""Values above the natural ranks 0 .. 12 in the order of singles, pairs, triples and bombs."""

NOTHING = np.uint64(0)
"""Either word of a multiset without cards."""
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
"""An action: its cards, kind, rank and number of cards; 24 bytes without padding. The rank is 0 .. 12 for 2 .. A and 13
or 14 for a joker; of a sequence it is the lowest rank (A if the ace is low); 0 if the notation has no rank."""

Cards = tuple[int, int]
Notation = tuple[str, str, list[str] | str]
"""Notation of an action, such as ``("Pair", "3", ["S3", "H3"])`` or ``("PASS", "PASS", "PASS")``."""


class NoSuchCard(ValueError):
    """Text that is not a card, a hand or an action of GuanDan."""


_SHOWN = sorted(range(len(CARDS)), key=lambda i: (i // 4, "SHCD".index(CARDS[i][0]) if i < 52 else i))
_INDEX = {card: index for index, card in enumerate(CARDS)}


def card_bit(index: int) -> Cards:
    """Returns one card as a multiset of Python integers."""
    bit = 1 << 2 * index
    return bit & (2**64 - 1), bit >> 64


def pack(cards: Sequence[str]) -> Cards:
    """Converts names of cards to a multiset.

    Raises:
        NoSuchCard: a name is not a card, or a card occurs more than twice.
    """
    if isinstance(cards, (str, bytes)) or not isinstance(cards, Sequence):
        raise NoSuchCard(f"cards must be a list such as ['S3', 'HT'], got {cards!r}")
    total, counts = 0, [0] * len(CARDS)
    for card in cards:
        index = _INDEX.get(card) if isinstance(card, str) else None
        if index is None:
            raise NoSuchCard(f"a card is suit and rank, as in S3, HT or DA, or SB or HR for a joker, got {card!r}")
        counts[index] += 1
        if counts[index] > 2:
            raise NoSuchCard(f"{card} occurs more than twice, but two decks have only two of it")
        total += 1 << 2 * index
    return total & (2**64 - 1), total >> 64


def unpack(low: int, high: int) -> list[str]:
    """Lists the names of the cards of a multiset, by rank and then in the order S H C D."""
    total = int(low) | int(high) << 64
    return [CARDS[index] for index in _SHOWN for _ in range(total >> 2 * index & 3)]


def parse_level(level: str | int) -> int:
    """Converts a level, ``"2"`` .. ``"A"``, to the index of its rank, 0 .. 12.

    Raises:
        NoSuchCard: `level` is not a level.
    """
    if isinstance(level, str) and len(level) == 1 and level in RANKS:
        return RANKS.index(level)
    raise NoSuchCard(f"level must be one of {', '.join(RANKS)}, got {level!r}")


def notation(action: np.void) -> Notation:
    """Returns the notation of an action."""
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
    """Converts the notation of an action to a record, `[1]`, without checking that its cards make such an action.

    The bomb of four jokers is ``FourKings``, as in the recordings, or ``Bomb`` with rank ``JOKER``, as the bots of the
    competition write it.

    Raises:
        NoSuchCard: `written` is not the notation of an action.
    """
    if isinstance(written, (str, bytes)) or not isinstance(written, Sequence) or len(written) != 3:
        raise NoSuchCard(f"an action must be kind, rank and cards, got {written!r}")
    kind, rank, cards = written
    action = np.zeros(1, action_dtype)
    if kind == "PASS":
        return action
    if kind == "Bomb" and rank == "JOKER":
        kind, rank = "FourKings", "B"
    if not isinstance(kind, str) or kind not in KINDS:
        raise NoSuchCard(f"the kind of an action must be one of {', '.join(KINDS)}, got {kind!r}")
    low, high = pack(cards)
    index = KINDS.index(kind)
    action["low"], action["high"], action["kind"], action["size"] = low, high, index, len(cards)
    if index in (TRIBUTE, BACK) and len(cards) == 1:
        card = _INDEX[cards[0]]
        action["rank"] = card // 4 if card < 52 else card - 39
    elif index not in (TRIBUTE, BACK, FOUR_KINGS):
        if not isinstance(rank, str) or len(rank) != 1 or rank not in _RANK_FIELDS:
            raise NoSuchCard(f"the rank of an action must be one of {', '.join(_RANK_FIELDS)}, got {rank!r}")
        action["rank"] = _RANK_FIELDS.index(rank)
    return action


@kernel
def byte_of(low, high, rank):
    """Returns the byte of a rank in a multiset; rank 13 is the jokers."""
    if rank < 8:
        return (low >> np.uint64(8 * rank)) & np.uint64(255)
    return (high >> np.uint64(8 * (rank - 8))) & np.uint64(255)


@kernel
def count_of(low, high, index):
    """Counts the cards with an index in a multiset."""
    if index < 32:
        return np.int64((low >> np.uint64(2 * index)) & np.uint64(3))
    return np.int64((high >> np.uint64(2 * index - 64)) & np.uint64(3))


def counts_of(low: NDArray[np.uint64], high: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Counts each card of multisets `[...]`: `uint8[..., 54]`, by index."""
    shifts = np.arange(0, 64, 2, dtype=np.uint64)
    words = [(word[..., None] >> shifts & np.uint64(3)).astype(np.uint8) for word in (low, high)]
    return np.concatenate(words, axis=-1)[..., : len(CARDS)]


@kernel
def holds(low, high, part_low, part_high):
    """Returns whether a multiset contains another one."""
    enough = True
    for index in range(54):
        enough &= count_of(low, high, index) >= count_of(part_low, part_high, index)
    return enough


@kernel
def size_of(low, high):
    """Counts the cards of a multiset."""
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
