"""Prices of plays: how strong a play is against the cards that a seat has not seen.

A seat knows the unseen cards and how many of them each other seat holds. If they were dealt at random, a seat with the
share f of them would hold k or more of u given cards with a binomial probability. With `h`, the expected number of
better plays of a kind in the hands of both opponents, the chance that no player beats a play is modelled as
exp(-willing * h), where `willing` is a weight of the kind, see `Strengths`.
"""

from typing import NamedTuple

import numpy as np

from envs.compiled import kernel
from envs.guandan.inputs.splits import FLUSHES, FULL_HOUSES, PLATES, STRAIGHTS, TUBES
from envs.guandan.rules.cards import DECK_HIGH, DECK_LOW, JOKER_RANK, LEVEL_VALUE, byte_of, count_of
from envs.guandan.rules.comparison import rank_at
from envs.guandan.rules.state import SEATS

_MOST = 8  # largest number of equal natural cards


class Strengths(NamedTuple):
    """Weights of the prices.

    Attributes:
        singles, pairs, triples, full_houses, straights, tubes, plates, bombs: Willingness of the opponents to beat a
            play of this kind with a better one, see the module.
        risk: Willingness to bomb any other play.
        flush: Expected number of straight flushes in a full hand.
        turns: A play costs 1 - turns * chance that no player beats it.
        bomb: Discount of a bomb, which beats plays of all kinds.
    """

    singles: float = 0.75
    pairs: float = 0.8
    triples: float = 0.8
    full_houses: float = 0.6
    straights: float = 0.21
    tubes: float = 0.3
    plates: float = 0.3
    bombs: float = 0.3
    risk: float = 0.05
    flush: float = 0.15
    turns: float = 1.25
    bomb: float = 0.5


@kernel
def unseen_cards(state, me):
    """Returns the cards in the other hands as a multiset: two decks without the seat's hand and the cards played."""
    low, high = DECK_LOW - state.low[me], DECK_HIGH - state.high[me]
    for seat in range(SEATS):
        low -= state.played_low[seat]
        high -= state.played_high[seat]
    return low, high


@kernel
def _sizes(byte):
    """Counts the cards in the byte of a rank."""
    total = np.int64(0)
    for suit in range(4):
        total += np.int64((byte >> np.uint64(2 * suit)) & np.uint64(3))
    return total


@kernel
def count_unseen(low, high, level, count):
    """Counts unseen cards into `count`, `int64[32]`: by rank 0 .. 12 without wild cards, by 16 + value with them."""
    count[:] = 0
    for rank in range(13):
        size = _sizes(byte_of(low, high, rank))
        wild = count_of(low, high, 4 * level) if rank == level else 0
        count[rank] = size - wild
        count[16 + (LEVEL_VALUE if rank == level else rank)] = size
    jokers = np.int64(byte_of(low, high, JOKER_RANK))
    count[30], count[31] = jokers & 3, jokers >> 2


@kernel
def _tails(left, total, tail):
    """Writes the chance that a seat with `left` of `total` cards holds k or more of u of them into `tail[k, u]`."""
    f = left / total if total > 0 else 0.0
    for u in range(_MOST + 1):
        chance = (1.0 - f) ** u  # of holding exactly k
        above = 1.0
        for k in range(_MOST + 1):
            tail[k, u] = above if k <= left and k <= u else 0.0
            above = max(above - chance, 0.0)
            chance = chance * f * (u - k) / ((k + 1) * (1.0 - f)) if f < 1.0 else 1.0 * (u == k + 1)


@kernel
def _add_opponent(count, tail, weight, better):
    """Adds the plays of exactly each strength that an opponent is expected to hold to `better[value, column]`."""
    for value in range(16):
        u = min(count[16 + value], _MOST)
        for size in range(1, 8):
            better[value, size] += tail[size, u]
        better[value, FULL_HOUSES] += 0.9 * tail[3, u] if value <= LEVEL_VALUE else 0.0
    for first in range(13):
        straight = tube = plate = 1.0
        for i in range(5):
            u = count[rank_at(first + i)]
            straight *= tail[1, u]
            tube *= tail[2, u] if i < 3 else 1.0
            plate *= tail[3, u] if i < 2 else 1.0
        better[first, STRAIGHTS] += straight if first < 10 else 0.0
        better[first, TUBES] += tube if first < 12 else 0.0
        better[first, PLATES] += plate
    better[9, FLUSHES] += weight


@kernel
def judge(level, low, high, next_left, previous_left, unseen, strengths, count, tail, win, price):
    """Writes the chances and prices of plays for a seat, by value and column as in `splits.PRICES`.

    Args:
        level: Rank of the round's level.
        low, high: The cards in other hands, a multiset.
        next_left, previous_left: Numbers of cards of the opponents.
        unseen: Number of cards in other hands.
        strengths: See `Strengths`.
        count: Unseen cards, `int64[32]`, see `count_unseen`; written.
        tail: Scratch, `float64[9, 9]`.
        win: Chances that neither opponent beats a play, `float64[16, 16]`; written.
        price: Prices, `float64[16, 16]`; written.
    """
    count_unseen(low, high, level, count)
    win[:] = 0.0
    for left in (next_left, previous_left):
        if left > 0:
            _tails(left, unseen, tail)
            _add_opponent(count, tail, strengths.flush * left / 27 if left >= 5 else 0.0, win)
    _sum_above(win, strengths)
    for value in range(16):
        price[value, 0] = 0.0
        for column in range(1, 16):
            bomb = 4 <= column <= 10 or column == FLUSHES
            price[value, column] = 1.0 - strengths.turns * win[value, column] - (strengths.bomb if bomb else 0.0)


@kernel
def _willing(column, strengths):
    if column == 1:
        return strengths.singles
    if column == 2:
        return strengths.pairs
    if column == 3:
        return strengths.triples
    if column == FULL_HOUSES:
        return strengths.full_houses
    if column == STRAIGHTS:
        return strengths.straights
    if column == TUBES:
        return strengths.tubes
    if column == PLATES:
        return strengths.plates
    return strengths.bombs


@kernel
def _sum_above(win, strengths):
    """Converts expected numbers of plays of each strength to the chances that no player beats one, in place."""
    flushes = win[9, FLUSHES]
    whole = np.zeros(12)
    for size in range(4, 11):
        for value in range(14):
            whole[size] += win[value, size]
    bombs = whole[4] + flushes
    for column in range(1, 16):
        willing = _willing(column, strengths)
        if column == FLUSHES:
            over = whole[6] + 0.5 * flushes
        elif 4 <= column <= 10:
            over = whole[column + 1] + (flushes if column <= 5 else 0.0)
        else:
            over = 0.0
        risk = 0.0 if 4 <= column <= 10 or column == FLUSHES else strengths.risk * bombs
        above = 0.0
        for value in range(15, -1, -1):
            here = win[value, column] if column != FLUSHES else 0.0
            win[value, column] = np.exp(-willing * (above + over) - risk)
            above += here
    win[14, 4] = 1.0
