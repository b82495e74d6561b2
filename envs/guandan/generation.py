"""Legal actions of a hand, compiled: every distinct multiset of cards in every reading.

For each kind and rank the slots of the combination are filled with natural cards in all suit variants, and what is
missing with wild cards. A multiset is made at most once for one kind and rank, because it determines how many of its
cards are natural in each slot.
"""

import numpy as np

from envs.compiled import kernel
from envs.guandan.cards import (
    BOMB,
    FOUR_KINGS,
    JOKER_RANK,
    PAIR,
    PASS,
    SINGLE,
    STRAIGHT,
    STRAIGHT_FLUSH,
    THREE_PAIR,
    THREE_WITH_TWO,
    TRIPS,
    TWO_TRIPS,
    byte_of,
    count_of,
)
from envs.guandan.comparison import bomb_class, rank_value, value_of

LONGEST = 32_768
"""No list is longer: the longest that a search over hands of 28 cards found has 17,000 actions."""


def _selections():
    """For each byte of suit counts the bytes of its sub-multisets, by their number of cards."""
    first = np.zeros((256, 10), np.int16)
    sub: list[int] = []
    for byte in range(256):
        counts = [byte >> shift & 3 for shift in (0, 2, 4, 6)]
        by_size: list[list[int]] = [[] for _ in range(9)]
        if max(counts) <= 2:
            for part in range(256):
                taken = [part >> shift & 3 for shift in (0, 2, 4, 6)]
                if all(t <= c for t, c in zip(taken, counts, strict=True)):
                    by_size[sum(taken)].append(part)
        for size, parts in enumerate(by_size):
            first[byte, size] = len(sub)
            sub += parts
        first[byte, 9] = len(sub)
    return first, np.array(sub, np.uint64)


_FIRST, _SUB = _selections()


@kernel
def low_part(byte, rank):
    """The word `low` of a multiset that has this byte at a rank, and nothing else."""
    return np.uint64(byte) << np.uint64(8 * rank) if rank < 8 else np.uint64(0)


@kernel
def high_part(byte, rank):
    """The word `high` of the same."""
    return np.uint64(byte) << np.uint64(8 * (rank - 8)) if rank >= 8 else np.uint64(0)


@kernel
def emit(rows, n, low, high, kind, rank, size):
    """Writes one action as row n and returns n + 1."""
    row = rows[n]
    row.low = low
    row.high = high
    row.kind = kind
    row.rank = rank
    row.size = size
    return n + 1


@kernel
def _natural_bytes(low, high, level, natural):
    """Suit counts of each rank without the wild cards into `natural [13]`; the number of wild cards."""
    for rank in range(13):
        natural[rank] = byte_of(low, high, rank)
    wild = np.int64(natural[level] & np.uint64(3))
    natural[level] &= np.uint64(0xFC)
    return wild


@kernel
def _singles(low, high, level, above, rows, n):
    for place in range(13):
        rank = _rank_at(place, level)
        if rank_value(rank, level) > above:
            for suit in range(4):
                index = 4 * rank + suit
                if count_of(low, high, index) > 0:
                    n = emit(rows, n, low_part(1 << 2 * suit, rank), high_part(1 << 2 * suit, rank), SINGLE, rank, 1)
    for joker in range(2):
        if count_of(low, high, 52 + joker) > 0 and rank_value(JOKER_RANK + joker, level) > above:
            n = emit(rows, n, np.uint64(0), high_part(1 << 2 * joker, JOKER_RANK), SINGLE, JOKER_RANK + joker, 1)
    return n


@kernel
def _rank_at(place, level):
    """The ranks in ascending order of value: place 12 is the level's."""
    if place == 12:
        return level
    return place if place < level else place + 1


@kernel
def _equals(natural, wild, level, kind, size, above, rows, n):
    """Pairs, triples and bombs of `size` cards with a value above `above`."""
    for place in range(13):
        rank = _rank_at(place, level)
        if rank_value(rank, level) <= above:
            continue
        byte = np.int64(natural[rank])
        for used in range(wild + 1):
            k = size - used
            if k < 0 or k > 8 or (k == 0 and rank != level):
                continue
            wild_low, wild_high = low_part(used, level), high_part(used, level)
            for s in range(_FIRST[byte, k], _FIRST[byte, k + 1]):
                low, high = wild_low + low_part(_SUB[s], rank), wild_high + high_part(_SUB[s], rank)
                n = emit(rows, n, low, high, kind, rank, size)
    return n


@kernel
def _joker_pairs(low, high, level, above, rows, n):
    for joker in range(2):
        if count_of(low, high, 52 + joker) == 2 and rank_value(JOKER_RANK + joker, level) > above:
            n = emit(rows, n, np.uint64(0), high_part(2 << 2 * joker, JOKER_RANK), PAIR, JOKER_RANK + joker, 2)
    return n


