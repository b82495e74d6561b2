"""Compiled rules of GuanDan over batches of tables: legal actions, moves, ends of rounds, levels and the match."""

import numpy as np

from envs.compiled import kernel
from envs.guandan.rules.cards import BACK, PASS, TRIBUTE, count_of, holds, size_of
from envs.guandan.rules.comparison import beats, rank_of, reads_as
from envs.guandan.rules.generation import LONGEST, plays
from envs.guandan.rules.giving import may_give_back, may_pay, returns, tributes
from envs.guandan.rules.readings import merge_readings
from envs.guandan.rules.shown import note
from envs.guandan.rules.state import (
    NOBODY,
    OVER,
    PAY,
    PLAY,
    SEATS,
    begin_round,
    clear_trick,
    draw_below,
    give_back,
    open_round,
    pay,
    single_card,
)

ACE_LEVEL = 12


@kernel
def start_tables(states, seeds, drawn, by_card, a_attempts):
    """Starts tables from their seeds, at the first round of a match or, if `drawn`, at a random round of one.

    A drawn situation is a uniformly random round of a match in which all orders of going out are equally likely. It
    consists of the levels, the team whose level is played, the failed attempts at A, and the order of the last round.
    See `_order_losers` for `by_card` and `finish_levels` for `a_attempts`.
    """
    deck = np.empty(108, np.int64)
    for b in range(states.shape[0]):
        state = states[b]
        state.seed = seeds[b]
        state.number = 0
        state.decisions = 0
        state.points = 0
        _first_situation(state)
        if drawn:
            _draw_situation(state, by_card, a_attempts)
        begin_round(state, deck)


@kernel
def deal_hands(states, low, high):
    """Restarts the round of each table with given hands, `uint64[B, 4]`, of 27 cards each."""
    for b in range(states.shape[0]):
        state = states[b]
        state.winner = NOBODY
        for seat in range(SEATS):
            state.low[seat], state.high[seat], state.left[seat] = low[b, seat], high[b, seat], 27
        open_round(state)


@kernel
def _first_situation(state):
    state.winner = state.owner = NOBODY
    state.level = 0
    for team in range(2):
        state.levels[team] = state.attempts[team] = 0
    for seat in range(SEATS):
        state.former[seat] = NOBODY


@kernel
def _draw_situation(state, by_card, a_attempts):
    """Plays a match of random orders to count its rounds, draws one of them, and replays the match up to it."""
    rounds = np.int64(0)
    while state.winner == NOBODY and rounds < 200:
        _random_order(state, rounds, by_card)
        finish_levels(state, a_attempts)
        rounds += 1
    chosen = draw_below(state.seed, 1, rounds, 0)
    _first_situation(state)
    for i in range(chosen):
        _random_order(state, i, by_card)
        finish_levels(state, a_attempts)
    state.points = 0


@kernel
def _random_order(state, n, by_card):
    for i in range(SEATS):
        state.order[i] = i
    for i in range(SEATS - 1, 0, -1):
        j = draw_below(state.seed, 2, i + 1, SEATS * n + i)
        kept = state.order[i]
        state.order[i] = state.order[j]
        state.order[j] = kept
    if state.order[0] % 2 == state.order[1] % 2:
        _order_losers(state, by_card)


@kernel
def _order_losers(state, by_card):
    """Orders the seats that still have cards when the others, a team, are out.

    The seat after the first comes last, so that a table whose seats are rotated plays on alike. The recorded engine,
    whose rules are those without `by_card`, puts the higher seat last.
    """
    nxt, previous = (state.order[0] + 1) % SEATS, (state.order[0] + 3) % SEATS
    if by_card:
        state.order[2], state.order[3] = previous, nxt
    else:
        state.order[2], state.order[3] = min(nxt, previous), max(nxt, previous)


@kernel
def finish_levels(state, a_attempts):
    """Computes points, levels, the level of the next round, and the winner from the order of a finished round.

    The team of the first seat rises 3, 2 or 1 levels if the partner is second, third or last, up to A. At its own level
    A it wins the match instead, unless the partner is last, which scores no points. A team that fails `a_attempts`
    times at its own level A falls back to level 2; 0 disables this rule.
    """
    team = state.order[0] % 2
    rise = 3
    while (state.order[4 - rise] + state.order[0]) % 2 != 0:
        rise -= 1
    sign = 1 if team == 0 else -1
    state.points = sign * rise
    at_own_ace = state.owner == team and state.levels[team] == ACE_LEVEL
    if at_own_ace and rise > 1:
        state.winner = team
    elif at_own_ace:
        state.points = 0
    if state.winner == NOBODY and state.owner != NOBODY and state.levels[state.owner] == ACE_LEVEL:
        state.attempts[state.owner] += 1
        if a_attempts > 0 and state.attempts[state.owner] >= a_attempts:
            state.attempts[state.owner] = 0
            state.levels[state.owner] = 0
    if not (state.owner == team and state.points == 0):
        state.levels[team] = min(state.levels[team] + rise, ACE_LEVEL)
    state.owner = team
    state.level = state.levels[team]
    for seat in range(SEATS):
        state.former[seat] = state.order[seat]


