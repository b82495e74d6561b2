"""Generates the straights and straight flushes of a hand, for `envs.guandan.rules.generation`.

A straight has five slots, each for one card of a rank. The generator decides which slots wild cards fill (`wild_slots`,
a set of slots as bits), and fills the others with natural cards in all choices of suits. Choices of a single suit are
straight flushes, which have a generator of their own.

The argument `hand` is an `envs.guandan.rules.generation.Hand`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.guandan.rules.cards import NOTHING, STRAIGHT, STRAIGHT_FLUSH, add_byte, emit
from envs.guandan.rules.comparison import rank_at


class Slots(NamedTuple):
    """Scratch: the cards that may stand in each of the five slots of a straight.

    Attributes:
        low, high: Each such card as a multiset, `uint64[5, 4]`.
        suit: Its suit as a bit, `int64[5, 4]`.
        cards: Number of such cards in each slot, `int64[5]`.
    """

    low: NDArray[np.uint64]
    high: NDArray[np.uint64]
    suit: NDArray[np.int64]
    cards: NDArray[np.int64]


@kernel
def _bits(mask):
    """Number of bits among the lowest five."""
    return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1) + (mask >> 4 & 1)


@kernel
def _fill_slots(hand, first, wild_slots, slots):
    """Lists the cards that may stand in each slot of the straights from a position on.

    Args:
        hand: The hand.
        first: Position of the lowest rank.
        wild_slots: Bits of the slots that wild cards fill.
        slots: See `Slots`; written.

    Returns:
        Whether every other slot has a natural card.
    """
    for i in range(5):
        slots.cards[i] = 0
        if wild_slots >> i & 1:  # the wild cards themselves are added once for all slots; each is a heart
            slots.low[i, 0], slots.high[i, 0], slots.suit[i, 0], slots.cards[i] = NOTHING, NOTHING, 1, 1
            continue
        rank = rank_at(first + i)
        for suit in range(4):
            if (hand.natural[rank] >> np.uint64(2 * suit)) & np.uint64(3):
                k = slots.cards[i]
                slots.low[i, k], slots.high[i, k] = add_byte(NOTHING, NOTHING, 1 << 2 * suit, rank)
                slots.suit[i, k] = 1 << suit
                slots.cards[i] += 1
        if slots.cards[i] == 0:
            return False
    return True


@kernel
def _straights_of(slots, wild_low, wild_high, rank, rows, n):
    """Writes every choice of a card for each slot, except those of a single suit, which are straight flushes."""
    low, high, suit, cards = slots
    for a in range(cards[0]):
        for b in range(cards[1]):
            for c in range(cards[2]):
                three_low = wild_low + low[0, a] + low[1, b] + low[2, c]
                three_high = wild_high + high[0, a] + high[1, b] + high[2, c]
                for d in range(cards[3]):
                    suits = suit[0, a] | suit[1, b] | suit[2, c] | suit[3, d]
                    for e in range(cards[4]):
                        if _bits(suits | suit[4, e]) == 1:
                            continue
                        five_low = three_low + low[3, d] + low[4, e]
                        five_high = three_high + high[3, d] + high[4, e]
                        n = emit(rows, n, five_low, five_high, STRAIGHT, rank, 5)
    return n


@kernel
def straights(hand, above, rows, n):
    """Straights of more than one suit whose lowest rank is at a position above `above`."""
    slots = Slots(
        np.empty((5, 4), np.uint64), np.empty((5, 4), np.uint64), np.empty((5, 4), np.int64), np.empty(5, np.int64)
    )
    for first in range(max(0, above + 1), 10):
        empty_slots = 0
        for i in range(5):
            empty_slots |= (hand.natural[rank_at(first + i)] == 0) << i
        # Wild cards fill all slots without a natural card, and may fill others.
        for wild_slots in range(32):
            wild = _bits(wild_slots)
            if wild > hand.wild or empty_slots & ~wild_slots:
                continue
            if _fill_slots(hand, first, wild_slots, slots):
                wild_low, wild_high = add_byte(NOTHING, NOTHING, wild, hand.level)
                n = _straights_of(slots, wild_low, wild_high, rank_at(first), rows, n)
    return n


@kernel
def _straight_flush(hand, first, suit, wild_slots):
    """The cards of a straight flush of a suit with wild cards in these slots, as a multiset."""
    low, high = add_byte(NOTHING, NOTHING, _bits(wild_slots), hand.level)
    for i in range(5):
        if not wild_slots >> i & 1:
            low, high = add_byte(low, high, 1 << 2 * suit, rank_at(first + i))
    return low, high


@kernel
def straight_flushes(hand, above, rows, n):
    """Straights of one suit whose lowest rank is at a position above `above`; wild cards stand for any suit."""
    for first in range(max(0, above + 1), 10):
        for suit in range(4):
            held_slots = 0
            for i in range(5):
                byte = hand.natural[rank_at(first + i)]
                held_slots |= (((byte >> np.uint64(2 * suit)) & np.uint64(3)) != 0) << i
            if _bits(held_slots) + hand.wild < 5:
                continue
            for wild_slots in range(32):
                if _bits(wild_slots) > hand.wild or (31 & ~held_slots) & ~wild_slots:
                    continue
                low, high = _straight_flush(hand, first, suit, wild_slots)
                n = emit(rows, n, low, high, STRAIGHT_FLUSH, rank_at(first), 5)
    return n