@kernel
def _full_houses_of(natural, wild, level, rank, jokers, rows, n):
    """Full houses with the triple `rank`."""
    for used in range(min(wild, 2) + 1):
        triple = np.int64(natural[rank])
        for s in range(_FIRST[triple, 3 - used], _FIRST[triple, 4 - used]):
            low, high = (
                low_part(used, level) + low_part(_SUB[s], rank),
                high_part(used, level) + high_part(_SUB[s], rank),
            )
            for pair in range(13):
                if pair == rank:
                    continue
                byte = np.int64(natural[pair])
                for more in range(wild - used + 1):
                    if more == 2 and pair != level:
                        continue
                    wild_low, wild_high = low + low_part(more, level), high + high_part(more, level)
                    for p in range(_FIRST[byte, 2 - more], _FIRST[byte, 3 - more]):
                        pair_low, pair_high = low_part(_SUB[p], pair), high_part(_SUB[p], pair)
                        n = emit(rows, n, wild_low + pair_low, wild_high + pair_high, THREE_WITH_TWO, rank, 5)
            for joker in range(2):
                if (jokers >> np.uint64(2 * joker)) & np.uint64(3) == 2:
                    n = emit(rows, n, low, high + high_part(2 << 2 * joker, JOKER_RANK), THREE_WITH_TWO, rank, 5)
    return n


@kernel
def _full_houses(natural, wild, level, jokers, above, rows, n):
    for place in range(13):
        rank = _rank_at(place, level)
        if rank_value(rank, level) > above:
            n = _full_houses_of(natural, wild, level, rank, jokers, rows, n)
    return n


@kernel
def _three_pairs(natural, wild, level, above, rows, n):
    for value in range(max(0, above + 1), 12):
        a, b, c = (value + 12) % 13, value, value + 1
        x, y, z = np.int64(natural[a]), np.int64(natural[b]), np.int64(natural[c])
        for i in range(min(wild, 2) + 1):
            for j in range(min(wild - i, 2) + 1):
                for k in range(min(wild - i - j, 2) + 1):
                    used = i + j + k
                    for p in range(_FIRST[x, 2 - i], _FIRST[x, 3 - i]):
                        for q in range(_FIRST[y, 2 - j], _FIRST[y, 3 - j]):
                            low = low_part(used, level) + low_part(_SUB[p], a) + low_part(_SUB[q], b)
                            high = high_part(used, level) + high_part(_SUB[p], a) + high_part(_SUB[q], b)
                            for r in range(_FIRST[z, 2 - k], _FIRST[z, 3 - k]):
                                third_low, third_high = low_part(_SUB[r], c), high_part(_SUB[r], c)
                                n = emit(rows, n, low + third_low, high + third_high, THREE_PAIR, a, 6)
    return n


@kernel
def _two_trips(natural, wild, level, above, rows, n):
    for value in range(max(0, above + 1), 13):
        a, b = (value + 12) % 13, value
        x, y = np.int64(natural[a]), np.int64(natural[b])
        for i in range(wild + 1):
            for j in range(wild - i + 1):
                for p in range(_FIRST[x, 3 - i], _FIRST[x, 4 - i]):
                    low = low_part(i + j, level) + low_part(_SUB[p], a)
                    high = high_part(i + j, level) + high_part(_SUB[p], a)
                    for q in range(_FIRST[y, 3 - j], _FIRST[y, 4 - j]):
                        n = emit(rows, n, low + low_part(_SUB[q], b), high + high_part(_SUB[q], b), TWO_TRIPS, a, 6)
    return n


@kernel
def _window_options(natural, first, filled, low, high, suit, count):
    """The cards that may stand in each of five slots from the value `first`; slots in the bit set `filled` are wild.

    Returns:
        Whether each slot that is not wild has a card.
    """
    for i in range(5):
        count[i] = 0
        if filled >> i & 1:
            low[i, 0], high[i, 0], suit[i, 0], count[i] = np.uint64(0), np.uint64(0), 1, 1
            continue
        rank = (first + i + 12) % 13
        for s in range(4):
            if (natural[rank] >> np.uint64(2 * s)) & np.uint64(3):
                low[i, count[i]], high[i, count[i]] = low_part(1 << 2 * s, rank), high_part(1 << 2 * s, rank)
                suit[i, count[i]] = 1 << s
                count[i] += 1
        if count[i] == 0:
            return False
    return True


@kernel
def _bits(mask):
    return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1) + (mask >> 4 & 1)


@kernel
def _window(wild_low, wild_high, rank, low, high, suit, count, rows, n):
    """All straights that one choice of slots for wild cards allows; a wild card is a heart. `suit` holds bits."""
    for a in range(count[0]):
        for b in range(count[1]):
            for c in range(count[2]):
                low3 = wild_low + low[0, a] + low[1, b] + low[2, c]
                high3 = wild_high + high[0, a] + high[1, b] + high[2, c]
                for d in range(count[3]):
                    suits = suit[0, a] | suit[1, b] | suit[2, c] | suit[3, d]
                    for e in range(count[4]):
                        if _bits(suits | suit[4, e]) == 1:
                            continue
                        row_low, row_high = low3 + low[3, d] + low[4, e], high3 + high[3, d] + high[4, e]
                        n = emit(rows, n, row_low, row_high, STRAIGHT, rank, 5)
    return n


