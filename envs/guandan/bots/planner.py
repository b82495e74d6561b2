"""The bot `planner`: splits its hand into the cheapest plays and follows that plan, helping its partner.

A play costs about 1 if any other player can beat it, less the stronger it is, and bombs have negative prices because
they regain the lead (`prospects`). The price of the cheapest split is therefore about the number of times that the
hand needs the lead. The planner prefers the play that leaves the cheapest hand, corrected by `weighing`: the value of
the lead, which rises when the planner can run out or an opponent is about to, and of leaving the partner's play
unbeaten. It leads with plays of its plan, and follows with the legal play of the best score.
"""

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.game import States
from envs.guandan.bots.bot import GuanDanBot
from envs.guandan.inputs.candidates import find_mark, new_notes, note_plan, pick_candidates, spares
from envs.guandan.inputs.layout import MOST_PLAYS, write_split
from envs.guandan.inputs.prospects import Strengths
from envs.guandan.inputs.splits import new_desk, split
from envs.guandan.inputs.tribute import tribute_choice
from envs.guandan.inputs.weighing import Manners, look, new_view, place_in, score_pass, score_play
from envs.guandan.rules.cards import PAIR, PASS, SINGLE, STRAIGHT_FLUSH, action_dtype, emit
from envs.guandan.rules.generation import LONGEST, plays
from envs.guandan.rules.state import NOBODY, PLAY, SEATS

_MOST_CANDIDATES = 256
_FEW = 3  # a seat with fewer cards may go out upon a single or a pair


@kernel
def _in_plan(notes, row, mark, plan, planned):
    """Returns whether the plan contains an action, in these or other suits."""
    if row.kind != STRAIGHT_FLUSH:
        return find_mark(notes.planned, planned, mark) >= 0 and spares(notes, row)
    for i in range(planned):
        if plan[i].kind == STRAIGHT_FLUSH and plan[i].low == row.low and plan[i].high == row.high:
            return True
    return False


@kernel
def copy_action(row, out):
    emit(out, 0, row.low, row.high, row.kind, row.rank, row.size)


@kernel
def _price(action, level, price):
    place = place_in(np.int64(action.kind), np.int64(action.rank), np.int64(action.size), level)
    return price[place[0], place[1]]


@kernel
def _lead(view, state, me, manners, whole, plan, planned, out):
    """Writes the best play of the plan into `out`, and returns its score."""
    best = -np.inf
    level = np.int64(state.level)
    for i in range(planned):
        score = score_play(view, state, me, manners, plan[i], whole - _price(plan[i], level, view.price))
        if score > best:
            best = score
            copy_action(plan[i], out)
    return best


@kernel
def _singles_and_pairs(state, me, rows):
    """Writes all singles and pairs that a leader may play, if a seat has few cards; returns their number."""
    few = False
    for other in range(1, SEATS):
        few = few or 0 < state.left[(me + other) % SEATS] < _FEW
    if not few:
        return 0
    level = np.int64(state.level)
    end = plays(state.low[me], state.high[me], level, SINGLE, -1, 1, rows, 0)  # rank -1 is below every rank
    end = plays(state.low[me], state.high[me], level, PAIR, -1, 2, rows, end)
    n = 0
    for i in range(end):
        if rows[i].kind == SINGLE or rows[i].kind == PAIR:
            copy_action(rows[i], rows[n:])
            n += 1
    return n


@kernel
def _choose(state, strengths, manners, desk, view, notes, plan, rows, out):
    """Writes the action of the player to move into `out`, `[1]` records."""
    me, level = np.int64(state.to_move), np.int64(state.level)
    low, high = state.low[me], state.high[me]
    start, end = 0, 0
    if state.beat_kind != PASS:
        kind, rank, size = np.int64(state.beat_kind), np.int64(state.beat_rank), np.int64(state.beat_size)
        start, end = 1, plays(low, high, level, kind, rank, size, rows, 0)
        copy_action(rows[0], out)  # the pass
        if end == 1:
            return
    look(view, state, me, strengths, manners)
    whole = split(desk, low, high, level, view.price)
    planned = write_split(desk, low, high, level, view.price, plan)
    if start == 1:
        best = score_pass(view, state, me, manners, whole)
    else:
        best = _lead(view, state, me, manners, whole, plan, planned, out)
        end = _singles_and_pairs(state, me, rows)
    note_plan(notes, low, high, level, plan, planned)
    for k in range(pick_candidates(notes, rows, start, end, level)):
        row = rows[notes.candidates[k]]
        # Of the rest only a split is cheaper that breaks a group whose cards cost less apart, such as a pair of jokers.
        after = whole - _price(row, level, view.price)
        if score_play(view, state, me, manners, row, after) <= best:
            continue
        if not _in_plan(notes, row, notes.marks[k], plan, planned):
            after = split(desk, low - row.low, high - row.high, level, view.price)
        score = score_play(view, state, me, manners, row, after)
        if score > best:
            best = score
            copy_action(row, out)


@kernel
def choose_planned(states, strengths, manners, rows, actions):
    """Writes the actions of the planner at tables in the playing phase; other tables are skipped.

    Args:
        states: `[B]` records.
        strengths, manners: Weights of plays and situations.
        rows: Scratch, action records, `[LONGEST]`.
        actions: Action records, `[B]`; written.
    """
    desk, view, notes = new_desk(), new_view(), new_notes(_MOST_CANDIDATES)
    plan = np.zeros_like(rows[:MOST_PLAYS])
    for b in range(states.shape[0]):
        if states[b].to_move != NOBODY and states[b].phase == PLAY:
            _choose(states[b], strengths, manners, desk, view, notes, plan, rows, actions[b : b + 1])


class PlannerBot(GuanDanBot):
    """Splits its hand into the cheapest plays and follows that plan, helping its partner.

    Deterministic; implements `envs.agent.ListedAgent`.

    Raises:
        ValueError: `begin` is called with a game other than GuanDan.
    """

    name = "planner"

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        actions = np.zeros(len(states), action_dtype)
        choose_planned(states, Strengths(), Manners(), np.empty(LONGEST, action_dtype), actions)
        tributes = np.flatnonzero(states["phase"] != PLAY)
        if len(tributes):
            legal = self.game.legal(states[tributes])
            actions[tributes] = legal.rows[tribute_choice(states[tributes], legal)]
        return actions


__all__ = ["Manners", "PlannerBot", "Strengths", "choose_planned"]
