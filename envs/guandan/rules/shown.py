"""The plays and passes of each seat in a round, summed up in bytes of the state that each move updates.

All of it is public. The bytes of a seat are:

    uses       15   by rank, 13 and 14 for the jokers: bits for the plays that its cards were part of, see below
    passed     12   by class and whether the partner held the trick: lowest value passed on, plus 1; 0 if none was
    passes     12   by the same: number of passes
    leads       6   by class: number of leads

Bits of `uses`: 0, 1, 2: as a single, a pair, a triple, the parts of a full house included; 3: in a run; 4: in a bomb;
5: with a wild card. The classes are single, pair, triple, full house, run (straights, tubes and plates) and bomb, with
straight flushes. A value is `comparison.value_of`, or of a bomb its `bomb_class`.
"""

import numpy as np

from envs.compiled import kernel
from envs.guandan.rules.cards import (
    BOMB,
    FOUR_KINGS,
    PAIR,
    PASS,
    SINGLE,
    STRAIGHT_FLUSH,
    THREE_WITH_TWO,
    TRIPS,
    count_of,
)
from envs.guandan.rules.comparison import bomb_class, value_of

CLASSES, RANKS, USES = 6, 15, 6
SINGLES, PAIRS, TRIPLES, FULL_HOUSES, RUNS, BOMBS = range(CLASSES)
PASSED = RANKS
PASSES = PASSED + 2 * CLASSES
LEADS = PASSES + 2 * CLASSES
BYTES = LEADS + CLASSES
_WITH_WILD = 1 << 5


@kernel
def class_of(kind):
    """Returns the class of a play's kind."""
    if kind == SINGLE:
        return SINGLES
    if kind == PAIR:
        return PAIRS
    if kind == TRIPS:
        return TRIPLES
    if kind == THREE_WITH_TWO:
        return FULL_HOUSES
    return BOMBS if kind in (BOMB, FOUR_KINGS, STRAIGHT_FLUSH) else RUNS


@kernel
def _value(kind, rank, size, level):
    return bomb_class(kind, size) if class_of(kind) == BOMBS else value_of(kind, rank, level)


@kernel
def note(state, seat, action):
    """Notes a play or a pass of a seat in the state, before the table takes it in."""
    row, level = state.shown[seat], np.int64(state.level)
    if action.kind == PASS:
        kind = np.int64(state.beat_kind)
        if kind == PASS:  # in the view of a client that has missed a play
            return
        at = 2 * class_of(kind) + (1 if state.holder == (seat + 2) % 4 else 0)
        value = _value(kind, np.int64(state.beat_rank), np.int64(state.beat_size), level) + 1
        if row[PASSED + at] == 0 or value < row[PASSED + at]:
            row[PASSED + at] = value
        row[PASSES + at] = min(255, row[PASSES + at] + 1)
        return
    kind = np.int64(action.kind)
    of = class_of(kind)
    if state.beat_kind == PASS:
        row[LEADS + of] = min(255, row[LEADS + of] + 1)
    wild = count_of(action.low, action.high, 4 * level)
    with_wild = _WITH_WILD if wild > 0 else 0
    for rank in range(RANKS):
        held = np.int64(0)
        if rank > 12:
            held = count_of(action.low, action.high, 39 + rank)
        else:
            for suit in range(4):
                held += count_of(action.low, action.high, 4 * rank + suit)
            held -= wild if rank == level else 0
        if held > 0:
            use = of
            if of == FULL_HOUSES:
                use = TRIPLES if rank == action.rank else PAIRS
            elif of >= RUNS:
                use = of - 1  # the bits have no full house
            row[rank] |= np.uint8(1 << use | with_wild)


__all__ = ["BYTES", "CLASSES", "LEADS", "PASSED", "PASSES", "RANKS", "USES", "class_of", "note"]
