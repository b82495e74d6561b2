"""How strong a play is against the cards that a seat has not seen, and so what it costs to have it in the hand.

A seat knows which cards are unseen and how many of them each other seat holds. Were they dealt at random, a seat with
the share f of them held k or more of u cards with a binomial probability. `h`, the expected number of better plays of
one kind in the hands of both opponents, makes exp(-willing * h) the chance that nobody beats a play.
"""

from typing import NamedTuple

import numpy as np

from envs.compiled import kernel
from envs.guandan.cards import DECK_HIGH, DECK_LOW, JOKER_RANK, LEVEL_VALUE, byte_of, count_of
from envs.guandan.comparison import rank_at
from envs.guandan.splits import FLUSHES, FULL_HOUSES, PLATES, STRAIGHTS, TUBES
from envs.guandan.state import SEATS

_MOST = 8  # equal cards


class Strengths(NamedTuple):
    """How willing opponents are to beat plays of a kind, and what plays cost.

    Attributes:
        singles, pairs, triples, full_houses, straights, tubes, plates, bombs: See the module: how much a better play in
            the opponents' hands counts against one of the kind.
        risk: The same for a bomb against anything else.
        flush: Expected number of straight flushes in a full hand.
        turns: A play costs 1 - turns * chance that nobody beats it.
        bomb: What a bomb costs less than that, for it may be played upon anything.
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
    """The cards in the other hands as a multiset: those of two decks that are neither held nor played."""
    low, high = DECK_LOW - state.low[me], DECK_HIGH - state.high[me]
    for seat in range(SEATS):
        low -= state.played_low[seat]
        high -= state.played_high[seat]
    return low, high


@kernel
def _sizes(byte):
    total = np.int64(0)
    for suit in range(4):
        total += np.int64((byte >> np.uint64(2 * suit)) & np.uint64(3))
    return total


@kernel
def count_unseen(low, high, level, count):
    """Unseen cards by rank 0 .. 12 without wild ones, and by value 16 + 0 .. 15 with them, into `count [32]`."""
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
    """Chance that a seat with `left` of `total` cards holds k or more of u of them, into `tail[k, u]`."""
    f = left / total if total > 0 else 0.0
    for u in range(_MOST + 1):
        chance = (1.0 - f) ** u  # of none
        above = 1.0
        for k in range(_MOST + 1):
            tail[k, u] = above if k <= left and k <= u else 0.0
            above = max(above - chance, 0.0)
            chance = chance * f * (u - k) / ((k + 1) * (1.0 - f)) if f < 1.0 else 1.0 * (u == k + 1)


@kernel
def _add_opponent(count, tail, weight, better):
    """Adds to `better[value, column]` what an opponent is expected to hold of exactly that strength."""
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
def judge(state, me, strengths, count, tail, win, price):
    """Tables of what plays are worth to a seat, by value and column as in `splits.PRICES`.

    Args:
        state: A table.
        me: The seat.
        strengths: See `Strengths`.
        count: Scratch, into which go the unseen cards, see `count_unseen`.
        tail: Scratch, `float64[9, 9]`.
        win: Chances that neither opponent beats a play, `float64[16, 16]`.
        price: Prices, `float64[16, 16]`.
    """
    level = np.int64(state.level)
    low, high = unseen_cards(state, me)
    count_unseen(low, high, level, count)
    total = np.int64(0)
    for seat in range(SEATS):
        total += state.left[seat] if seat != me else 0
    win[:] = 0.0
    for other in (1, 3):
        left = np.int64(state.left[(me + other) % SEATS])
        if left > 0:
            _tails(left, total, tail)
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
    """From the expected numbers of plays of each strength to the chances that nobody beats one."""
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
