"""Generates the legal actions of a hand: every multiset of its cards, in every reading that the rules allow.

The generator goes through the kinds of combination. A combination has one slot or more, each for cards of one rank: a
pair has one slot of two cards, a full house slots of three and two cards, a straight five slots of one card. The
generator decides how many wild cards go into each slot, and fills the rest of the slot with natural cards in all
choices of suits. Within one kind and rank no multiset of cards comes twice, because the cards determine how many
natural cards each slot has.

Example. At level 2 the wild card is H2. A leader with the hand S3 H3 C4 D5 S6 H2 has 17 actions:

    Single      H3, S3, C4, D5, S6, H2                          ranks in the order 3 .. A 2: the level is the highest
    Pair        H3 S3 natural, then H3 H2, S3 H2,
                C4 H2, D5 H2, S6 H2                             H2 is wild; alone it is not a pair
    Trips       H3 S3 H2
    Straight    H3 C4 D5 S6 H2, S3 C4 D5 S6 H2                  of rank 2: H2 in the slot of the 2
                H3 C4 D5 S6 H2, S3 C4 D5 S6 H2                  of rank 3: H2 in the slot of the 7

The straights are two multisets in two readings each, and count as four actions. Against a pair of fours the same hand
may pass, or play D5 H2 or S6 H2.

Sequences count their ranks by position: A 2 3 .. K A are the positions 0 .. 13, see `comparison.rank_at`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.guandan.rules.cards import (
    BOMB,
    FOUR_KINGS,
    JOKER_RANK,
    NOTHING,
    PAIR,
    PASS,
    SINGLE,
    STRAIGHT,
    THREE_PAIR,
    THREE_WITH_TWO,
    TRIPS,
    TWO_TRIPS,
    add_byte,
    byte_of,
    count_of,
    emit,
)
from envs.guandan.rules.comparison import bomb_class, rank_at, rank_value, value_of
from envs.guandan.rules.straights import straight_flushes, straights

LONGEST = 32_768
"""Upper bound on the actions of a hand. The most that a search over hands of 28 cards found is 17,000."""

_BOTH_RED_AND_BLACK = 10  # the byte of the jokers when all four are there


def _subsets() -> tuple[NDArray[np.int16], NDArray[np.uint64]]:
    """Tabulates the ways of choosing cards of one rank, whose suit counts are a byte (see `envs.guandan.rules.cards`).

    Returns:
        `start`, `int16[256, 10]`, and `subsets`: the choices of k cards from a byte are the bytes
        `subsets[start[byte, k] : start[byte, k + 1]]`.
    """
    start = np.zeros((256, 10), np.int16)
    subsets: list[int] = []
    for byte in range(256):
        counts = [byte >> shift & 3 for shift in (0, 2, 4, 6)]
        by_size: list[list[int]] = [[] for _ in range(9)]
        if max(counts) <= 2:
            for part in range(256):
                taken = [part >> shift & 3 for shift in (0, 2, 4, 6)]
                if all(t <= c for t, c in zip(taken, counts, strict=True)):
                    by_size[sum(taken)].append(part)
        for size, parts in enumerate(by_size):
            start[byte, size] = len(subsets)
            subsets += parts
        start[byte, 9] = len(subsets)
    return start, np.array(subsets, np.uint64)


_START, _SUBSETS = _subsets()


class Hand(NamedTuple):
    """A hand, prepared for the generator.

    Attributes:
        natural: Suit counts of each rank as a byte, without the wild cards, `uint64[13]`.
        wild: Number of wild cards, 0 .. 2.
        jokers: The byte of the jokers.
        level: Rank of the round's level.
    """

    natural: NDArray[np.uint64]
    wild: np.int64
    jokers: np.int64
    level: np.int64


@kernel
def _prepare(low, high, level):
    """The `Hand` of a multiset of cards."""
    natural = np.empty(13, np.uint64)
    for rank in range(13):
        natural[rank] = byte_of(low, high, rank)
    wild = np.int64(natural[level] & np.uint64(3))  # hearts are the lowest two bits
    natural[level] &= np.uint64(0xFC)
    return Hand(natural, wild, np.int64(byte_of(low, high, JOKER_RANK)), np.int64(level))


@kernel
def _ascending(place, level):
    """The rank at a place, 0 .. 12, of the order by strength, in which the level's rank is the highest."""
    if place == 12:
        return level
    return place if place < level else place + 1


