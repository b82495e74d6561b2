"""A heuristic for tributes and for the cards given back, which DanZero does not learn either (paper 004, IV-B).

The heuristic gives the card whose loss leaves the cheapest hand, by the prices of `splits`. Among several highest cards
it therefore pays one that is not part of a straight flush; it gives back, to opponents and partners alike, usually the
lowest card outside of all combinations.
"""

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.game import Ragged, States
from envs.guandan.inputs.splits import FLUSHES, FULL_HOUSES, PLATES, PRICES, STRAIGHTS, TUBES, new_desk, split
from envs.guandan.rules.comparison import card_value
from envs.guandan.rules.state import GIVE_BACK, PAY, single_card

_TIE = 1e-9


def _usual_prices() -> NDArray[np.float64]:
    """Prices of plays before a round, when the other hands are unknown, `float64[16, 16]` (see `splits.PRICES`).

    A price is about the number of turns that the hand needs to play it. Bombs gain turns.
    """
    price = np.zeros(PRICES)
    strength = np.arange(16) / 15
    price[:, 1] = 1.1 - 1.6 * strength**3
    price[:, 2] = 1.0 - 1.3 * strength**3
    price[:, 3] = 0.9 - 1.2 * strength**2
    price[:, 4:11] = -0.6 - 0.1 * np.arange(7)
    price[:, STRAIGHTS] = 0.7 - 0.07 * np.arange(16)
    price[:, TUBES] = price[:, PLATES] = 0.4 - 0.05 * np.arange(16)
    price[:, FULL_HOUSES] = 0.8 - 1.2 * strength**2
    price[:, FLUSHES] = -0.8
    price[14, 4] = -1.5
    return price


USUAL_PRICES = _usual_prices()


@kernel
def best_loss(desk, low, high, level, rows, start, end, price):
    """Returns the row, start .. end - 1, whose card leaves the cheapest hand.

    Removing a card saves at most its price as a single, so cards that are cheaper than the best saving are skipped.
    """
    if end - start == 1:
        return start
    whole = split(desk, low, high, level, price)
    best, saved = start, -np.inf
    for i in range(start, end):
        value = card_value(single_card(rows[i].low, rows[i].high), level)
        if price[value, 1] <= saved + _TIE:
            continue
        gain = whole - split(desk, low - rows[i].low, high - rows[i].high, level, price)
        if gain > saved + _TIE:
            best, saved = i, gain
    return best


@kernel
def _choose(states, offsets, rows, price, chosen):
    desk = new_desk()
    for b in range(states.shape[0]):
        state = states[b]
        chosen[b] = -1
        if state.phase == PAY or state.phase == GIVE_BACK:
            low, high = state.low[state.to_move], state.high[state.to_move]
            level = np.int64(state.level)
            chosen[b] = best_loss(desk, low, high, level, rows, offsets[b], offsets[b + 1], price)


def tribute_choice(states: States, ragged: Ragged) -> NDArray[np.int64]:
    """Chooses the cards to pay and to give back.

    Args:
        states: Tables, `[B]` records.
        ragged: Their legal actions; the list of a table in a tribute phase must not be empty.

    Returns:
        The chosen rows of `ragged.rows`, `int64[B]`; -1 at tables outside of the tribute phases.
    """
    chosen = np.empty(len(states), np.int64)
    _choose(states, ragged.offsets, ragged.rows, USUAL_PRICES, chosen)
    return chosen


__all__ = ["USUAL_PRICES", "best_loss", "tribute_choice"]
