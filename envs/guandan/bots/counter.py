"""The bots `counter` and `reader`: deal the unseen cards many times, and play all candidates out in each of the deals.

`counter` only counts cards: every deal agrees with its hand, the cards played and the number of cards of each seat, and
all of these are alike likely. `reader` draws deals from the belief that comes with the program (`beliefs.net`), which
has learned what others hold from how they play.

In a deal, all hands are played by fixed groups (`playouts`). The candidates are the plays that leave the cheapest
hands by usual prices (`tribute.USUAL_PRICES`), one of each set that differs only in suits, and a pass; the one with the
most points on average over the same deals is played. They share with `planner` how hands are split, and no weights.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.game import States
from envs.guandan.beliefs.net import HandsBelief, shipped_belief
from envs.guandan.beliefs.placements import deal_often
from envs.guandan.bots.bot import GuanDanBot
from envs.guandan.bots.planner import copy_action
from envs.guandan.inputs.candidates import MOST_CANDIDATES, new_notes, note_plan, pick_candidates
from envs.guandan.inputs.deals import redeal_often
from envs.guandan.inputs.layout import MOST_PLAYS, write_split
from envs.guandan.inputs.playouts import FIELDS, PLAYED, group_hand, next_mover, play_out
from envs.guandan.inputs.splits import new_desk, split
from envs.guandan.inputs.tribute import USUAL_PRICES, tribute_choice
from envs.guandan.rules.cards import PASS, action_dtype
from envs.guandan.rules.comparison import bomb_class, value_of
from envs.guandan.rules.generation import LONGEST, plays
from envs.guandan.rules.state import PLAY, SEATS

DEALS, TRIED = 160, 10
"""Deals for a decision, and candidates that are played out in each of them."""


class Scratch(NamedTuple):
    """Memory of a decision.

    Attributes:
        tried, after: Rows of the candidates, and the prices of the hands that they leave, `[10]`.
        points: Sums of the points of team 0 after each candidate, `float64[10]`.
        own, number: Groups of the bot's hand after each candidate, `int16[10, 28, 5]`, and their numbers.
        groups, counts: Groups of these hands, `int16[4, 28, 5]`, and their numbers.
        played, left_groups, left, order, beat: Of a play-out, see `play_out`.
    """

    tried: NDArray[np.int64]
    after: NDArray[np.float64]
    points: NDArray[np.float64]
    own: NDArray[np.int16]
    number: NDArray[np.int64]
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
def _group_others(scratch, me, low, high, level, desk, plan, price):
    """Splits the hands of the others in a deal."""
    for step in range(1, SEATS):
        seat = (me + step) % SEATS
        groups = scratch.groups[seat]
        groups[:, PLAYED] = 1
        scratch.counts[seat] = group_hand(desk, low[seat], high[seat], level, price, plan, groups)


@kernel
def _choose(state, deals_low, deals_high, scratch, desk, notes, plan, rows, price, out):
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
    scratch.points[:] = 0
    for d in range(deals_low.shape[0]):
        _group_others(scratch, me, deals_low[d], deals_high[d], level, desk, plan, price)
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
def choose_counted(states, low, high, price, rows, actions):
    """Writes the actions of a bot at tables in the playing phase.

    Args:
        states: `[B]` records, all of them in this phase.
        low, high: Hands by deal and seat, words of multisets, `uint64[B, D, 4]`.
        price: Prices of plays, see `splits.PRICES`.
        rows: Scratch, action records, `[LONGEST]`.
        actions: Action records, `[B]`; written.
    """
    desk, notes, scratch = new_desk(), new_notes(MOST_CANDIDATES), _new_scratch()
    plan = np.zeros_like(rows[:MOST_PLAYS])
    for b in range(states.shape[0]):
        _choose(states[b], low[b], high[b], scratch, desk, notes, plan, rows, price, actions[b : b + 1])


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
        """See `envs.agent.Agent.act`."""
        actions = np.zeros(len(states), action_dtype)
        seeds = rng.integers(0, 2**64, len(states), np.uint64)
        playing = states["phase"] == PLAY
        if playing.any():
            found, rows = states[playing], np.empty(LONGEST, action_dtype)
            low, high = (np.zeros((len(found), self.deals, SEATS), np.uint64) for _ in range(2))
            self.deal(found, seeds[playing], low, high)
            chosen = np.zeros(len(found), action_dtype)
            choose_counted(found, low, high, USUAL_PRICES, rows, chosen)
            actions[playing] = chosen
        if not playing.all():
            legal = self.game.legal(states[~playing])
            actions[~playing] = legal.rows[tribute_choice(states[~playing], legal)]
        return actions

    def deal(
        self, states: States, seeds: NDArray[np.uint64], low: NDArray[np.uint64], high: NDArray[np.uint64]
    ) -> None:
        """Writes the hands of the other seats, `uint64[B, D, 4]`, as the player to move may suppose them."""
        redeal_often(states, states["to_move"], seeds, low, high)


class ReaderBot(CounterBot):
    """The same in deals drawn from a belief about the hands.

    Args:
        deals: Deals for each decision.
        belief: None: the one that comes with the program, which is not sent along with the bot.
    """

    name = "reader"

    def __init__(self, deals: int = DEALS, belief: HandsBelief | None = None) -> None:
        super().__init__(deals)
        self.belief = belief

    def deal(
        self, states: States, seeds: NDArray[np.uint64], low: NDArray[np.uint64], high: NDArray[np.uint64]
    ) -> None:
        players = states["to_move"].astype(np.int64)
        knowledge, scores = (self.belief or shipped_belief()).judge(states, players)
        deal_often(states, players, knowledge, scores, seeds, low, high)


__all__ = ["DEALS", "CounterBot", "ReaderBot", "choose_counted"]
