"""Which action beats which, and whether cards can be read as a combination.

`value_of` orders the actions of one kind; `bomb_class` orders bombs first. This module is independent of the generator
of legal actions (`generation`), so that each is a check of the other.
"""

import numpy as np

from envs.compiled import kernel
from envs.guandan.rules.cards import (
    BLACK_VALUE,
    BOMB,
    FOUR_KINGS,
    JOKER_RANK,
    LEVEL_VALUE,
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
    size_of,
)

NOT_A_BOMB = -1
NO_LEVEL = 13  # no card is wild


@kernel
def rank_value(rank, level):
    """Returns the value of a rank (13 and 14 are the jokers) in the order 2 < .. < A < level < SB < HR."""
    if rank >= JOKER_RANK:
        return np.int64(rank) - JOKER_RANK + BLACK_VALUE
    return np.int64(LEVEL_VALUE) if rank == level else np.int64(rank)


@kernel
def rank_at(position):
    """The rank at a position of the order A 2 3 .. K A that sequences follow: 0 is the low ace, 13 the high one."""
    return (position + 12) % 13


@kernel
def rank_of(index):
    """Returns the rank of the card with an index: 0 .. 12, or 13 and 14 for the jokers."""
    return index // 4 if index < 52 else index - 39


@kernel
def card_value(index, level):
    """Returns the value of the card with an index, as a single."""
    return rank_value(rank_of(index), level)


@kernel
def is_sequence(kind):
    """Returns whether a kind has consecutive ranks. Sequences ignore the level, and the ace is low or high."""
    return kind in (THREE_PAIR, TWO_TRIPS, STRAIGHT, STRAIGHT_FLUSH)


@kernel
def value_of(kind, rank, level):
    """Returns the value of an action among those of its kind and, for bombs, of its size."""
    if kind in (FOUR_KINGS, PASS):
        return np.int64(0)
    if is_sequence(kind):
        return (np.int64(rank) + 1) % 13
    return rank_value(rank, level)


@kernel
def bomb_class(kind, size):
    """Returns the class of a bomb, 0 .. 8: 4 < 5 < straight flush < 6 < .. < 10 equal cards < four jokers.

    Other actions have the class `NOT_A_BOMB`.
    """
    if kind == BOMB:
        return np.int64(size) - 4 if size < 6 else np.int64(size) - 3
    if kind == STRAIGHT_FLUSH:
        return np.int64(2)
    if kind == FOUR_KINGS:
        return np.int64(8)
    return np.int64(NOT_A_BOMB)


@kernel
def beats(kind, rank, size, other_kind, other_rank, other_size, level):
    """Returns whether an action beats another one. Actions of equal strength do not beat each other."""
    mine, theirs = bomb_class(kind, size), bomb_class(other_kind, other_size)
    if mine != theirs:
        return mine > theirs
    if mine == NOT_A_BOMB and kind != other_kind:
        return False
    return value_of(kind, rank, level) > value_of(other_kind, other_rank, level)


@kernel
def _natural_count(low, high, rank, level):
    """Counts the cards of a rank that are not wild."""
    byte = byte_of(low, high, rank)
    if rank == level:
        byte &= np.uint64(0xFC)
    return np.int64((byte & np.uint64(3)) + ((byte >> np.uint64(2)) & np.uint64(3))) + np.int64(
        ((byte >> np.uint64(4)) & np.uint64(3)) + ((byte >> np.uint64(6)) & np.uint64(3))
    )


@kernel
def _one_suit(low, high, level):
    """Returns whether all natural cards have the same suit."""
    suits = np.int64(0)
    for index in range(52):
        if index != 4 * level and count_of(low, high, index) > 0:
            suits |= 1 << (index % 4)
    return suits & (suits - 1) == 0


@kernel
def _reads_as_equals(low, high, rank, size, level):
    """Returns whether the cards are `size` of one rank. Wild cards do not stand for jokers."""
    if rank >= JOKER_RANK:
        return count_of(low, high, 52 + rank - JOKER_RANK) == size and size <= 2
    natural, wild = _natural_count(low, high, rank, level), count_of(low, high, 4 * level)
    return natural + wild == size and (natural > 0 or rank == level)


@kernel
def _reads_as_full_house(low, high, rank, level):
    """Returns whether the cards are three of `rank` and two of another; wild cards stand for either rank."""
    wild, triple = count_of(low, high, 4 * level), _natural_count(low, high, rank, level)
    if rank >= JOKER_RANK or triple > 3 or (triple == 0 and rank != level):
        return False
    if triple == 0:  # three wild cards do not exist
        return False
    left = wild - (3 - triple)
    if left < 0:
        return False
    if left == 2:
        return rank != level
    for pair in range(13):
        if pair != rank:
            natural = _natural_count(low, high, pair, level)
            if natural > 0:
                return natural + left == 2
    return left == 0 and (count_of(low, high, 52) == 2 or count_of(low, high, 53) == 2)


@kernel
def _reads_as_run(low, high, rank, ranks, each, level):
    """Returns whether the cards are `each` of each of `ranks` consecutive ranks from `rank` up.

    Wild cards stand for all missing cards.
    """
    first = (np.int64(rank) + 1) % 13
    if first + ranks > 14:
        return False
    missing = np.int64(0)
    natural = np.int64(0)
    for i in range(ranks):
        there = _natural_count(low, high, rank_at(first + i), level)
        if there > each:
            return False
        natural += there
        missing += each - there
    wild = count_of(low, high, 4 * level)
    return missing == wild and natural + wild == ranks * each


@kernel
def reads_as(low, high, kind, rank, level):
    """Returns whether a multiset of cards can be read as a combination of a kind and rank.

    Five consecutive cards of one suit, where a wild card is a heart, are a straight flush and not a straight.
    """
    size = size_of(low, high)
    if rank > JOKER_RANK + 1 or (rank != 0 and kind in (PASS, FOUR_KINGS)):
        return False
    if kind == PASS:
        return size == 0
    if kind == FOUR_KINGS:
        return size == 4 and count_of(low, high, 52) == 2 and count_of(low, high, 53) == 2
    if kind == SINGLE:
        return size == 1 and _reads_as_equals(low, high, rank, 1, level)
    if kind == PAIR:
        return size == 2 and _reads_as_equals(low, high, rank, 2, level)
    if rank >= JOKER_RANK:
        return False
    if kind == TRIPS:
        return size == 3 and _reads_as_equals(low, high, rank, 3, level)
    if kind == BOMB:
        return 4 <= size <= 10 and _reads_as_equals(low, high, rank, size, level)
    if kind == THREE_WITH_TWO:
        return size == 5 and _reads_as_full_house(low, high, rank, level)
    if kind == THREE_PAIR:
        return size == 6 and _reads_as_run(low, high, rank, 3, 2, level)
    if kind == TWO_TRIPS:
        return size == 6 and _reads_as_run(low, high, rank, 2, 3, level)
    if kind in (STRAIGHT, STRAIGHT_FLUSH):
        if size != 5 or not _reads_as_run(low, high, rank, 5, 1, level):
            return False
        if kind == STRAIGHT_FLUSH:
            return _one_suit(low, high, level)
        return not _one_suit(low, high, NO_LEVEL)
    return False
