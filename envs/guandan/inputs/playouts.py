"""Play-outs of a round of GuanDan in which every hand is played by fixed groups of cards.

A hand is split once into plays (`splits`, `layout`), its *groups*; a seat then leads or beats with whole groups only.
This takes a few microseconds a round, because nothing is generated, and shows how well hands go together.

    lead     the group of the lowest value, less a bonus for each card of it; bombs last
    follow   the weakest group of the same kind and size that beats the move; of the partner's moves only low ones
    bomb     with the weakest bomb that beats an opponent's move, if that seat or this one is close to going out

A group is a row of `int16[5]`: kind, value, size, class of the bomb or -1, whether it has been played.
"""

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.game import States
from envs.guandan.inputs.layout import MOST_PLAYS, write_split
from envs.guandan.inputs.splits import new_desk, split
from envs.guandan.inputs.tribute import USUAL_PRICES
from envs.guandan.rules.cards import PASS, SINGLE, action_dtype
from envs.guandan.rules.comparison import NOT_A_BOMB, bomb_class, value_of
from envs.guandan.rules.state import PLAY, SEATS

KIND, VALUE, SIZE, BOMB_CLASS, PLAYED = range(5)
FIELDS = 5
_PER_CARD = 1.3  # value that a card more makes up for, when leading
_CHEAP = 8  # highest value of a group that beats the partner's move
_NEAR, _FEW_GROUPS = 11, 3  # cards of the holder, or own groups, at or below which bombs are played


@kernel
def group_hand(desk, low, high, level, price, plan, groups):
    """Splits a hand into groups, `int16[28, 5]`; returns their number."""
    split(desk, low, high, level, price)
    n = write_split(desk, low, high, level, price, plan)
    for i in range(n):
        row = plan[i]
        kind, size = np.int64(row.kind), np.int64(row.size)
        groups[i, KIND], groups[i, SIZE] = kind, size
        groups[i, VALUE] = value_of(kind, np.int64(row.rank), level)
        groups[i, BOMB_CLASS] = bomb_class(kind, size)
        groups[i, PLAYED] = 0
    return n


@kernel
def _lead(groups, exposed):
    """Returns the group that a leader plays; singles come late if the next seat would go out upon one."""
    best, least = -1, 1e9
    for i in range(MOST_PLAYS):
        if groups[i, PLAYED]:
            continue
        score = groups[i, VALUE] - _PER_CARD * groups[i, SIZE]
        if groups[i, BOMB_CLASS] != NOT_A_BOMB:
            score += 100.0 + 10.0 * groups[i, BOMB_CLASS]
        elif exposed and groups[i, KIND] == SINGLE:
            score += 50.0 - 2.0 * groups[i, VALUE]
        if score < least:
            best, least = i, score
    return best


@kernel
def _beat(groups, kind, value, size, strength, highest):
    """Returns the weakest group that beats a move without a bomb and has at most a value, or -1."""
    best = -1
    if strength != NOT_A_BOMB:
        return best
    for i in range(MOST_PLAYS):
        group = groups[i]
        fits = not group[PLAYED] and group[KIND] == kind and group[SIZE] == size and value < group[VALUE] <= highest
        if fits and (best < 0 or group[VALUE] < groups[best, VALUE]):
            best = i
    return best


@kernel
def _bomb(groups, value, strength):
    """Returns the weakest bomb that beats a move, or -1."""
    best = -1
    for i in range(MOST_PLAYS):
        group = groups[i]
        if group[PLAYED] or group[BOMB_CLASS] == NOT_A_BOMB:
            continue
        if group[BOMB_CLASS] > strength or (group[BOMB_CLASS] == strength and group[VALUE] > value):
            order = 16 * group[BOMB_CLASS] + group[VALUE]
            if best < 0 or order < 16 * groups[best, BOMB_CLASS] + groups[best, VALUE]:
                best = i
    return best


@kernel
def next_mover(mover, holder, passes, left, out, beat):
    """Returns who moves next, and the passes; after all others have passed, the holder leads, or else its partner."""
    still_in = left[holder] > 0
    if passes >= SEATS - out - (1 if still_in else 0):
        beat[0] = 0
        return np.int64(holder if still_in else (holder + 2) % SEATS), np.int64(0)
    mover = (mover + 1) % SEATS
    while left[mover] == 0:
        mover = (mover + 1) % SEATS
    return np.int64(mover), np.int64(passes)