@kernel
def _singles(low, high, hand, above, rows, n):
    """Single cards with a value above `above`; wild cards and jokers are single cards too."""
    for place in range(13):
        rank = _ascending(place, hand.level)
        if rank_value(rank, hand.level) > above:
            for suit in range(4):
                if count_of(low, high, 4 * rank + suit) > 0:
                    card_low, card_high = add_byte(NOTHING, NOTHING, 1 << 2 * suit, rank)
                    n = emit(rows, n, card_low, card_high, SINGLE, rank, 1)
    for joker in range(2):
        if count_of(low, high, 52 + joker) > 0 and rank_value(JOKER_RANK + joker, hand.level) > above:
            card_low, card_high = add_byte(NOTHING, NOTHING, 1 << 2 * joker, JOKER_RANK)
            n = emit(rows, n, card_low, card_high, SINGLE, JOKER_RANK + joker, 1)
    return n


@kernel
def _equals(hand, kind, size, above, rows, n):
    """Pairs, triples and bombs: one slot of `size` cards, of each rank with a value above `above`."""
    for place in range(13):
        rank = _ascending(place, hand.level)
        if rank_value(rank, hand.level) <= above:
            continue
        own = np.int64(hand.natural[rank])
        for wild in range(hand.wild + 1):
            needed = size - wild  # natural cards; wild cards alone have the level's rank
            if needed < 0 or needed > 8 or (needed == 0 and rank != hand.level):
                continue
            wild_low, wild_high = add_byte(NOTHING, NOTHING, wild, hand.level)
            for s in range(_START[own, needed], _START[own, needed + 1]):
                low, high = add_byte(wild_low, wild_high, _SUBSETS[s], rank)
                n = emit(rows, n, low, high, kind, rank, size)
    return n


@kernel
def _joker_pairs(hand, above, rows, n):
    """Two black or two red jokers. Wild cards never stand for jokers."""
    for joker in range(2):
        if hand.jokers >> 2 * joker & 3 == 2 and rank_value(JOKER_RANK + joker, hand.level) > above:
            low, high = add_byte(NOTHING, NOTHING, 2 << 2 * joker, JOKER_RANK)
            n = emit(rows, n, low, high, PAIR, JOKER_RANK + joker, 2)
    return n


@kernel
def _full_houses_with(hand, rank, low, high, wild_left, rows, n):
    """Full houses with the triple (low, high) of a rank and every pair that the rest of the hand can make."""
    for pair in range(13):
        if pair == rank:
            continue
        own = np.int64(hand.natural[pair])
        for wild in range(wild_left + 1):
            if wild == 2 and pair != hand.level:  # two wild cards are a pair of the level's rank only
                continue
            with_low, with_high = add_byte(low, high, wild, hand.level)
            for s in range(_START[own, 2 - wild], _START[own, 3 - wild]):
                full_low, full_high = add_byte(with_low, with_high, _SUBSETS[s], pair)
                n = emit(rows, n, full_low, full_high, THREE_WITH_TWO, rank, 5)
    for joker in range(2):
        if hand.jokers >> 2 * joker & 3 == 2:
            full_low, full_high = add_byte(low, high, 2 << 2 * joker, JOKER_RANK)
            n = emit(rows, n, full_low, full_high, THREE_WITH_TWO, rank, 5)
    return n


@kernel
def _full_houses(hand, above, rows, n):
    """Full houses whose triple has a value above `above`."""
    for place in range(13):
        rank = _ascending(place, hand.level)
        if rank_value(rank, hand.level) <= above:
            continue
        own = np.int64(hand.natural[rank])
        for wild in range(min(hand.wild, 2) + 1):  # of the triple
            wild_low, wild_high = add_byte(NOTHING, NOTHING, wild, hand.level)
            for s in range(_START[own, 3 - wild], _START[own, 4 - wild]):
                low, high = add_byte(wild_low, wild_high, _SUBSETS[s], rank)
                n = _full_houses_with(hand, rank, low, high, hand.wild - wild, rows, n)
    return n


@kernel
def _tubes_with(hand, first, wild_1, wild_2, wild_3, rows, n):
    """Tubes from a position on with given numbers of wild cards in the three slots."""
    rank_1, rank_2, rank_3 = rank_at(first), rank_at(first + 1), rank_at(first + 2)
    own_1, own_2, own_3 = hand.natural[rank_1], hand.natural[rank_2], hand.natural[rank_3]
    wild_low, wild_high = add_byte(NOTHING, NOTHING, wild_1 + wild_2 + wild_3, hand.level)
    for s in range(_START[own_1, 2 - wild_1], _START[own_1, 3 - wild_1]):
        low_1, high_1 = add_byte(wild_low, wild_high, _SUBSETS[s], rank_1)
        for t in range(_START[own_2, 2 - wild_2], _START[own_2, 3 - wild_2]):
            low_2, high_2 = add_byte(low_1, high_1, _SUBSETS[t], rank_2)
            for u in range(_START[own_3, 2 - wild_3], _START[own_3, 3 - wild_3]):
                low, high = add_byte(low_2, high_2, _SUBSETS[u], rank_3)
                n = emit(rows, n, low, high, THREE_PAIR, rank_1, 6)
    return n


