"""Finds the cheapest split of a hand into plays, by a depth-first search over sets of sequences.

1. List the sequences (straight flushes, straights, tubes, plates) that the hand allows. A wild card stands only where
   the hand has no natural card left.
2. Search over sets of sequences. They are taken in the order of the list, so that each set is visited once.
3. At every set the remaining cards form groups by rank: single, pair, triple or bomb; four jokers are a bomb. Remaining
   wild cards each join a group or become cards of the level. Triples carry pairs as full houses. The price of the set
   is the sum over its sequences and groups; the cheapest set is the split.

If every play costs 1, the cheapest split has the fewest plays under these rules.

Example. At level 2 the hand S3 S4 S5 S6 S7 H7 C7 C9 D9 allows the straight flush S3 - S7 and the straight 3 - 7. Every
play costs 1. Without a sequence the groups are 3, 4, 5, 6, 777 and 99, of which 777 carries 99: 5 plays. With the
straight flush the rest is 77 and 99: 3 plays, the cheapest split.

Counts of cards by rank are words: the four bits from 4 * rank on are the number of cards of that rank. In the word of
the groups the index is the value (`comparison.rank_value`) instead: the level's cards are at 13, the jokers at 14 and
15. The word of the hand above is 0x2031_1110: three 7s at bit 4 * 5, two 9s at bit 4 * 7.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.guandan.rules.cards import (
    BLACK_VALUE,
    JOKER_RANK,
    LEVEL_VALUE,
    RED_VALUE,
    STRAIGHT,
    STRAIGHT_FLUSH,
    THREE_PAIR,
    THREE_WITH_TWO,
    TWO_TRIPS,
    byte_of,
    count_of,
)

STRAIGHTS, TUBES, PLATES, FULL_HOUSES, FLUSHES = range(11, 16)
PRICES = (16, 16)
"""Shape of a table of prices, `price[value, column]`. The value of a play is `comparison.value_of`; its column is the
size of a single, pair, triple or bomb, or one of the columns above. The bomb of four jokers is at `[14, 4]`, and column
0 is zero."""

NODES = 2_000
"""Maximum number of sets of sequences that the search visits; it then returns the best split so far."""

DEEPEST, ITEMS = 8, 76  # 40 straight flushes, 10 straights, 12 tubes and 13 plates

_ONES = np.uint64(0x1111111111111111)
_SEVENS = np.uint64(0x7777777777777777)
_EIGHTS = np.uint64(0x8888888888888888)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_LEVEL = np.uint64(1 << 4 * LEVEL_VALUE)


def _windows() -> NDArray[np.uint64]:
    """Words with a 1 at each rank of a sequence, by length and position of the lowest rank, `uint64[6, 14]`."""
    words = np.zeros((6, 14), np.uint64)
    for length in (2, 3, 5):
        for first in range(15 - length):
            words[length, first] = sum(1 << 4 * ((first + i + 12) % 13) for i in range(length))
    return words


WINDOWS = _windows()


class Desk(NamedTuple):
    """Scratch of the search, and the best split found.

    Attributes:
        suits: Natural cards of each suit, words, `uint64[4]`; without wild cards.
        counts: Natural cards, and the jokers by value, words, `uint64[2]`.
        window: Ranks of each sequence that the whole hand allows, words, `uint64[76]`.
        items: Kind, position of the lowest rank, suit (of a straight flush) and cards per rank of each such sequence,
            `int64[76, 4]`.
        value: Price of each such sequence, `float64[76]`.
        words: Words before each step of the search: all cards, and the suit of a straight flush, `uint64[8, 2]`.
        steps: Sequence taken at each step, and the wild cards in it, `int64[8, 2]`.
        to: Words with a 1 at the value that each remaining wild card joins, `uint64[2]`.
        best: Number of sequences of the best split, followed by the sequences, `int64[9]`.
        best_to: `to` of the best split.
    """

    suits: NDArray[np.uint64]
    counts: NDArray[np.uint64]
    window: NDArray[np.uint64]
    items: NDArray[np.int64]
    value: NDArray[np.float64]
    words: NDArray[np.uint64]
    steps: NDArray[np.int64]
    to: NDArray[np.uint64]
    best: NDArray[np.int64]
    best_to: NDArray[np.uint64]


@kernel
def new_desk():
    """Allocates the scratch of `split`."""
    return Desk(
        np.zeros(4, np.uint64),
        np.zeros(2, np.uint64),
        np.zeros(ITEMS, np.uint64),
        np.zeros((ITEMS, 4), np.int64),
        np.zeros(ITEMS, np.float64),
        np.zeros((DEEPEST, 2), np.uint64),
        np.zeros((DEEPEST, 2), np.int64),
        np.zeros(2, np.uint64),
        np.zeros(DEEPEST + 1, np.int64),
        np.zeros(2, np.uint64),
    )


@kernel
def column_of(kind, size):
    """Returns the column of a play in a table of prices."""
    if kind == STRAIGHT:
        return STRAIGHTS
    if kind == STRAIGHT_FLUSH:
        return FLUSHES
    if kind == THREE_PAIR:
        return TUBES
    if kind == TWO_TRIPS:
        return PLATES
    return FULL_HOUSES if kind == THREE_WITH_TWO else size


@kernel
def spread(desk, low, high, level):
    """Writes the words of a hand onto the desk; returns the number of wild cards."""
    for suit in range(4):
        desk.suits[suit] = _ZERO
    for rank in range(13):
        byte = byte_of(low, high, rank)
        if rank == level:
            byte &= np.uint64(0xFC)
        if byte:
            for suit in range(4):
                here = (byte >> np.uint64(2 * suit)) & np.uint64(3)
                desk.suits[suit] |= here << np.uint64(4 * rank)
    desk.counts[0] = desk.suits[0] + desk.suits[1] + desk.suits[2] + desk.suits[3]
    jokers = byte_of(low, high, JOKER_RANK)
    black, red = jokers & np.uint64(3), jokers >> np.uint64(2)
    if black + red == 4:  # one group of four, at the value of the black jokers
        black, red = np.uint64(4), _ZERO
    desk.counts[1] = black << np.uint64(4 * BLACK_VALUE) | red << np.uint64(4 * RED_VALUE)
    return count_of(low, high, 4 * level)


@kernel
def at_least(word, k):
    """Sets bit 3 of every four bits that count k or more, 1 <= k <= 7; all other bits are 0."""
    return (((word & _SEVENS) + np.uint64(8 - k) * _ONES) | word) & _EIGHTS


@kernel
def total_of(word):
    """Sums the counts of a word; the sum must be at most 15."""
    return np.int64((word * _ONES) >> np.uint64(60))


@kernel
def place_of(one):
    """Returns the index of the only 1 in a word."""
    return total_of((one - _ONE) & _ONES)


@kernel
def taken_of(word, window, each):
    """Returns the cards that a sequence takes from a word: up to `each` of every rank of the window."""
    taken = (at_least(word, 1) >> np.uint64(3)) & window
    if each > 1:
        taken += (at_least(word, 2) >> np.uint64(3)) & window
    if each > 2:
        taken += (at_least(word, 3) >> np.uint64(3)) & window
    return taken


@kernel
def _list_kind(desk, n, kind, first, suit, wild, price):
    """Adds a sequence to the list if the hand on the desk, with its wild cards, allows it; returns the new length."""
    length, each = 5, 1
    if kind == THREE_PAIR:
        length, each = 3, 2
    elif kind == TWO_TRIPS:
        length, each = 2, 3
    if first + length > 14:
        return n
    window = WINDOWS[length, first]
    word = desk.suits[suit] if kind == STRAIGHT_FLUSH else desk.counts[0]
    if length * each - total_of(taken_of(word, window, each)) > wild:
        return n
    desk.window[n] = window
    desk.items[n, 0], desk.items[n, 1], desk.items[n, 2], desk.items[n, 3] = kind, first, suit, each
    desk.value[n] = price[first, column_of(kind, 5)]
    return n + 1


@kernel
def _list_items(desk, wild, price):
    """Lists the sequences that the hand on the desk allows: straight flushes, then by lowest rank."""
    n = 0
    for suit in range(4):
        for first in range(10):
            n = _list_kind(desk, n, STRAIGHT_FLUSH, first, suit, wild, price)
    for first in range(13):
        n = _list_kind(desk, n, TWO_TRIPS, first, 0, wild, price)
        n = _list_kind(desk, n, THREE_PAIR, first, 0, wild, price)
        n = _list_kind(desk, n, STRAIGHT, first, 0, wild, price)
    return n


@kernel
def by_value(count, jokers, level):
    """Converts a word by rank to the word of the groups by value, and adds the jokers."""
    shift = np.uint64(4 * level)
    here = (count >> shift) & np.uint64(15)
    return (count ^ (here << shift)) | here << np.uint64(4 * LEVEL_VALUE) | jokers


@kernel
def carried_pairs(word, price):
    """Returns how many pairs triples should carry, and the saving; the weakest carry the weakest."""
    three = at_least(word, 3)
    triples, pairs = (three ^ at_least(word, 4)) >> np.uint64(3), (at_least(word, 2) ^ three) >> np.uint64(3)
    best, saved, gain, k = 0, 0.0, 0.0, 0
    while triples != _ZERO and pairs != _ZERO:
        triple, pair = triples & (~triples + _ONE), pairs & (~pairs + _ONE)
        triples, pairs = triples ^ triple, pairs ^ pair
        value = place_of(triple)
        gain += price[place_of(pair), 2] + price[value, 3] - price[value, FULL_HOUSES]
        k += 1
        if gain > saved:
            best, saved = k, gain
    return best, saved


@kernel
def _groups(word, price):
    """Returns the price of the groups in a word."""
    total = 0.0
    left = word
    value = 0
    while left != _ZERO:
        total += price[value, np.int64(left & np.uint64(15))]
        left >>= np.uint64(4)
        value += 1
    return total - carried_pairs(word, price)[1]


@kernel
def _target(word, choice):
    """Returns a word with a 1 at the value that a wild card joins by a choice, or 0 if there is no such group.

    Choices 0 .. 3 are the weakest single, pair, triple and bomb; choice 4 is the level's cards.
    """
    if choice == 4:
        return _LEVEL
    mask = at_least(word, choice + 1)
    if choice < 3:
        mask ^= at_least(word, choice + 2)
    mask = (mask >> np.uint64(3)) & (_LEVEL | _LEVEL - _ONE)
    return mask & (~mask + _ONE)


@kernel
def _leaf(desk, word, wild, price, bound, spare):
    """Returns the price of all groups with the remaining wild cards in their best groups, which go into `desk.to`.

    If the price cannot fall below `bound`, as each wild card saves at most `spare`, it returns infinity immediately.
    """
    desk.to[0] = desk.to[1] = _ZERO
    total = _groups(word, price)
    if wild == 0:
        return total
    if total - wild * spare >= bound:
        return np.inf
    best = np.inf
    for one in range(5):
        first = _target(word, one)
        if first == _ZERO:
            continue
        if wild == 1:
            total = _groups(word + first, price)
            if total < best:
                best, desk.to[0] = total, first
            continue
        for two in range(5):
            second = _target(word + first, two)
            if second != _ZERO:
                total = _groups(word + first + second, price)
                if total < best:
                    best, desk.to[0], desk.to[1] = total, first, second
    return best


@kernel
def _most_spared(price):
    """Returns an upper bound of the saving of one card by joining a group or by being a group of its own."""
    one = two = three = 0.0
    least = min(0.0, price[LEVEL_VALUE, 1])
    for value in range(14):
        one, two, three = max(one, price[value, 1]), max(two, price[value, 2]), max(three, price[value, 3])
        for column in (2, 3, 4, 10, FULL_HOUSES):
            least = min(least, price[value, column])
    return max(one + two, 2 * two, three) - least


@kernel
def _keep(desk, depth):
    """Stores the sequences of the current set as the best ones."""
    desk.best[0] = depth
    desk.best_to[0], desk.best_to[1] = desk.to[0], desk.to[1]
    for i in range(depth):
        desk.best[1 + i] = desk.steps[i, 0]


@kernel
def split(desk, low, high, level, price):
    """Finds the cheapest split of a hand and stores it on the desk.

    Args:
        desk: See `new_desk`.
        low, high: The hand.
        level: Rank of the round's level.
        price: Price of each play, see `PRICES`.

    Returns:
        The price of the split: the sum over its plays.
    """
    wild = spread(desk, low, high, level)
    items = _list_items(desk, wild, price)
    spare = _most_spared(price) if wild > 0 else 0.0
    count = desk.counts[0]
    jokers = desk.counts[1]
    best = _leaf(desk, by_value(count, jokers, level), wild, price, np.inf, spare)
    _keep(desk, 0)
    depth, item, cost, nodes = 0, 0, 0.0, 0
    while True:
        # Skip the sequences that the remaining cards do not allow.
        used, taken = np.int64(0), _ZERO
        while item < items:
            flush, each = desk.items[item, 0] == STRAIGHT_FLUSH, desk.items[item, 3]
            taken = taken_of(desk.suits[desk.items[item, 2]] if flush else count, desk.window[item], each)
            used = (5 if each == 1 else 6) - total_of(taken)
            if used <= wild:
                break
            item += 1
        # Take the next one, and compare the price of the new set. The same sequence may be taken again.
        if item < items and depth < DEEPEST and nodes < NODES:
            nodes += 1
            suit = desk.items[item, 2]
            desk.words[depth, 0], desk.words[depth, 1] = count, desk.suits[suit]
            desk.steps[depth, 0], desk.steps[depth, 1] = item, used
            count -= taken
            if desk.items[item, 0] == STRAIGHT_FLUSH:
                desk.suits[suit] -= taken
            wild -= used
            cost += desk.value[item]
            depth += 1
            total = cost + _leaf(desk, by_value(count, jokers, level), wild, price, best - cost, spare)
            if total < best - 1e-9:
                best = total
                _keep(desk, depth)
            continue
        # There is none left: put the last sequence back, and continue behind it.
        if depth == 0:
            return best
        depth -= 1
        item = desk.steps[depth, 0]
        count = desk.words[depth, 0]
        desk.suits[desk.items[item, 2]] = desk.words[depth, 1]
        wild += desk.steps[depth, 1]
        cost -= desk.value[item]
        item += 1