@kernel
def play_out(groups, counts, left, mover, holder, passes, beat, order, out):
    """Plays a round to its end; the arguments are those of the position, and change.

    Args:
        groups: `int16[4, 28, 5]`; rows that are not groups count as played.
        counts: Numbers of groups that are left, `int64[4]`.
        left: Numbers of cards, `int64[4]`.
        mover: Seat to move.
        holder: Seat that played the move to beat.
        passes: Passes since that move.
        beat: Kind, value, size and class of a bomb of the move to beat, `int64[4]`; kind 0 if the mover leads.
        order: Seats in the order of going out, `int64[4]`.
        out: Number of seats that are out.

    Returns:
        The points of team 0: 3, 2, 1 or their negatives.
    """
    while True:
        hand = groups[mover]
        chosen = -1
        if beat[0] == PASS:
            following = (mover + 1) % SEATS
            chosen = _lead(hand, left[following] == 1)
        elif holder == (mover + 2) % SEATS:
            low = beat[1] < _CHEAP and beat[2] < 5 and left[holder] > 4
            if low:
                chosen = _beat(hand, beat[0], beat[1], beat[2], beat[3], _CHEAP + 2)
        else:
            chosen = _beat(hand, beat[0], beat[1], beat[2], beat[3], 99)
            if chosen < 0 and (left[holder] <= _NEAR or counts[mover] <= _FEW_GROUPS or beat[2] >= 5):
                chosen = _bomb(hand, beat[1], beat[3])
        if chosen < 0:
            passes += 1
        else:
            group = hand[chosen]
            group[PLAYED] = 1
            beat[0], beat[1], beat[2], beat[3] = group[KIND], group[VALUE], group[SIZE], group[BOMB_CLASS]
            left[mover] -= group[SIZE]
            counts[mover] -= 1
            holder, passes = mover, 0
            if left[mover] == 0:
                order[out] = mover
                out += 1
                if left[(mover + 2) % SEATS] == 0:
                    break
        mover, passes = next_mover(mover, holder, passes, left, out, beat)
    for seat in range(SEATS):
        if left[seat] > 0 and out < SEATS:
            order[out] = seat
            out += 1
    place = 1
    while (order[place] + order[0]) % 2 != 0:
        place += 1
    points = 4 - place
    return points if order[0] % 2 == 0 else -points


@kernel
def _play_out_all(states, price, rows, points):
    """Writes the points of team 0 at the ends of rounds, `float32[B]`."""
    desk, beat = new_desk(), np.zeros(4, np.int64)
    groups = np.zeros((SEATS, MOST_PLAYS, FIELDS), np.int16)
    counts, left, order = np.zeros(SEATS, np.int64), np.zeros(SEATS, np.int64), np.zeros(SEATS, np.int64)
    for b in range(states.shape[0]):
        state = states[b]
        if state.phase != PLAY:
            points[b] = np.nan
            continue
        level = np.int64(state.level)
        groups[:, :, PLAYED] = 1
        for seat in range(SEATS):
            left[seat], order[seat], counts[seat] = state.left[seat], state.order[seat], 0
            if left[seat] > 0:
                counts[seat] = group_hand(desk, state.low[seat], state.high[seat], level, price, rows, groups[seat])
        kind, rank, size = np.int64(state.beat_kind), np.int64(state.beat_rank), np.int64(state.beat_size)
        beat[0], beat[1], beat[2], beat[3] = kind, value_of(kind, rank, level), size, bomb_class(kind, size)
        mover, holder, passes = np.int64(state.to_move), np.int64(state.holder), np.int64(state.passes)
        points[b] = play_out(groups, counts, left, mover, holder, passes, beat, order, np.int64(state.out))


def points_by_groups(states: States) -> NDArray[np.float32]:
    """Plays rounds out from their positions, `[B]` records, by groups of the usual prices.

    Returns:
        The points of team 0, `float32[B]`; NaN for a round in which cards of tribute are still to be given.
    """
    points = np.empty(len(states), np.float32)
    _play_out_all(states, USUAL_PRICES, np.empty(MOST_PLAYS, action_dtype), points)
    return points