@kernel
def _tubes(hand, above, rows, n):
    """Tubes, three pairs of consecutive ranks, whose lowest rank is at a position above `above`."""
    for first in range(max(0, above + 1), 12):
        for wild_1 in range(min(hand.wild, 2) + 1):
            for wild_2 in range(min(hand.wild - wild_1, 2) + 1):
                for wild_3 in range(min(hand.wild - wild_1 - wild_2, 2) + 1):
                    n = _tubes_with(hand, first, wild_1, wild_2, wild_3, rows, n)
    return n


@kernel
def _plates(hand, above, rows, n):
    """Plates, two triples of consecutive ranks, whose lower rank is at a position above `above`."""
    for first in range(max(0, above + 1), 13):
        rank_1, rank_2 = rank_at(first), rank_at(first + 1)
        own_1, own_2 = np.int64(hand.natural[rank_1]), np.int64(hand.natural[rank_2])
        for wild_1 in range(hand.wild + 1):
            for wild_2 in range(hand.wild - wild_1 + 1):
                wild_low, wild_high = add_byte(NOTHING, NOTHING, wild_1 + wild_2, hand.level)
                for s in range(_START[own_1, 3 - wild_1], _START[own_1, 4 - wild_1]):
                    low_1, high_1 = add_byte(wild_low, wild_high, _SUBSETS[s], rank_1)
                    for t in range(_START[own_2, 3 - wild_2], _START[own_2, 4 - wild_2]):
                        low, high = add_byte(low_1, high_1, _SUBSETS[t], rank_2)
                        n = emit(rows, n, low, high, TWO_TRIPS, rank_1, 6)
    return n


@kernel
def _most_equal(hand):
    """The largest number of natural cards of one rank."""
    most = np.int64(0)
    for rank in range(13):
        count = np.int64(0)
        for suit in range(4):
            count += np.int64((hand.natural[rank] >> np.uint64(2 * suit)) & np.uint64(3))
        most = max(most, count)
    return most


@kernel
def _bombs(hand, kind, rank, size, rows, n):
    """Bombs that beat an action, from the weakest to the strongest; all bombs if that action is not a bomb."""
    class_to_beat, value_to_beat = bomb_class(kind, size), value_of(kind, rank, hand.level)
    longest = _most_equal(hand) + hand.wild
    for each in range(max(class_to_beat, 0), 9):
        above = value_to_beat if each == class_to_beat else np.int64(-1)
        if each == 2:  # the inverse of `comparison.bomb_class`
            n = straight_flushes(hand, above, rows, n)
        elif each == 8:
            if hand.jokers == _BOTH_RED_AND_BLACK and class_to_beat < 8:
                low, high = add_byte(NOTHING, NOTHING, _BOTH_RED_AND_BLACK, JOKER_RANK)
                n = emit(rows, n, low, high, FOUR_KINGS, 0, 4)
        else:
            equal = each + 4 if each < 2 else each + 3
            if equal <= longest:
                n = _equals(hand, BOMB, equal, above, rows, n)
    return n


@kernel
def plays(low, high, level, kind, rank, size, rows, n):
    """Writes all actions that a hand may play upon another action, or lead if `kind` is PASS.

    Kinds come in the order of their numbers, bombs last; within a kind weaker actions come first.

    Args:
        low, high: The hand.
        level: Rank of the round's level.
        kind, rank, size: Of the action to beat.
        rows: Action records, `[N]`, written from row n on; at least `LONGEST` rows must follow.
        n: First row.

    Returns:
        The row after the last one.
    """
    hand = _prepare(low, high, level)
    leads = kind == PASS
    above = np.int64(-1) if leads else value_of(kind, rank, level)
    if not leads:
        n = emit(rows, n, NOTHING, NOTHING, PASS, 0, 0)
    if leads or kind == SINGLE:
        n = _singles(low, high, hand, above, rows, n)
    if leads or kind == PAIR:
        n = _equals(hand, PAIR, 2, above, rows, n)
        n = _joker_pairs(hand, above, rows, n)
    if leads or kind == TRIPS:
        n = _equals(hand, TRIPS, 3, above, rows, n)
    if leads or kind == THREE_PAIR:
        n = _tubes(hand, above, rows, n)
    if leads or kind == THREE_WITH_TWO:
        n = _full_houses(hand, above, rows, n)
    if leads or kind == TWO_TRIPS:
        n = _plates(hand, above, rows, n)
    if leads or kind == STRAIGHT:
        n = straights(hand, above, rows, n)
    return _bombs(hand, kind, rank, size, rows, n)
