"""Scores of actions for the planner: the price of the rest of the hand, and the value of taking the lead."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.guandan.inputs.prospects import judge, unseen_cards
from envs.guandan.inputs.splits import PRICES, column_of
from envs.guandan.rules.cards import FOUR_KINGS, PASS
from envs.guandan.rules.comparison import NOT_A_BOMB, bomb_class, value_of
from envs.guandan.rules.state import SEATS


class Manners(NamedTuple):
    """Weights of the scores, in plays: 1 is the value of one play less in the hand.

    Attributes:
        lead: Value of the lead.
        close: Additional value of the lead, times the amount by which the price of the hand is below `near`.
        near: See `close`.
        urgency: Value of keeping an opponent from the lead, times 1 - (the opponent's cards) / `far`.
        far: Number of cards with which, or with more, a seat is not close to going out.
        partner: Value of the partner's lead.
        helping: Additional value of the partner's lead, times 1 - (the partner's cards) / `far`.
        rescue: Value of leaving an opponent's play to the partner, who moves after this seat, times the urgency.
        danger: Cost of an opponent going out upon the play, times its chance.
        feed: Value of the partner going out upon the play, times its chance.
        hold: Additional cost of a bomb while no opponent is close to going out.
    """

    lead: float = 0.42
    close: float = 0.4
    near: float = 1.6
    urgency: float = 1.5
    far: float = 13.5
    partner: float = 1.2
    helping: float = 1.0
    rescue: float = 0.3
    danger: float = 4.5
    feed: float = 2.0
    hold: float = 0.55


class View(NamedTuple):
    """The conclusions of a seat from its knowledge at a decision.

    Attributes:
        counts: Unseen cards, see `prospects.count_unseen`.
        tail: Scratch of `prospects.judge`.
        win: Chances that neither opponent beats a play, by value and column.
        price: Prices of plays, by value and column.
        facts: Urgency of stopping the opponents, `float64[1]`.
    """

    counts: NDArray[np.int64]
    tail: NDArray[np.float64]
    win: NDArray[np.float64]
    price: NDArray[np.float64]
    facts: NDArray[np.float64]


GOES_OUT = 1_000.0
URGENCY = 0
_KEPT = 0.45  # frequency with which the last two, or three, cards of a seat are a pair, or a triple
_KEPT_FIVE = 0.35


@kernel
def new_view():
    """Allocates a `View`."""
    return View(np.zeros(32, np.int64), np.zeros((9, 9)), np.zeros(PRICES), np.zeros(PRICES), np.zeros(1))


@kernel
def _closeness(left, far):
    """Returns how close a seat is to going out: 0 for `far` or more cards, towards 1 for few; 0 once it is out."""
    return max(0.0, 1.0 - left / far) if left > 0 else 0.0


@kernel
def look(view, state, me, strengths, manners):
    """Fills a view from the knowledge of a seat."""
    low, high = unseen_cards(state, me)
    level = np.int64(state.level)
    next_left, previous_left = np.int64(state.left[(me + 1) % SEATS]), np.int64(state.left[(me + 3) % SEATS])
    unseen = next_left + previous_left + np.int64(state.left[(me + 2) % SEATS])
    count, tail, win, price = view.counts, view.tail, view.win, view.price
    judge(level, low, high, next_left, previous_left, unseen, strengths, count, tail, win, price)
    closeness = _closeness(next_left, manners.far) + _closeness(previous_left, manners.far)
    view.facts[URGENCY] = manners.urgency * closeness


@kernel
def place_in(kind, rank, size, level):
    """Returns value and column of an action in the tables of a view."""
    if kind == FOUR_KINGS:
        return np.int64(14), np.int64(4)
    return value_of(kind, rank, level), np.int64(column_of(kind, size))


@kernel
def goes_out(view, left, size, value, column):
    """Returns the chance that a seat with `left` cards goes out by beating a play with one of the same kind.

    The play to beat is not a bomb.
    """
    if left != size:
        return 0.0
    if size > 3:
        return _KEPT_FIVE * (1.0 - view.win[value, column])
    above = every = 0.0
    for other in range(16):
        u = view.counts[16 + other]
        ways = 1.0 * u
        if size == 2:
            ways = u * (u - 1) / 2
        elif size == 3:
            ways = u * (u - 1) * (u - 2) / 6
        every += ways
        if other > value:
            above += ways
    if every == 0.0:
        return 0.0
    return above / every * (1.0 if size == 1 else _KEPT)


@kernel
def score_play(view, state, me, manners, action, after):
    """Scores an action that leaves a hand of the price `after`; the score does not increase with `after`."""
    size = np.int64(action.size)
    if size == state.left[me]:
        return GOES_OUT
    value, column = place_in(np.int64(action.kind), np.int64(action.rank), size, np.int64(state.level))
    urgency = view.facts[URGENCY]
    reach = manners.lead + manners.close * max(0.0, manners.near - after) + urgency
    score = reach * view.win[value, column] - after
    if bomb_class(np.int64(action.kind), size) != NOT_A_BOMB:
        return score - manners.hold * max(0.0, 1.0 - urgency)
    for other in (1, 3):
        left = np.int64(state.left[(me + other) % SEATS])
        score -= manners.danger * goes_out(view, left, size, value, column)
    if state.beat_kind == PASS:
        left = np.int64(state.left[(me + 2) % SEATS])
        score += manners.feed * goes_out(view, left, size, value, column)
    return score


@kernel
def score_pass(view, state, me, manners, price):
    """Scores a pass with a hand of a price."""
    partner, urgency = (me + 2) % SEATS, view.facts[URGENCY]
    if state.holder != partner:
        partner_follows = state.holder == (me + 3) % SEATS and state.left[partner] > 0
        return -price + (manners.rescue * urgency if partner_follows else 0.0)
    kind, size = np.int64(state.beat_kind), np.int64(state.beat_size)
    value, column = place_in(kind, np.int64(state.beat_rank), size, np.int64(state.level))
    left = np.int64(state.left[partner])
    if left == 0:  # the lead then passes to this seat
        reach = manners.lead + manners.close * max(0.0, manners.near - price)
    else:
        reach = manners.partner + manners.helping * _closeness(left, manners.far)
    score = (reach + urgency) * view.win[value, column] - price
    if bomb_class(kind, size) == NOT_A_BOMB:
        next_left = np.int64(state.left[(me + 1) % SEATS])
        score -= manners.danger * goes_out(view, next_left, size, value, column)
    return score
