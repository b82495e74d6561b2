"""The inputs of a net that judges the other three hands: all that their seats have shown, and nothing hidden.

All inputs are small integers. Of each other seat, in turn:

    which                  3   one-hot: next, partner, previous
    cards left            29   one-hot
    uses              15 * 6   bits by place (no wild cards) and use, see `rules.shown`
    cards played          16   by place
    passed on        12 * 16   by class, whether its partner held the trick, and value: passed on it or on a lower one
    passes                12   by class and whether its partner held the trick, at most 15
    leads                  6   by class, at most 15
    known cards           16   see `knowledge`
    at most               16   by place: may hold one that is not known
    gave back             16   one-hot by place, as the receiver of a tribute

Of the table:

    unseen cards      16 * 8   thermometers by place
    own cards left        29   one-hot
    move to beat     13 + 16   one-hot: kind, PASS if the mover leads, and value
    who played it          4   one-hot: the player, next, partner, previous; zeros if the mover leads
    who is to move         4
"""

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.game import States
from envs.guandan.beliefs.knowledge import (
    MOST,
    OTHERS,
    PLACES,
    Knowledge,
    count_places,
    learn,
    new_knowledge,
    place_of_card,
)
from envs.guandan.inputs.ranks import KINDS, VALUES, place_of
from envs.guandan.rules.cards import PASS
from envs.guandan.rules.comparison import value_of
from envs.guandan.rules.shown import CLASSES, LEADS, PASSED, PASSES, RANKS, USES
from envs.guandan.rules.state import GIVE_BACK, PLAY, SEATS

LEFT = 29
SEAT_INPUTS = OTHERS + LEFT + RANKS * USES + PLACES + 2 * CLASSES * VALUES + 3 * CLASSES + 3 * PLACES
TABLE_INPUTS = PLACES * MOST + LEFT + KINDS + VALUES + 2 * SEATS
_MANY = 15


def observe(states: States, players: NDArray[np.integer]) -> tuple[NDArray[np.uint8], NDArray[np.uint8], Knowledge]:
    """The inputs of seats, `uint8[B, 3, SEAT_INPUTS]`, and of tables, `uint8[B, TABLE_INPUTS]`, and the knowledge.

    Args:
        states: Tables, `[B]` records.
        players: The seat that sees each of them, `[B]`.
    """
    seats, known = np.ascontiguousarray(players, np.int64), new_knowledge(len(states))
    learn(states, seats, known)
    by_seat = np.zeros((len(states), OTHERS, SEAT_INPUTS), np.uint8)
    by_table = np.zeros((len(states), TABLE_INPUTS), np.uint8)
    write_evidence(states, seats, known, by_seat, by_table)
    return by_seat, by_table, known


@kernel
def write_evidence(states, players, knowledge, by_seat, by_table):
    """Writes the inputs of `players`, `int64[B]`, into arrays of zeros; see `observe`."""
    counts = np.zeros(PLACES, np.uint8)
    for b in range(states.shape[0]):
        state, me = states[b], players[b]
        for other in range(OTHERS):
            _write_seat(state, me, other, knowledge, b, counts, by_seat[b, other])
        _write_table(state, me, knowledge, b, by_table[b])


@kernel
def _write_seat(state, me, other, knowledge, b, counts, x):
    seat, level = (me + 1 + other) % SEATS, np.int64(state.level)
    shown = state.shown[seat]
    x[other] = 1
    n = OTHERS
    x[n + min(state.left[seat], LEFT - 1)] = 1
    n += LEFT
    for rank in range(RANKS):
        at = n + USES * (place_of(rank, level) if rank < 13 else rank)
        for use in range(USES):
            x[at + use] = shown[rank] >> use & 1
    n += RANKS * USES
    count_places(state.played_low[seat], state.played_high[seat], level, counts)
    x[n : n + PLACES] = counts
    n += PLACES
    for of in range(2 * CLASSES):
        lowest = np.int64(shown[PASSED + of])
        if lowest > 0:
            x[n + lowest - 1 : n + VALUES] = 1
        n += VALUES
    for i in range(3 * CLASSES):
        x[n + i] = min(_MANY, shown[(PASSES if i < 2 * CLASSES else LEADS - 2 * CLASSES) + i])
    n += 3 * CLASSES
    for place in range(PLACES):
        held = knowledge.known[b, other, place]
        x[n + place] = held
        x[n + PLACES + place] = knowledge.most[b, other, place] > held
    n += 2 * PLACES
    for i in range(np.int64(state.tributes)):
        done = state.phase == PLAY or (state.phase == GIVE_BACK and state.settled > i)
        if done and state.receiver[i] == seat:
            x[n + place_of_card(np.int64(state.back[i]), level)] = 1


@kernel
def _write_table(state, me, knowledge, b, x):
    n = 0
    for place in range(PLACES):
        unseen = np.int64(knowledge.free[b, place])
        for other in range(OTHERS):
            unseen += knowledge.known[b, other, place]
        x[n : n + unseen] = 1
        n += MOST
    x[n + min(state.left[me], LEFT - 1)] = 1
    n += LEFT
    kind = np.int64(state.beat_kind)
    x[n + kind] = 1
    n += KINDS
    if kind != PASS:
        x[n + value_of(kind, np.int64(state.beat_rank), np.int64(state.level))] = 1
        x[n + VALUES + (state.holder - me + SEATS) % SEATS] = 1
    n += VALUES + SEATS
    if state.to_move >= 0:
        x[n + (state.to_move - me + SEATS) % SEATS] = 1


__all__ = ["SEAT_INPUTS", "TABLE_INPUTS", "observe", "write_evidence"]
