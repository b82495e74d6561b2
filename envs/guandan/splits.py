"""The cheapest split of a hand into plays: a search over straight flushes, straights, tubes and plates, and wild cards.

Sequences are taken from the hand in a fixed order, straight flushes first and then by their lowest cards, so that each
set of them is met once; a wild card stands only where the hand has no card of its own left. What no sequence takes
stays together by rank: single, pair, triple or bomb; all four jokers are a bomb. Wild cards that are left over join
such a group each, or are cards of the level, and triples carry pairs as full houses. With the price 1 for every play
the cheapest split is the one with the fewest plays under these rules.

Cards are counted by rank in words: the four bits from 4 * rank on say how many there are. In the word of the groups the
places are values instead (`comparison.rank_value`): the level's cards are at 13, the jokers at 14 and 15.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.guandan.cards import (
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
"""Shape of a table of prices: the value of a play, see `comparison.value_of`, and the size of a single, pair, triple or
bomb, or one of the columns above. The bomb of four jokers is at `[14, 4]`; column 0 holds zeros."""

NODES = 2_000
"""The search ends after so many sets of sequences with the best split that it has found."""

DEEPEST, ITEMS = 8, 76  # 40 straight flushes, 10 straights, 12 tubes and 13 plates

_ONES = np.uint64(0x1111111111111111)
_SEVENS = np.uint64(0x7777777777777777)
_EIGHTS = np.uint64(0x8888888888888888)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_LEVEL = np.uint64(1 << 4 * LEVEL_VALUE)


def _windows():
    """The ranks of sequences by length and place of the lowest card, 0 being the low ace, as words `[6, 14]`."""
    words = np.zeros((6, 14), np.uint64)
    for length in (2, 3, 5):
        for first in range(15 - length):
            words[length, first] = sum(1 << 4 * ((first + i + 12) % 13) for i in range(length))
    return words


WINDOWS = _windows()


class Desk(NamedTuple):
    """Where a hand is split: scratch, and the best split found.

    Attributes:
        suits: Natural cards of each suit, words `uint64[4]`; wild cards are not among them.
        counts: Natural cards, and the jokers by value, words `uint64[2]`.
        window: Ranks of each sequence that the whole hand allows, words `uint64[76]`.
        items: Their kind, place of the lowest card, suit of a straight flush, cards of each rank, `int64[76, 4]`.
        value: Their prices, `float64[76]`.
        words: Before each step of the search: the word of all cards, and of the suit of a straight flush,
            `uint64[8, 2]`.
        steps: Its sequence, and the wild cards it used, `int64[8, 2]`.
        to: Words with 1 at the rank that each left wild card joins, `uint64[2]`.
        best: How many sequences the best split has, then which, `int64[9]`.
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
    """Scratch for `split`."""
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
    """Column of a play in a table of prices."""
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
    """Lays a hand on the desk; the number of its wild cards."""
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
    if black + red == 4:
        black, red = np.uint64(4), _ZERO
    desk.counts[1] = black << np.uint64(4 * BLACK_VALUE) | red << np.uint64(4 * RED_VALUE)
    return count_of(low, high, 4 * level)


@kernel
def at_least(word, k):
    """Bit 3 of the places that count k or more."""
    return (((word & _SEVENS) + np.uint64(8 - k) * _ONES) | word) & _EIGHTS


@kernel
def total_of(word):
    """The sum over a word of which that is 15 at most."""
    return np.int64((word * _ONES) >> np.uint64(60))


@kernel
def place_of(one):
    """The place at which a word holds its only 1."""
    return total_of((one - _ONE) & _ONES)


@kernel
def taken_of(word, window, each):
    """The cards that a sequence takes, as a word: up to `each` of every rank."""
    taken = (at_least(word, 1) >> np.uint64(3)) & window
    if each > 1:
        taken += (at_least(word, 2) >> np.uint64(3)) & window
    if each > 2:
        taken += (at_least(word, 3) >> np.uint64(3)) & window
    return taken


@kernel
def _list_kind(desk, n, kind, first, suit, wild, price):
    """Adds a sequence to the list of those that the hand on the desk allows."""
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
    """The word of the groups."""
    shift = np.uint64(4 * level)
    here = (count >> shift) & np.uint64(15)
    return (count ^ (here << shift)) | here << np.uint64(4 * LEVEL_VALUE) | jokers


@kernel
def carried_pairs(word, price):
    """How many pairs it pays to let triples carry, and what that saves. The weakest triples carry the weakest pairs."""
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
    """Price of what no sequence has taken."""
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
    """1 at the value that a wild card may join: the weakest single, pair or triple, a bomb, or the level's cards; 0
    where there is no such group."""
    if choice == 4:
        return _LEVEL
    mask = at_least(word, choice + 1)
    if choice < 3:
        mask ^= at_least(word, choice + 2)
    mask = (mask >> np.uint64(3)) & (_LEVEL | _LEVEL - _ONE)
    return mask & (~mask + _ONE)


@kernel
def _leaf(desk, word, wild, price, bound, spare):
    """Price of all groups with the wild cards left over in their best places, which go into `desk.to`.

    Nothing is tried where even `spare`, the most that each of them can save, would not bring the price below `bound`.
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
    """No card that joins a group, or is one of its own, saves more."""
    one = two = three = 0.0
    least = min(0.0, price[LEVEL_VALUE, 1])
    for value in range(14):
        one, two, three = max(one, price[value, 1]), max(two, price[value, 2]), max(three, price[value, 3])
        for column in (2, 3, 4, 10, FULL_HOUSES):
            least = min(least, price[value, column])
    return max(one + two, 2 * two, three) - least


@kernel
def _keep(desk, depth):
    """The sequences taken now are the best ones."""
    desk.best[0] = depth
    desk.best_to[0], desk.best_to[1] = desk.to[0], desk.to[1]
    for i in range(depth):
        desk.best[1 + i] = desk.steps[i, 0]


@kernel
def split(desk, low, high, level, price):
    """The cheapest split of a hand, kept on the desk.

    Args:
        desk: See `new_desk`.
        low, high: The hand.
        level: Rank of the round's level.
        price: Of each play, see `PRICES`.

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
        used, taken = np.int64(0), _ZERO
        while item < items:
            flush, each = desk.items[item, 0] == STRAIGHT_FLUSH, desk.items[item, 3]
            taken = taken_of(desk.suits[desk.items[item, 2]] if flush else count, desk.window[item], each)
            used = (5 if each == 1 else 6) - total_of(taken)
            if used <= wild:
                break
            item += 1
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
        if depth == 0:
            return best
        depth -= 1
        item = desk.steps[depth, 0]
        count = desk.words[depth, 0]
        desk.suits[desk.items[item, 2]] = desk.words[depth, 1]
        wild += desk.steps[depth, 1]
        cost -= desk.value[item]
        item += 1
