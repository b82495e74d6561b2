"""Legal tributes, and legal cards to give back for them."""

import numpy as np

from envs.compiled import kernel
from envs.guandan.rules.cards import BACK, TRIBUTE, card_words, count_of, emit
from envs.guandan.rules.comparison import card_value, rank_of


@kernel
def may_pay(low, high, level, index):
    """Returns whether a hand may pay a card: the highest of its cards that are not wild."""
    best = np.int64(-1)
    for other in range(54):
        if other != 4 * level and count_of(low, high, other) > 0:
            best = max(best, card_value(other, level))
    return index != 4 * level and count_of(low, high, index) > 0 and card_value(index, level) == best


@kernel
def may_give_back(low, high, level, index):
    """Returns whether a hand may give back a card: one of rank 10 or less, except wild cards and those of the level.

    A hand without such cards gives back one of the lowest that are not wild.
    """
    if count_of(low, high, index) == 0 or index == 4 * level:
        return False
    lowest, low_cards = np.int64(99), False
    for other in range(54):
        if other != 4 * level and count_of(low, high, other) > 0:
            lowest = min(lowest, card_value(other, level))
            low_cards = low_cards or (other < 36 and rank_of(other) != level)
    if low_cards:
        return index < 36 and rank_of(index) != level
    return card_value(index, level) == lowest


@kernel
def tributes(low, high, level, rows, n):
    """Writes the legal tributes of a hand as action records from row n on; returns the row after the last."""
    for index in range(54):
        if may_pay(low, high, level, index):
            n = _emit_card(rows, n, index, TRIBUTE)
    return n


@kernel
def returns(low, high, level, rows, n):
    """Writes the legal cards to give back from row n on; returns the row after the last."""
    for index in range(54):
        if may_give_back(low, high, level, index):
            n = _emit_card(rows, n, index, BACK)
    return n


@kernel
def _emit_card(rows, n, index, kind):
    low, high = card_words(index)
    return emit(rows, n, low, high, kind, rank_of(index), 1)
