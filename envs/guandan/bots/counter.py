"""The bot `counter`: deals the unseen cards at random, and plays each of its candidates out in many such deals.

It only counts cards: every sampled deal agrees with its hand, the cards played and the number of cards of each seat.
In a deal, all hands are played by fixed groups (`playouts`). The candidates are the plays that leave the cheapest
hands by usual prices (`tribute.USUAL_PRICES`), one of each set that differs only in suits, and a pass; the one with the
most points on average over the same deals is played. It shares with `planner` how hands are split, and no weights.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.game import States
from envs.guandan.bots.bot import GuanDanBot
from envs.guandan.bots.planner import copy_action
from envs.guandan.bots.playouts import FIELDS, PLAYED, group_hand, next_mover, play_out
from envs.guandan.inputs.candidates import MOST_CANDIDATES, new_notes, note_plan, pick_candidates
from envs.guandan.inputs.deals import deal, list_unseen
from envs.guandan.inputs.layout import MOST_PLAYS, write_split
from envs.guandan.inputs.splits import new_desk, split
from envs.guandan.inputs.tribute import USUAL_PRICES, tribute_choice
from envs.guandan.rules.cards import PASS, action_dtype
from envs.guandan.rules.comparison import bomb_class, value_of
from envs.guandan.rules.generation import LONGEST, plays
from envs.guandan.rules.state import NOBODY, PLAY, SEATS

DEALS, TRIED = 160, 10
"""Deals for a decision, and candidates that are played out in each of them."""


class Scratch(NamedTuple):
    """Memory of a decision.

    Attributes:
        tried, after: Rows of the candidates, and the prices of the hands that they leave, `[10]`.
        points: Sums of the points of team 0 after each candidate, `float64[10]`.
        own, number: Groups of the bot's hand after each candidate, `int16[10, 28, 5]`, and their numbers.
        cards: Indices of the unseen cards, `int64[108]`.
        low, high: Hands of a deal, words of multisets, `uint64[4]`.
        groups, counts: Groups of these hands, `int16[4, 28, 5]`, and their numbers.
        played, left_groups, left, order, beat: Of a play-out, see `play_out`.
    """

    tried: NDArray[np.int64]
    after: NDArray[np.float64]
    points: NDArray[np.float64]
    own: NDArray[np.int16]
    number: NDArray[np.int64]
    cards: NDArray[np.int64]
    low: NDArray[np.uint64]
    high: NDArray[np.uint64]
    groups: NDArray[np.int16]
    counts: NDArray[np.int64]
    played: NDArray[np.int16]
    left_groups: NDArray[np.int64]
    left: NDArray[np.int64]
    order: NDArray[np.int64]
    beat: NDArray[np.int64]


@kernel
def _new_scratch():
    return Scratch(
        np.zeros(TRIED, np.int64),
        np.zeros(TRIED),
        np.zeros(TRIED),
        np.zeros((TRIED, MOST_PLAYS, FIELDS), np.int16),
        np.zeros(TRIED, np.int64),
        np.zeros(108, np.int64),
        np.zeros(SEATS, np.uint64),
        np.zeros(SEATS, np.uint64),
        np.zeros((SEATS, MOST_PLAYS, FIELDS), np.int16),
        np.zeros(SEATS, np.int64),
        np.zeros((SEATS, MOST_PLAYS, FIELDS), np.int16),
        np.zeros(SEATS, np.int64),
        np.zeros(SEATS, np.int64),
        np.zeros(SEATS, np.int64),
        np.zeros(4, np.int64),
    )


@kernel
def _pick(state, me, rows, start, end, desk, notes, plan, price, tried, after):
    """Writes the rows of the candidates that leave the cheapest hands, best first; returns their number."""
    low, high, level = state.low[me], state.high[me], np.int64(state.level)
    split(desk, low, high, level, price)
    planned = write_split(desk, low, high, level, price, plan)
    note_plan(notes, low, high, level, plan, planned)
    n = 0
    for k in range(pick_candidates(notes, rows, start, end, level)):
        row = rows[notes.candidates[k]]
        cost = split(desk, low - row.low, high - row.high, level, price) if row.size < state.left[me] else -100.0
        if n == len(tried) and cost >= after[n - 1]:
            continue
        i = n if n < len(tried) else n - 1
        while i > 0 and after[i - 1] > cost:
            tried[i], after[i] = tried[i - 1], after[i - 1]
            i -= 1
        tried[i], after[i] = notes.candidates[k], cost
        n = min(n + 1, len(tried))
    return n


@kernel
def _deal_groups(scratch, unseen, state, me, level, desk, plan, price, seed):
    """Deals the unseen cards and splits the hands of the others; returns the new state of the generator."""
    seed = deal(scratch.cards, unseen, state, me, scratch.low, scratch.high, seed)
    for step in range(1, SEATS):
        seat = (me + step) % SEATS
        groups = scratch.groups[seat]
        groups[:, PLAYED] = 1
        scratch.counts[seat] = group_hand(desk, scratch.low[seat], scratch.high[seat], level, price, plan, groups)
    return seed


@kernel
def _choose(state, seed, deals, scratch, desk, notes, plan, rows, price, out):
    """Writes the action of the player to move into `out`, `[1]` records."""
    me, level = np.int64(state.to_move), np.int64(state.level)
    low, high = state.low[me], state.high[me]
    kind, rank, size = np.int64(state.beat_kind), np.int64(state.beat_rank), np.int64(state.beat_size)
    first = np.int64(kind != PASS)
    end = plays(low, high, level, kind, rank, size, rows, 0)
    copy_action(rows[0], out)
    if end == 1:
        return
    n = _pick(state, me, rows, first, end, desk, notes, plan, price, scratch.tried[: TRIED - first], scratch.after)
    if first == 1:
        scratch.tried[n] = 0  # the pass
        n += 1
    scratch.own[:, :, PLAYED] = 1
    for k in range(n):
        row = rows[scratch.tried[k]]
        if row.size == state.left[me]:
            copy_action(row, out)
            return
        scratch.number[k] = group_hand(desk, low - row.low, high - row.high, level, price, plan, scratch.own[k])
    unseen = list_unseen(state, me, scratch.cards)
    scratch.points[:] = 0
    for _ in range(deals):
        seed = _deal_groups(scratch, unseen, state, me, level, desk, plan, price, seed)
        for k in range(n):
            scratch.points[k] += _after(scratch, state, rows[scratch.tried[k]], k, me, level)
    best = 0
    for k in range(1, n):
        gain = scratch.points[k] - scratch.points[best]
        if (gain if me % 2 == 0 else -gain) > 0:
            best = k
    copy_action(rows[scratch.tried[best]], out)


@kernel
def _after(scratch, state, row, k, me, level):
    """Plays candidate k and the rest of the round; returns the points of team 0."""
    groups, counts, left, order, beat = scratch.played, scratch.left_groups, scratch.left, scratch.order, scratch.beat
    groups[:] = scratch.groups
    groups[me] = scratch.own[k]
    for seat in range(SEATS):
        counts[seat] = scratch.number[k] if seat == me else scratch.counts[seat]
        left[seat], order[seat] = state.left[seat], state.order[seat]
    passes, holder, out = np.int64(state.passes), np.int64(state.holder), np.int64(state.out)
    if row.kind == PASS:
        kind, rank, size = np.int64(state.beat_kind), np.int64(state.beat_rank), np.int64(state.beat_size)
        passes += 1
    else:
        kind, rank, size = np.int64(row.kind), np.int64(row.rank), np.int64(row.size)
        left[me] -= size
        holder, passes = np.int64(me), np.int64(0)
    beat[0], beat[1], beat[2], beat[3] = kind, value_of(kind, rank, level), size, bomb_class(kind, size)
    mover, passes = next_mover(me, holder, passes, left, out, beat)
    return play_out(groups, counts, left, mover, holder, passes, beat, order, out)


@kernel
def choose_counted(states, seeds, deals, price, rows, actions):
    """Writes the actions of the bot at tables in the playing phase; other tables are skipped.

    Args:
        states: `[B]` records.
        seeds: Of the deals at each table, `uint64[B]`.
        deals: Deals for each decision.
        price: Prices of plays, see `splits.PRICES`.
        rows: Scratch, action records, `[LONGEST]`.
        actions: Action records, `[B]`; written.
    """
    desk, notes, scratch = new_desk(), new_notes(MOST_CANDIDATES), _new_scratch()
    plan = np.zeros_like(rows[:MOST_PLAYS])
    for b in range(states.shape[0]):
        if states[b].to_move != NOBODY and states[b].phase == PLAY:
            _choose(states[b], seeds[b], deals, scratch, desk, notes, plan, rows, price, actions[b : b + 1])


class CounterBot(GuanDanBot):
    """Plays the candidate that wins most in random deals of the unseen cards. Implements `envs.agent.ListedAgent`.

    Args:
        deals: Deals for each decision.

    Raises:
        ValueError: `begin` is called with a game other than GuanDan, or `deals` is less than 1.
    """

    name = "counter"

    def __init__(self, deals: int = DEALS) -> None:
        super().__init__()
        if deals < 1:
            raise ValueError(f"deals must be at least 1, got {deals}")
        self.deals = deals

    def act(self, states: States, games: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.void]:
        actions = np.zeros(len(states), action_dtype)
        seeds = rng.integers(0, 2**64, len(states), np.uint64)
        choose_counted(states, seeds, self.deals, USUAL_PRICES, np.empty(LONGEST, action_dtype), actions)
        tributes = np.flatnonzero(states["phase"] != PLAY)
        if len(tributes):
            legal = self.game.legal(states[tributes])
            actions[tributes] = legal.rows[tribute_choice(states[tributes], legal)]
        return actions


__all__ = ["DEALS", "CounterBot", "choose_counted"]