@kernel
def legal_batch(states, first, merged, rows, offsets, table):
    """Lists the legal actions of the tables from `first` on, until `rows` might be too short for another list.

    Args:
        states: `[B]` records.
        first: First table; its list begins at `offsets[first]`.
        merged: Whether to keep only one reading of each multiset.
        rows: Action records, `[N]`; written.
        offsets: `int64[B + 1]`; written.
        table: Scratch of `merge_readings`, `int64[TABLE]`, initially -1.

    Returns:
        The next table; B when all are done.
    """
    for b in range(first, states.shape[0]):
        n = offsets[b]
        if n + LONGEST > rows.shape[0]:
            return b
        state = states[b]
        end = n
        if state.to_move != NOBODY:
            level = np.int64(state.level)
            low, high = state.low[state.to_move], state.high[state.to_move]
            if state.phase == PLAY:
                kind, rank = np.int64(state.beat_kind), np.int64(state.beat_rank)
                end = plays(low, high, level, kind, rank, np.int64(state.beat_size), rows, n)
                if merged and count_of(low, high, 4 * level) > 0:
                    end = merge_readings(rows, n, end, level, table)
            elif state.phase == PAY:
                end = tributes(low, high, level, rows, n)
            else:
                end = returns(low, high, level, rows, n)
        offsets[b + 1] = end
    return states.shape[0]


@kernel
def is_legal(state, action):
    """Returns whether an action is legal for the player to move."""
    low, high, kind = action.low, action.high, np.int64(action.kind)
    rank, level = np.int64(action.rank), np.int64(state.level)
    hand_low, hand_high = state.low[state.to_move], state.high[state.to_move]
    if high >> np.uint64(44) != np.uint64(0):  # there are 54 cards
        return False
    if action.size != size_of(low, high) or not holds(hand_low, hand_high, low, high):
        return False
    if state.phase == PLAY:
        if kind == PASS:
            return state.beat_kind != PASS and action.size == 0 and rank == 0
        if kind >= TRIBUTE or not reads_as(low, high, kind, rank, level):
            return False
        leads = state.beat_kind == PASS
        beat_kind, beat_rank = np.int64(state.beat_kind), np.int64(state.beat_rank)
        size, beat_size = np.int64(action.size), np.int64(state.beat_size)
        return leads or beats(kind, rank, size, beat_kind, beat_rank, beat_size, level)
    if action.size != 1 or kind != (TRIBUTE if state.phase == PAY else BACK):
        return False
    index = single_card(low, high)
    if rank != rank_of(index):
        return False
    if state.phase == PAY:
        return may_pay(hand_low, hand_high, level, index)
    return may_give_back(hand_low, hand_high, level, index)


@kernel
def step_batch(states, actions, by_card, a_attempts, single_round):
    """Plays an action at each table that is not over, unless one of them is illegal.

    Returns:
        -1, or the first table with an illegal action; in that case no state has changed.
    """
    for b in range(states.shape[0]):
        if states[b].to_move != NOBODY and not is_legal(states[b], actions[b]):
            return b
    deck = np.empty(108, np.int64)
    for b in range(states.shape[0]):
        state, action = states[b], actions[b]
        if state.to_move == NOBODY:
            continue
        state.decisions += 1
        if state.phase == PLAY:
            _play(state, action, by_card)
            if state.phase == OVER:
                _finish_round(state, a_attempts, single_round, deck)
        elif state.phase == PAY:
            pay(state, single_card(action.low, action.high), by_card)
        else:
            give_back(state, single_card(action.low, action.high))
    return -1


@kernel
def _play(state, action, by_card):
    """Plays cards or passes, and finds the next mover; sets the phase OVER at the end of the round."""
    seat = state.to_move
    note(state, seat, action)
    state.last_low[seat], state.last_high[seat] = action.low, action.high
    if action.kind == PASS:
        state.passes += 1
    else:
        state.low[seat] -= action.low
        state.high[seat] -= action.high
        state.played_low[seat] += action.low
        state.played_high[seat] += action.high
        state.left[seat] -= action.size
        state.beat_low, state.beat_high = action.low, action.high
        state.beat_kind, state.beat_rank, state.beat_size = action.kind, action.rank, action.size
        state.holder = seat
        state.passes = 0
        if state.left[seat] == 0:
            state.order[state.out] = seat
            state.out += 1
            if state.left[(seat + 2) % SEATS] == 0:
                _complete_order(state, by_card)
                return
    _next_mover(state)


@kernel
def _complete_order(state, by_card):
    """Ends the round once both seats of a team are out: seats with cards left come last, see `_order_losers`."""
    if state.out == 2:
        _order_losers(state, by_card)
    for seat in range(SEATS):
        if state.out == 3 and state.left[seat] > 0:
            state.order[3] = seat
    state.out = SEATS
    state.phase = OVER


@kernel
def _next_mover(state):
    """Sets the next mover. After all others have passed, the holder leads, or its partner if the holder is out."""
    still_in = state.left[state.holder] > 0
    others = SEATS - np.int64(state.out) - (1 if still_in else 0)
    if state.passes >= others:
        state.to_move = state.holder if still_in else (state.holder + 2) % SEATS
        clear_trick(state)
        return
    seat = (state.to_move + 1) % SEATS
    while state.left[seat] == 0:
        seat = (seat + 1) % SEATS
    state.to_move = seat


@kernel
def _finish_round(state, a_attempts, single_round, deck):
    finish_levels(state, a_attempts)
    if single_round:
        state.winner = state.order[0] % 2
    if state.winner != NOBODY:
        state.to_move = NOBODY
        return
    state.number += 1
    begin_round(state, deck)
