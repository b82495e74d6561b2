"""Exact values and best responses in games of placement, by a walk over the orders in which stones are placed.

The result of a game depends on the order of the stones, and the players do not see each other's tries. So the walk goes
depth first over these orders, in the abrupt game also over the turns at which tries have failed, and keeps for each
player the list of all sequences of tries that lead there. It adds returns to a player's sequences weighted by the sum
of the other player's reach probabilities: the products of the payoff matrix of the sequence form (von Stengel 1996)
with both plans, in which each block of the matrix, the pairs of two lists, is a number times a product of vectors. A
best response then is one pass over the infosets of the responder.
"""

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from envs.compiled import kernel
from envs.placement.ranking import MOST_RANKED, Ranking, ternary_sets

Floats = NDArray[np.float64]
Slots = NDArray[np.float32]

DEPTH = 2 * MOST_RANKED
"""Length of the stacks of the walks: a game on the largest ranked board has one try less, and the root is one entry."""

MOST_LISTED = 1 << 13
"""Most sequences of a player in all lists of a walk; 10 cells of the classical game need 6,114."""

UNDECIDED = 2
"""Takes the place of a return that later moves decide."""
_SEVERAL = 3
"""While continuations are compared: they have been found to differ."""


def outcomes(won: NDArray[np.bool_], abrupt: bool, early: bool = True) -> NDArray[np.int8]:
    """Tabulates how games end from a position, as far as that is settled.

    Args:
        won: See `envs.placement.rules.apply`.
        abrupt: Whether a failed try ends the turn.
        early: Whether to name the return also before the end where every continuation has the same.

    Returns:
        The return of player 0 by position and player to move, or `UNDECIDED`, `int8[3 ** cells, 2]`. Digit c in base 3
        of a position is 1 or 2 for a stone of player 0 or 1 on cell c.
    """
    cells = (won.shape[1] - 1).bit_length()
    first, second, order = ternary_sets(cells)
    out = np.full((3**cells, 2), UNDECIDED, np.int8)
    _settle(won, abrupt, early, first, second, order, out)
    return out


def evaluate(
    settled: NDArray[np.int8], abrupt: bool, rankings: Sequence[Ranking], policies: Sequence[Slots], threads: int
) -> tuple[float, float, float]:
    """Returns the value for player 0, and the value of a best response of each player for that player.

    Args:
        settled: See `outcomes`.
        abrupt: Whether a failed try ends the turn.
        rankings: Those of both players.
        policies: Probability of each legal action of each player's infosets, in the order of the infosets,
            `float32[slots]`.
        threads: Number of threads, each of which takes 8 bytes a slot.
    """
    cells = rankings[0].slot_of.shape[1]
    policy, tables = np.concatenate(policies), _tables(rankings)
    values, waiting, lock = np.zeros(cells), list(range(cells)), threading.Lock()
    gains = [np.zeros(len(policy) + 1) for _ in range(min(threads, cells))]
    failures: list[BaseException] = []

    def work(gain: Floats) -> None:
        try:
            while True:
                with lock:
                    if not waiting:
                        return
                    cell = waiting.pop()
                values[cell] = walk(settled, abrupt, *tables, policy, cell, gain)[0]
        except BaseException as error:
            failures.append(error)

    # The main thread only waits, so that Ctrl-C ends a walk of minutes; and the program does not wait for the others.
    walkers = [threading.Thread(target=work, args=(gain,), daemon=True) for gain in gains]
    for walker in walkers:
        walker.start()
    for walker in walkers:
        walker.join()
    if failures:
        raise failures[0]
    for gain in gains[1:]:
        gains[0] += gain
    seen, slot_of, first = tables
    best = [respond(seen[player], slot_of[player], gains[0], first[player]) for player in (0, 1)]
    return float(values.sum()), best[0], best[1]


def histories(won: NDArray[np.bool_], abrupt: bool, rankings: Sequence[Ranking]) -> int:
    """Counts the histories of the game, the empty one and terminal ones included."""
    slots = sum(int(ranking.slots[0]) for ranking in rankings)
    policy, gain = np.ones(slots, np.float32), np.zeros(slots + 1)
    settled = outcomes(won, abrupt, early=False)
    cells = range(rankings[0].slot_of.shape[1])
    return 1 + sum(int(walk(settled, abrupt, *_tables(rankings), policy, cell, gain)[1]) for cell in cells)


