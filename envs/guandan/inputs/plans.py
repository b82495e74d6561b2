"""Inputs about plans for networks of GuanDan: the groups of a hand, and the players who can still beat them.

They follow the inputs by rank (`ranks`). A *price* is that of the cheapest split of a hand into plays (`splits`), with
a price for each play by how likely it is beaten (`prospects`): about the number of times that the hand needs the lead.
A price enters as a number and as ramps that rise from 0 to 1 between k and k + 1, for k = -2 .. 6.

    price of the hand                    10
    chance that the move to beat holds    1   against both opponents of the mover; 0 if the mover leads

Of an action, given the infostate of its player:

    price of the hand after it           10
    what it costs beyond the split        2   price after it, plus its own, less that of the hand; two ramps
    chance that it holds                  3   against both opponents; of a pass: that the move to beat holds
    chances that a player goes out on it  3   next, partner, previous

Chances are estimates from the unseen cards and the number of cards of each seat, of which an infostate tells 27 at
most: a seat that has yet to give a card back may hold 28. Of tributes, only the price of the hand after them is given.
"""

import numpy as np

from envs.compiled import kernel
from envs.guandan.inputs.observation import BEAT, CARD_BYTES, HAND, LEFT, LEVELS, OTHERS, PHASE, WILD
from envs.guandan.inputs.prospects import Strengths, judge
from envs.guandan.inputs.splits import FLUSHES, new_desk, split
from envs.guandan.inputs.weighing import goes_out, new_view, place_in
from envs.guandan.rules.cards import BACK, PASS, TRIBUTE

LOWEST, RAMPS = -2, 9
INPUTS = 1 + RAMPS + 1
ACTION_INPUTS = 1 + RAMPS + 2 + 3 + 3
SPARSE_INPUTS = 20
"""Inputs of an action that may be nonzero, rounded up to a multiple of 4."""

_UNIT = 4.0  # plays in one unit of a price as a number
_STRENGTHS = Strengths()


@kernel
def _words(row, at):
    """Returns the multiset that is packed at a place of an infostate."""
    low, high = np.uint64(0), np.uint64(0)
    for i in range(8):
        low |= np.uint64(row[at + i]) << np.uint64(8 * i)
    for i in range(CARD_BYTES - 8):
        high |= np.uint64(row[at + 8 + i]) << np.uint64(8 * i)
    return low, high


@kernel
def _size(row, at):
    """Counts the cards that are packed at a place of an infostate."""
    total = np.int64(0)
    for i in range(CARD_BYTES):
        b = np.int64(row[at + i])
        total += (b & 3) + (b >> 2 & 3) + (b >> 4 & 3) + (b >> 6 & 3)
    return total


@kernel
def _view_row(row, view):
    """Fills a view with an infostate's information about the unseen cards."""
    low, high = _words(row, OTHERS)
    next_left, partner_left, previous_left = np.int64(row[LEFT]), np.int64(row[LEFT + 1]), np.int64(row[LEFT + 2])
    unseen = next_left + partner_left + previous_left
    count, tail, win, price = view.counts, view.tail, view.win, view.price
    judge(np.int64(row[LEVELS + 2]), low, high, next_left, previous_left, unseen, _STRENGTHS, count, tail, win, price)


@kernel
def _place_to_beat(row):
    """Returns value and column of the move to beat in the tables of a view, and its number of cards."""
    kind, value, size = np.int64(row[PHASE]) >> 4, np.int64(row[WILD + 1]) >> 4, _size(row, BEAT)
    place = place_in(kind, np.int64(0), size, np.int64(row[LEVELS + 2]))
    return (place[0] if place[1] == 4 and place[0] == 14 else value), place[1], size


@kernel
def write_price(price, x, at):
    """Writes a price as a number and as ramps."""
    x[at] = price / _UNIT
    for i in range(RAMPS):
        x[at + 1 + i] = min(max(price - LOWEST - i, 0.0), 1.0)


@kernel
def _appraise_state(row, view, whole, x):
    """Writes the inputs of an infostate whose hand has the price `whole`."""
    write_price(whole, x, 0)
    x[1 + RAMPS] = 0
    if np.int64(row[PHASE]) >> 4 != PASS:
        value, column, _ = _place_to_beat(row)
        x[1 + RAMPS] = view.win[value, column]


@kernel
def appraise_states(packed, out):
    """Writes the inputs of infostates, `float32[B, INPUTS]`."""
    desk, view = new_desk(), new_view()
    for b in range(packed.shape[0]):
        row = packed[b]
        _view_row(row, view)
        low, high = _words(row, HAND)
        _appraise_state(row, view, split(desk, low, high, np.int64(row[LEVELS + 2]), view.price), out[b])


@kernel
def appraise(packed, offsets, actions, states, choices):
    """Writes the inputs of infostates and their actions.

    Args:
        packed: Infostates of the movers, `uint8[D, PACKED_SIZE]`.
        offsets: The actions of infostate d are ``offsets[d]`` to ``offsets[d + 1]`` - 1, `int64[D + 1]`.
        actions: Records of `cards.action_dtype`, `[N]`.
        states: Result, `float32[D, INPUTS]`.
        choices: Result, `float32[N, ACTION_INPUTS]`.
    """
    desk, view = new_desk(), new_view()
    for d in range(packed.shape[0]):
        row = packed[d]
        level = np.int64(row[LEVELS + 2])
        low, high = _words(row, HAND)
        _view_row(row, view)
        whole = split(desk, low, high, level, view.price)
        _appraise_state(row, view, whole, states[d])
        for n in range(offsets[d], offsets[d + 1]):
            action, x = actions[n], choices[n]
            x[:] = 0.0
            after = split(desk, low - action.low, high - action.high, level, view.price) if action.size > 0 else whole
            write_price(after, x, 0)
            if action.kind != TRIBUTE and action.kind != BACK:
                _describe(row, view, action, level, whole, after, x[1 + RAMPS :])


@kernel
def append_sparse(choices, first, start, place, value):
    """Appends the inputs of actions in sparse form.

    Args:
        choices: From `appraise`, `float32[N, ACTION_INPUTS]`.
        first: Index of the first input.
        start: First entry that is written in a row of `place` and `value`.
        place: Indices of inputs, `int16[N, start + SPARSE_INPUTS]`.
        value: Their values.
    """
    for n in range(choices.shape[0]):
        k = start
        for i in range(ACTION_INPUTS):
            if choices[n, i] != 0.0:
                place[n, k], value[n, k] = first + i, choices[n, i]
                k += 1
        place[n, k:] = 0
        value[n, k:] = 0


@kernel
def _describe(row, view, action, level, whole, after, x):
    """Writes the inputs of a play or a pass that follow the price of the hand after it."""
    if action.kind == PASS:
        if np.int64(row[PHASE]) >> 4 == PASS:
            return
        at, column, size = _place_to_beat(row)
    else:
        at, column = place_in(np.int64(action.kind), np.int64(action.rank), np.int64(action.size), level)
        size = np.int64(action.size)
        beyond = after + view.price[at, column] - whole
        x[0], x[1] = min(max(beyond, 0.0), 1.0), min(max(beyond - 1.0, 0.0), 1.0)
    win = view.win[at, column]
    x[2], x[3], x[4] = win, max(0.0, 2.0 * win - 1.0), max(0.0, 10.0 * win - 9.0)
    if not (4 <= column <= 10 or column == FLUSHES):  # no bomb
        for i in range(3):
            x[5 + i] = goes_out(view, np.int64(row[LEFT + i]), size, at, column)
