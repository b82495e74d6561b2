"""Inputs by rank for networks of GuanDan, in the order of the level; they follow those of the paper, see `observation`.

Small nets do not find out by themselves which of 54 cards belong together, nor that the level's cards come after the
aces. So cards are counted by *place*: the twelve ranks other than the level from low to high, then the level, without
its wild cards; and the two jokers. A count is a thermometer: 3 cards switch the inputs "at least 1", "at least 2" and
"at least 3" on.

    own hand                 13 * 6 + 2 * 2   thermometers
    cards in other hands     13 * 6 + 2 * 2
    move to beat             13 * 6 + 2 * 2
    kind of the move to beat             13   one-hot, PASS if the mover leads
    its value among moves of its kind    16   one-hot, see `comparison.value_of`
    who played it                         3   one-hot: next, partner, previous; zeros if the mover leads
    wild cards of the hand, of other hands, of the move to beat    3 * 2   thermometers
    phase                                 2   pays a tribute, gives a card back

Of an action, given the infostate of its player:

    kind                                 13   one-hot
    value                                16   one-hot
    number of cards                      11   one-hot, 0 .. 10
    wild cards                            2   thermometer
    goes out                              1
    what it takes from the hand          82   the thermometers of the hand that it switches off
"""

import numpy as np

from envs.compiled import kernel
from envs.guandan.inputs.observation import (
    BEAT,
    CARD_BYTES,
    HAND,
    LEVELS,
    OTHERS,
    PHASE,
    SPARSE_CARDS,
    WILD,
)
from envs.guandan.rules.cards import PASS, count_of, size_of
from envs.guandan.rules.comparison import value_of
from envs.guandan.rules.state import GIVE_BACK, PAY

KINDS, VALUES, SIZES = 13, 16, 11
MOST = 6
"""A thermometer of a rank ends at this number; there are eight cards of a rank, and bombs of more than six are rare."""
PLACES = 13 * MOST + 2 * 2
INPUTS = 3 * PLACES + KINDS + VALUES + 3 + 3 * 2 + 2
ACTION_INPUTS = KINDS + VALUES + SIZES + 2 + 1 + PLACES
SPARSE_INPUTS = SPARSE_CARDS + 16
"""Nonzero inputs of an action, the cards of the paper's vector included: kind, value, size, going out, at most 2 wild
cards, and at most 10 entries of the hand."""


@kernel
def place_of(rank, level):
    """Returns the place of a rank, 0 .. 12: the level is last."""
    if rank == level:
        return np.int64(12)
    return np.int64(rank) - 1 if rank > level else np.int64(rank)


@kernel
def _suits(byte):
    """Counts the cards of a byte of a packed multiset."""
    b = np.int64(byte)
    return (b & 3) + (b >> 2 & 3) + (b >> 4 & 3) + (b >> 6 & 3)


@kernel
def thermometers(row, at, level, x, n):
    """Writes the counts of a packed multiset by place; returns the number of its wild cards."""
    wild = np.int64(row[at + level]) & 3  # hearts of the level
    for rank in range(13):
        count = _suits(row[at + rank]) - (wild if rank == level else 0)
        first = n + MOST * place_of(rank, level)
        for i in range(MOST):
            x[first + i] = count > i
    jokers = np.int64(row[at + CARD_BYTES - 1])
    for joker in range(2):
        for i in range(2):
            x[n + 13 * MOST + 2 * joker + i] = (jokers >> (2 * joker) & 3) > i
    return wild


@kernel
def encode_into(packed, start, out):
    """Writes the inputs of infostates into ``out[:, start : start + INPUTS]``."""
    for b in range(packed.shape[0]):
        row, x = packed[b], out[b]
        level, n = np.int64(row[LEVELS + 2]), start
        x[n : n + INPUTS] = 0
        wild = start + 3 * PLACES + KINDS + VALUES + 3
        for at in (HAND, OTHERS, BEAT):
            count = thermometers(row, at, level, x, n)
            for i in range(2):
                x[wild + i] = count > i
            n += PLACES
            wild += 2
        kind, holder = np.int64(row[PHASE]) >> 4, np.int64(row[PHASE]) >> 2 & 3
        x[n + kind] = 1
        n += KINDS
        if kind != PASS:
            x[n + (np.int64(row[WILD + 1]) >> 4)] = 1
        n += VALUES
        if holder > 0:
            x[n + holder - 1] = 1
        phase = np.int64(row[PHASE]) & 3
        x[wild] = phase == PAY
        x[wild + 1] = phase == GIVE_BACK


@kernel
def encode_actions(packed, offsets, actions, first, place, value):
    """Appends the inputs of actions to their cards in sparse form.

    Args:
        packed: Infostates of the movers, `uint8[D, PACKED_SIZE]`.
        offsets: The actions of infostate d are ``offsets[d]`` to ``offsets[d + 1]`` - 1, `int64[D + 1]`.
        actions: Records of `cards.action_dtype`, `[N]`.
        first: Index of the first input.
        place: Indices of inputs; from `SPARSE_CARDS` on they are written here, `int16[N, SPARSE_INPUTS]`.
        value: Their values.
    """
    for d in range(packed.shape[0]):
        row = packed[d]
        level = np.int64(row[LEVELS + 2])
        left = np.int64(0)
        for rank in range(CARD_BYTES):
            left += _suits(row[HAND + rank])
        hand_wild = np.int64(row[HAND + level]) & 3
        for n in range(offsets[d], offsets[d + 1]):
            action = actions[n]
            low, high = action.low, action.high
            k, at = SPARSE_CARDS, first
            place[n, k] = at + action.kind
            at += KINDS
            place[n, k + 1] = at + value_of(np.int64(action.kind), np.int64(action.rank), level)
            at += VALUES
            size = size_of(low, high)
            place[n, k + 2] = at + min(size, SIZES - 1)
            at += SIZES
            k += 3
            wild = count_of(low, high, 4 * level)
            for i in range(wild):
                place[n, k] = at + i
                k += 1
            at += 2
            if size == left:
                place[n, k] = at
                k += 1
            at += 1
            for rank in range(13):
                used = _used(low, high, rank) - (wild if rank == level else 0)
                if used > 0:
                    held = _suits(row[HAND + rank]) - (hand_wild if rank == level else 0)
                    for i in range(held - used, min(held, MOST)):
                        place[n, k] = at + MOST * place_of(rank, level) + i
                        k += 1
            for joker in range(2):
                used, held = count_of(low, high, 52 + joker), np.int64(row[HAND + CARD_BYTES - 1]) >> (2 * joker) & 3
                for i in range(held - used, held):
                    place[n, k] = at + 13 * MOST + 2 * joker + i
                    k += 1
            value[n, SPARSE_CARDS:k] = 1
            place[n, k:] = 0
            value[n, k:] = 0


@kernel
def _used(low, high, rank):
    """Counts the cards of a rank in a multiset."""
    total = np.int64(0)
    for suit in range(4):
        total += count_of(low, high, 4 * rank + suit)
    return total