@kernel
def _straights(natural, wild, level, above, rows, n):
    low, high = np.empty((5, 4), np.uint64), np.empty((5, 4), np.uint64)
    suit, count = np.empty((5, 4), np.int64), np.empty(5, np.int64)
    for value in range(max(0, above + 1), 10):
        empty = 0
        for i in range(5):
            empty |= (natural[(value + i + 12) % 13] == 0) << i
        for filled in range(32):
            used = _bits(filled)
            if used > wild or empty & ~filled:
                continue
            if _window_options(natural, value, filled, low, high, suit, count):
                wild_low, wild_high = low_part(used, level), high_part(used, level)
                rank = (value + 12) % 13
                n = _window(wild_low, wild_high, rank, low, high, suit, count, rows, n)
    return n


@kernel
def _straight_flushes(natural, wild, level, above, rows, n):
    for value in range(max(0, above + 1), 10):
        for s in range(4):
            there = 0
            for i in range(5):
                rank = (value + i + 12) % 13
                there |= (((natural[rank] >> np.uint64(2 * s)) & np.uint64(3)) != 0) << i
            if _bits(there) + wild < 5:
                continue
            for filled in range(32):
                used = _bits(filled)
                if used > wild or (31 & ~there) & ~filled:
                    continue
                low, high = low_part(used, level), high_part(used, level)
                for i in range(5):
                    if not filled >> i & 1:
                        rank = (value + i + 12) % 13
                        low += low_part(1 << 2 * s, rank)
                        high += high_part(1 << 2 * s, rank)
                n = emit(rows, n, low, high, STRAIGHT_FLUSH, (value + 12) % 13, 5)
    return n


@kernel
def _bombs(natural, wild, level, jokers, kind, rank, size, rows, n):
    """Bombs above an action, or all of them above one that is no bomb, from the weakest to the strongest."""
    held, value = bomb_class(kind, size), value_of(kind, rank, level)
    most = np.int64(0)
    for r in range(13):
        most = max(most, np.int64(_count(natural[r])))
    for each in range(max(held, 0), 9):
        above = value if each == held else np.int64(-1)
        if each == 2:
            n = _straight_flushes(natural, wild, level, above, rows, n)
        elif each == 8:
            if jokers == 10 and held < 8:
                n = emit(rows, n, np.uint64(0), high_part(10, JOKER_RANK), FOUR_KINGS, 0, 4)
        else:
            equal = each + 4 if each < 2 else each + 3
            if equal <= most + wild:
                n = _equals(natural, wild, level, BOMB, equal, above, rows, n)
    return n


@kernel
def _count(byte):
    return (
        (byte & np.uint64(3))
        + ((byte >> np.uint64(2)) & np.uint64(3))
        + ((byte >> np.uint64(4)) & np.uint64(3))
        + ((byte >> np.uint64(6)) & np.uint64(3))
    )


@kernel
def plays(low, high, level, kind, rank, size, rows, n):
    """What a hand may play upon an action, or lead where `kind` is PASS.

    Kinds come in their order and within a kind weaker actions first.

    Args:
        low, high: The hand.
        level: Rank of the round's level.
        kind, rank, size: Of the action to beat.
        rows: Where to write, action records with room for `LONGEST` from row n on.
        n: First row.

    Returns:
        The row after the last one.
    """
    natural = np.empty(13, np.uint64)
    wild = _natural_bytes(low, high, level, natural)
    jokers = byte_of(low, high, JOKER_RANK)
    leads = kind == PASS
    none = np.int64(-1)
    if not leads:
        n = emit(rows, n, np.uint64(0), np.uint64(0), PASS, 0, 0)
    above = none if leads else value_of(kind, rank, level)
    if leads or kind == SINGLE:
        n = _singles(low, high, level, above, rows, n)
    if leads or kind == PAIR:
        n = _equals(natural, wild, level, PAIR, 2, above, rows, n)
        n = _joker_pairs(low, high, level, above, rows, n)
    if leads or kind == TRIPS:
        n = _equals(natural, wild, level, TRIPS, 3, above, rows, n)
    if leads or kind == THREE_PAIR:
        n = _three_pairs(natural, wild, level, above, rows, n)
    if leads or kind == THREE_WITH_TWO:
        n = _full_houses(natural, wild, level, jokers, above, rows, n)
    if leads or kind == TWO_TRIPS:
        n = _two_trips(natural, wild, level, above, rows, n)
    if leads or kind == STRAIGHT:
        n = _straights(natural, wild, level, above, rows, n)
    return _bombs(natural, wild, level, jokers, kind, rank, size, rows, n)