def _tables(rankings: Sequence[Ranking]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Returns the cells seen in each view, `int64[2, V]`, both `Ranking.slot_of`, and each player's first slot."""
    seen = np.stack([ranking.own | ranking.known for ranking in rankings]).astype(np.int64)
    return seen, np.stack([r.slot_of for r in rankings]), np.array([0, rankings[0].slots[0]], np.int64)


@kernel
def _settle(won, abrupt, early, stones0, stones1, order, out):
    """Fills the table of `outcomes`, from full boards to the empty one."""
    full, cells = won.shape[1] - 1, 0
    while full >> cells:
        cells += 1
    for at in order:
        first, second = stones0[at], stones1[at]
        if won[0, first] or won[1, second]:
            out[at, :] = 1 if won[0, first] else -1
        elif first | second == full:
            out[at, :] = 0
        elif early:
            for mover in range(2):
                found, power = UNDECIDED, 1
                for cell in range(cells):
                    if ((first | second) >> cell) & 1 == 0:
                        for player in range(2):
                            if player != mover and not abrupt:
                                continue  # in the abrupt game the turn may pass without a stone
                            next_one = out[at + power * (1 + player), 1 - player]
                            if found == UNDECIDED:
                                found = next_one
                            if next_one == UNDECIDED or next_one != found:
                                found = _SEVERAL
                    power *= 3
                out[at, mover] = UNDECIDED if found == _SEVERAL else found


@kernel
def walk(settled, abrupt, seen, slot_of, first, policy, start, gain):
    """Walks over all orders of stones in which player 0 tries cell `start` first, with all tries that lead there.

    Neither player sees the other's tries, so what has happened is a list of sequences of tries for each player, every
    one of which goes with every one of the other's: those that fit the order of the stones and, in the abrupt game,
    the turns at which tries have failed. The sums over pairs of sequences are then products of sums over lists. A
    branch ends where the return is settled: all further tries are worth the same, which is added to the last one.

    Args:
        settled, abrupt: See `evaluate`.
        seen, slot_of, first: See `_tables`.
        policy: Policies of both players by slot, `float32[slots]`.
        start: Cell of the first try.
        gain: For each slot of a player the returns to that player of the histories that end after it and before the
            player's next one, weighted by the other's reach probability; added to, `float64[slots + 1]`.

    Returns:
        The expected return of player 0 from these histories, and their number.
    """
    cells = slot_of.shape[2]
    full, failing = (1 << cells) - 1, 1 << cells
    powers = np.ones(cells, np.int64)
    for cell in range(1, cells):
        powers[cell] = 3 * powers[cell - 1]
    size_of = np.zeros(failing, np.int64)  # of a set of cells
    for some in range(1, failing):
        size_of[some] = size_of[some >> 1] + (some & 1)
    # Sequences of tries of each player. A list is a part of these, and is made by the player's move.
    view = np.zeros((2, MOST_LISTED), np.int64)
    base = np.zeros((2, MOST_LISTED), np.int64)  # first slot of the infoset after the sequence
    last = np.full((2, MOST_LISTED), -1, np.int64)  # slot of the last try
    reach = np.ones((2, MOST_LISTED))
    base[:, 0] = first
    begin, end = np.zeros((DEPTH, 2), np.int64), np.ones((DEPTH, 2), np.int64)  # of the lists
    total = np.ones((DEPTH, 2))  # sum of the reach probabilities of a list
    mover = np.zeros(DEPTH, np.int64)
    todo = np.zeros(DEPTH, np.int64)  # cells that are still to be tried, and `failing`
    position = np.zeros(DEPTH, np.int64)  # stones in base 3
    stones = np.zeros((DEPTH, 2), np.int64)
    waiting = np.zeros(DEPTH)  # gain of the last slots of the player not to move
    ends = np.zeros(cells, np.int64)  # return to the player to move for the empty cells that settle it
    value, visited, depth, fresh = 0.0, 0, 0, True
    while depth >= 0:
        me = mover[depth]
        other = 1 - me
        hidden, place = stones[depth, other], position[depth]
        against, pairs = total[depth, other], end[depth, other] - begin[depth, other]
        if fresh:
            fresh = False
            if not abrupt:  # any number of failed tries comes before the stone
                begun, made = end[depth, me], end[depth, me]
                i = begin[depth, me]
                while i < made:
                    made += _fail(me, i, hidden, seen, slot_of, powers, size_of, policy, view, base, last, reach, made)
                    i += 1
                end[depth, me] = made
                visited += (made - begun) * pairs
            empty = full & ~(hidden | stones[depth, me]) if depth else 1 << start
            settling, open_ones = 0, 0
            for cell in range(cells):
                if (empty >> cell) & 1:
                    result = settled[place + powers[cell] * (1 + me), other]
                    if result == UNDECIDED:
                        open_ones |= 1 << cell
                    else:
                        settling |= 1 << cell
                        ends[cell] = result if me == 0 else -result
            worth = 0.0
            if settling:
                for i in range(begin[depth, me], end[depth, me]):
                    legal = full & ~seen[me, view[me, i]]
                    for cell in range(cells):
                        if (settling >> cell) & 1:
                            at = base[me, i] + size_of[legal & ((1 << cell) - 1)]
                            gain[at] += against * ends[cell]
                            worth += reach[me, i] * policy[at] * ends[cell]
                visited += (end[depth, me] - begin[depth, me]) * size_of[settling] * pairs
            waiting[depth] = -worth
            value += (worth if me == 0 else -worth) * against
            todo[depth] = open_ones | (failing if abrupt and hidden else 0)
        left = todo[depth]
        if left == 0:
            if waiting[depth] != 0.0:
                for i in range(begin[depth, other], end[depth, other]):
                    gain[last[other, i]] += waiting[depth]
            depth -= 1
            continue
        bit = left & -left
        todo[depth] = left ^ bit
        under, made = depth + 1, end[depth, me]
        begin[under, me] = made
        if bit == failing:
            for i in range(begin[depth, me], end[depth, me]):
                made += _fail(me, i, hidden, seen, slot_of, powers, size_of, policy, view, base, last, reach, made)
        else:
            cell = size_of[bit - 1]
            for i in range(begin[depth, me], end[depth, me]):
                before = view[me, i]
                at = base[me, i] + size_of[full & ~seen[me, before] & (bit - 1)]
                view[me, made] = before + powers[cell]
                base[me, made] = base[me, i] + slot_of[me, before, cell, 0]
                last[me, made] = at
                reach[me, made] = reach[me, i] * policy[at]
                made += 1
        end[under, me] = made
        likely = 0.0
        for i in range(begin[under, me], made):
            likely += reach[me, i]
        visited += (made - begin[under, me]) * pairs
        if made == begin[under, me] or (likely == 0.0 and against == 0.0):
            continue
        begin[under, other], end[under, other] = begin[depth, other], end[depth, other]
        total[under, me], total[under, other] = likely, against
        stones[under, me] = stones[depth, me] | (bit & full)
        stones[under, other] = hidden
        position[under] = place if bit == failing else place + powers[cell] * (1 + me)
        mover[under] = other
        depth, fresh = under, True
    return value, visited


@kernel
def _fail(me, i, hidden, seen, slot_of, powers, size_of, policy, view, base, last, reach, made):
    """Appends sequence `i` of a player with each try that fails next to the sequences; returns their number.

    Args:
        me: The player.
        hidden: The opponent's stones.
        seen, slot_of: See `_tables`.
        powers, size_of: Powers of 3, and the number of cells in each set.
        policy: See `walk`.
        view, base, last, reach: The sequences, see `walk`; written from `made` on.
        made: Number of sequences so far.
    """
    before = view[me, i]
    legal, found = ~seen[me, before], 0
    untried = hidden & legal
    while untried:
        bit = untried & -untried
        untried ^= bit
        cell = size_of[bit - 1]
        at = base[me, i] + size_of[legal & (bit - 1)]
        view[me, made + found] = before + 2 * powers[cell]
        base[me, made + found] = base[me, i] + slot_of[me, before, cell, 1]
        last[me, made + found] = at
        reach[me, made + found] = reach[me, i] * policy[at]
        found += 1
    return found


@kernel
def respond(seen, slot_of, gain, start):
    """Returns the value of the best response to the policy that `gain` comes from, see `walk`; changes `gain`.

    Depth first: the value of an infoset is added to the slot of the try before it.

    Args:
        seen, slot_of: See `_tables`; those of the responder.
        gain: See `walk`.
        start: The responder's first slot.
    """
    cells = slot_of.shape[1]
    powers = np.ones(cells, np.int64)
    for cell in range(1, cells):
        powers[cell] = 3 * powers[cell - 1]
    view, base = np.zeros(DEPTH, np.int64), np.full(DEPTH, start, np.int64)
    slot = np.full(DEPTH, start, np.int64)
    attempt = np.zeros(DEPTH, np.int64)  # cell * 2, and 1 more where it fails
    best = np.full(DEPTH, -np.inf)
    depth = 0
    while depth >= 0:
        cell, failed = attempt[depth] >> 1, attempt[depth] & 1
        if cell == cells:
            depth -= 1
            if depth >= 0:
                gain[slot[depth]] += best[depth + 1]
        elif (seen[view[depth]] >> cell) & 1:
            attempt[depth] += 2
            continue
        elif slot_of[view[depth], cell, failed] >= 0:
            view[depth + 1] = view[depth] + powers[cell] * (1 + failed)
            base[depth + 1] = base[depth] + slot_of[view[depth], cell, failed]
            slot[depth + 1] = base[depth + 1]
            attempt[depth + 1], best[depth + 1] = 0, -np.inf
            depth += 1
            continue
        if depth >= 0:
            if attempt[depth] & 1:
                best[depth] = max(best[depth], gain[slot[depth]])
                slot[depth] += 1
            attempt[depth] += 1
    return best[0]
