"""Converts a split to actions: assigns the cards of a hand to its plays."""

import numpy as np

from envs.compiled import kernel
from envs.guandan.inputs.splits import by_value, carried_pairs, spread, total_of
from envs.guandan.rules.cards import (
    BOMB,
    FOUR_KINGS,
    JOKER_RANK,
    LEVEL_VALUE,
    PAIR,
    SINGLE,
    STRAIGHT,
    STRAIGHT_FLUSH,
    THREE_WITH_TWO,
    TRIPS,
    card_words,
    emit,
)
from envs.guandan.rules.comparison import rank_at

MOST_PLAYS = 28

_JOKER_SHIFT = np.uint64(40)  # position of the jokers' byte in the high word


@kernel
def _draw(desk, rank, suit):
    """Takes one natural card of a rank off the desk, preferably of a suit; returns its index, or -1."""
    shift = np.uint64(4 * rank)
    for i in range(4):
        s = (suit + i) & 3
        if (desk.suits[s] >> shift) & np.uint64(15):
            desk.suits[s] -= np.uint64(1) << shift
            return 4 * rank + s
    return np.int64(-1)


@kernel
def _write_sequence(desk, item, level, rows, n):
    """Writes a sequence with its cards as row n; a straight of one suit becomes a straight flush."""
    kind, first, each = desk.items[item, 0], desk.items[item, 1], desk.items[item, 3]
    low, high, suits, size = np.uint64(0), np.uint64(0), np.int64(0), 0
    for i in range(total_of(desk.window[item])):
        rank = rank_at(first + i)
        for j in range(each):
            index = np.int64(-1)
            if kind != STRAIGHT_FLUSH:
                index = _draw(desk, rank, i + j)
            elif (desk.suits[desk.items[item, 2]] >> np.uint64(4 * rank)) & np.uint64(15):
                index = _draw(desk, rank, desk.items[item, 2])
            if index >= 0:
                suits |= 1 << (index & 3)
            card_low, card_high = card_words(index if index >= 0 else 4 * level)
            low, high, size = low + card_low, high + card_high, size + 1
    if kind == STRAIGHT and suits & (suits - 1) == 0:
        kind = STRAIGHT_FLUSH
    return emit(rows, n, low, high, kind, rank_at(first), size)


@kernel
def _rank_of(value, level):
    """Returns the rank with a value; 13 and 14 are the jokers."""
    if value > LEVEL_VALUE:
        return value - 1
    return level if value == LEVEL_VALUE else value


@kernel
def _group_cards(desk, rank, size, level):
    """Takes the cards of a group: natural cards of a rank as far as there are, then wild cards."""
    low, high = np.uint64(0), np.uint64(0)
    for _ in range(size):
        if rank >= JOKER_RANK:
            index = np.int64(39 + rank)
        else:
            index = _draw(desk, rank, 0)
        card_low, card_high = card_words(index if index >= 0 else 4 * level)
        low, high = low + card_low, high + card_high
    return low, high


@kernel
def _write_groups(desk, word, level, price, rows, n):
    """Writes the groups with their cards from row n on; the weakest triples carry the weakest pairs."""
    carried = carried_pairs(word, price)[0]
    first_triple, done = n, 0
    for value in range(14):
        if (word >> np.uint64(4 * value)) & np.uint64(15) == 3:
            rank = _rank_of(value, level)
            low, high = _group_cards(desk, rank, 3, level)
            if done < carried:
                n = emit(rows, n, low, high, THREE_WITH_TWO, rank, 5)
            else:
                n = emit(rows, n, low, high, TRIPS, rank, 3)
            done += 1
    done = 0
    for value in range(16):
        size = np.int64((word >> np.uint64(4 * value)) & np.uint64(15))
        rank = _rank_of(value, level)
        if size == 0 or size == 3:
            continue
        if size == 4 and rank == JOKER_RANK:
            n = emit(rows, n, np.uint64(0), np.uint64(10) << _JOKER_SHIFT, FOUR_KINGS, 0, 4)
            continue
        low, high = _group_cards(desk, rank, size, level)
        if size == 2 and done < carried:
            rows[first_triple + done].low += low
            rows[first_triple + done].high += high
            done += 1
        else:
            n = emit(rows, n, low, high, SINGLE if size == 1 else PAIR if size == 2 else BOMB, rank, size)
    return n


@kernel
def write_split(desk, low, high, level, price, rows):
    """Writes the plays of a split as action records.

    Args:
        desk: The desk after `split` of the same hand at the same prices.
        low, high: The hand.
        level: Rank of the round's level.
        price: Price of each play, see `splits.PRICES`.
        rows: Action records, `[MOST_PLAYS]` or more; written.

    Returns:
        Number of plays.
    """
    spread(desk, low, high, level)
    count = desk.counts[0]
    n = 0
    for i in range(desk.best[0]):
        n = _write_sequence(desk, desk.best[1 + i], level, rows, n)
    if n > 0:
        count = desk.suits[0] + desk.suits[1] + desk.suits[2] + desk.suits[3]
    word = by_value(count, desk.counts[1], level) + desk.best_to[0] + desk.best_to[1]
    return _write_groups(desk, word, level, price, rows, n)
