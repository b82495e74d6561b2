"""Candidates: one of each set of plays of GuanDan that differ only in suits.

A hand with three threes and three fours has the same full houses of threes and fours in many suits; a decision of the
bot `planner` that leaves a choice has 72 plays on average, and 21 candidates. Suits matter only for straight flushes,
so the candidate is a play that spares those of the cheapest split of the hand (`splits`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.guandan.inputs.layout import MOST_PLAYS, write_split
from envs.guandan.inputs.prospects import Strengths
from envs.guandan.inputs.splits import new_desk, split
from envs.guandan.inputs.weighing import Manners, look, new_view
from envs.guandan.rules.cards import STRAIGHT_FLUSH, count_of, holds
from envs.guandan.rules.state import NOBODY, PLAY

MOST_CANDIDATES = 2_048
"""Upper bound on the candidates of a hand; random hands with two wild cards have up to a few hundred."""

_JOKERS = np.uint64(0xFF << 40)
_STRENGTHS, _MANNERS = Strengths(), Manners()


class Notes(NamedTuple):
    """Scratch of a decision.

    Attributes:
        free: The hand without the straight flushes of the plan, words of a multiset, `uint64[2]`.
        planned: Marks of the plays of the plan, see `mark`, `uint64[28, 3]`.
        marks: Marks of the candidates, and of one action more, `uint64[most + 1, 3]`.
        candidates: Rows of the candidates, `int64[most]`.
    """

    free: NDArray[np.uint64]
    planned: NDArray[np.uint64]
    marks: NDArray[np.uint64]
    candidates: NDArray[np.int64]


@kernel
def new_notes(most):
    """Allocates the scratch for at most this number of candidates."""
    return Notes(
        np.zeros(2, np.uint64),
        np.zeros((MOST_PLAYS, 3), np.uint64),
        np.zeros((most + 1, 3), np.uint64),
        np.zeros(most, np.int64),
    )


@kernel
def _by_rank(word):
    """Counts the cards of each rank in a word of a multiset; the counts are its bytes."""
    twos, fours = np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
    word = (word & twos) + ((word >> np.uint64(2)) & twos)
    return (word & fours) + ((word >> np.uint64(4)) & fours)


@kernel
def mark(marks, k, row, level):
    """Writes mark k: the features that an action shares with the actions that differ from it only in suits."""
    wild = count_of(row.low, row.high, 4 * level)
    marks[k, 0], marks[k, 1] = _by_rank(row.low), _by_rank(row.high & ~_JOKERS) | (row.high & _JOKERS)
    marks[k, 2] = np.uint64(np.int64(row.kind) << 16 | np.int64(row.rank) << 8 | wild)


@kernel
def find_mark(marks, n, wanted):
    """Returns the last of the first n marks that equals `wanted`, or -1."""
    for i in range(n - 1, -1, -1):
        if marks[i, 0] == wanted[0] and marks[i, 1] == wanted[1] and marks[i, 2] == wanted[2]:
            return i
    return -1


@kernel
def spares(notes, row):
    """Returns whether an action uses no card of the straight flushes of the plan."""
    return holds(notes.free[0], notes.free[1], row.low, row.high)


@kernel
def note_plan(notes, low, high, level, plan, planned):
    """Writes the marks of the plan, and the hand without its straight flushes."""
    notes.free[0], notes.free[1] = low, high
    for i in range(planned):
        mark(notes.planned, i, plan[i], level)
        if plan[i].kind == STRAIGHT_FLUSH:
            notes.free[0] -= plan[i].low
            notes.free[1] -= plan[i].high


@kernel
def pick_candidates(notes, rows, start, end, level):
    """Picks one of each set of plays that differ only in suits; returns the number of candidates.

    It prefers plays that spare the straight flushes of the plan.
    """
    n = 0
    for i in range(start, end):
        mark(notes.marks, n, rows[i], level)
        found = -1 if rows[i].kind == STRAIGHT_FLUSH else find_mark(notes.marks, n, notes.marks[n])
        if found >= 0:
            if not spares(notes, rows[notes.candidates[found]]) and spares(notes, rows[i]):
                notes.candidates[found] = i
        elif n < len(notes.candidates):
            notes.candidates[n] = i
            n += 1
    return n


@kernel
def mark_candidates(states, offsets, rows, plan, kept):
    """Marks the candidates among the choices of tables; outside of the playing phase, all choices.

    Args:
        states: `[B]` records.
        offsets: The choices of table b are ``offsets[b]`` to ``offsets[b + 1]`` - 1, `int64[B + 1]`.
        rows: Their records, `[N]`.
        plan: Scratch, action records, `[MOST_PLAYS]`.
        kept: The marks, `bool[N]`; written.
    """
    desk, view, notes = new_desk(), new_view(), new_notes(MOST_CANDIDATES)
    for b in range(states.shape[0]):
        state, start, end = states[b], offsets[b], offsets[b + 1]
        if state.to_move == NOBODY or state.phase != PLAY or end - start < 3:
            kept[start:end] = True
            continue
        kept[start:end] = False
        low, high, level = state.low[state.to_move], state.high[state.to_move], np.int64(state.level)
        planned = 0
        if _flushes(rows, start, end):
            look(view, state, np.int64(state.to_move), _STRENGTHS, _MANNERS)
            split(desk, low, high, level, view.price)
            planned = write_split(desk, low, high, level, view.price, plan)
        note_plan(notes, low, high, level, plan, planned)
        for k in range(pick_candidates(notes, rows, start, end, level)):
            kept[notes.candidates[k]] = True


@kernel
def _flushes(rows, start, end):
    """Returns whether some choices are straight flushes."""
    found = False
    for i in range(start, end):
        found |= rows[i].kind == STRAIGHT_FLUSH
    return found
