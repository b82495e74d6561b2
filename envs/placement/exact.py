"""Exact values and best responses in games of placement, by a walk over all histories.

The walk visits histories depth first with the sets of stones as bit masks, and adds the return of each terminal history
to both players' last sequences, weighted by the other player's reach probability: the products of the payoff matrix of
the sequence form (von Stengel 1996) with both plans, without the matrix. A best response then is one pass over the
infosets of the responder.
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
                values[cell] = walk(settled, abrupt, True, *tables, policy, cell, gain)[0]
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
    return 1 + sum(int(walk(settled, abrupt, False, *_tables(rankings), policy, cell, gain)[1]) for cell in cells)


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
def walk(settled, abrupt, factored, seen, slot_of, first, policy, start, gain):
    """Walks over all histories in which player 0 tries cell `start` first.

    A branch ends where the return is settled: all further tries are worth the same, which is added to the last one.

    Args:
        settled, abrupt: See `evaluate`.
        factored: Whether to sum up abrupt games with one empty cell, see `_last_cell`.
        seen, slot_of, first: See `_tables`.
        policy: Policies of both players by slot, `float32[slots]`.
        start: Cell of the first try.
        gain: For each slot of a player the returns to that player of the histories that end after it and before the
            player's next one, weighted by the other's reach probability; added to, `float64[slots + 1]`.

    Returns:
        The expected return of player 0 from these histories, and their number.
    """
    cells = slot_of.shape[2]
    full = (1 << cells) - 1
    powers = np.ones(cells, np.int64)
    for cell in range(1, cells):
        powers[cell] = 3 * powers[cell - 1]
    lowest = np.zeros(full + 1, np.int64)  # lowest cell of a set
    for cells_left in range(1, full + 1):
        while (cells_left >> lowest[cells_left]) & 1 == 0:
            lowest[cells_left] += 1
    mover = np.zeros(DEPTH, np.int64)
    todo = np.zeros(DEPTH, np.int64)  # cells that are still to be tried
    slot = np.zeros(DEPTH, np.int64)  # of the next try
    position = np.zeros(DEPTH, np.int64)  # stones in base 3
    view = np.zeros((DEPTH, 2), np.int64)
    base = np.zeros((DEPTH, 2), np.int64)  # first slot of the infoset that follows the player's last try
    last = np.full((DEPTH, 2), -1, np.int64)  # slot of that try
    stones = np.zeros((DEPTH, 2), np.int64)
    reach = np.ones((DEPTH, 2))
    waiting = np.zeros(DEPTH)  # gain of the last slot of the player not to move
    base[0] = first
    todo[0] = 1 << start
    slot[0] = start
    numbers, chances = np.zeros((5, DEPTH), np.int64), np.zeros((5, DEPTH))
    tries = np.zeros((2, 1024, 3), np.int64)  # a board of 10 cells needs 651
    value, visited, depth = 0.0, 0, 0
    while depth >= 0:
        me = mover[depth]
        other = 1 - me
        left = todo[depth]
        if left == 0:
            gain[last[depth, other]] += waiting[depth]
            depth -= 1
            continue
        cell = lowest[left]
        bit = 1 << cell
        todo[depth] = left ^ bit
        at = slot[depth]
        slot[depth] = at + 1
        visited += 1
        likely = reach[depth, me] * policy[at]
        against = reach[depth, other]
        failed = 1 if stones[depth, other] & bit else 0
        place = position[depth]
        if not failed:
            place += powers[cell] * (1 + me)
            result = settled[place, other]
            if result != UNDECIDED:
                if result != 0:
                    worth = float(result if me == 0 else -result)
                    value += likely * against * result
                    waiting[depth] -= likely * worth
                    gain[at] += against * worth
                continue
        if likely == 0.0 and against == 0.0:
            continue
        under = depth + 1
        position[under] = place
        stones[under, me] = stones[depth, me] if failed else stones[depth, me] | bit
        stones[under, other] = stones[depth, other]
        reach[under, me], reach[under, other] = likely, against
        last[under, me], last[under, other] = at, last[depth, other]
        seen_by_me = view[depth, me]
        view[under, me] = seen_by_me + powers[cell] * (1 + failed)
        view[under, other] = view[depth, other]
        base[under, me] = base[depth, me] + slot_of[me, seen_by_me, cell, failed]
        base[under, other] = base[depth, other]
        turn = me if failed and not abrupt else other
        mover[under] = turn
        empty = full & ~(stones[under, 0] | stones[under, 1])
        if abrupt and factored and empty & (empty - 1) == 0:
            won, seen_histories = _last_cell(
                settled, seen, slot_of, policy, powers, lowest, empty, turn, place, view[under], base[under],
                last[under], stones[under], reach[under], numbers, chances, tries, gain,
            )  # fmt: skip
            value += won
            visited += seen_histories
            continue
        todo[under] = full & ~seen[turn, view[under, turn]]
        slot[under] = base[under, turn]
        waiting[under] = 0.0
        depth = under
    return value, visited


@kernel
def _last_cell(
    settled, seen, slot_of, policy, powers, lowest, empty, mover, place, view, base, last, stones, reach,
    numbers, chances, tries, gain,
):  # fmt: skip
    """Adds the rest of an abrupt game from a position with one empty cell, without a walk over its histories.

    The players take turns until one of them tries the empty cell, and neither learns anything from the other's failed
    tries. So the tries of one player are independent of those of the other: only their number counts, and a sum over
    pairs of sequences of tries is a product of sums over the sequences of each player.

    Args:
        settled, seen, slot_of, policy, gain: See `walk`.
        powers, lowest: Powers of 3, and the lowest cell of each set.
        empty: The empty cell, as a set.
        mover: Player to move.
        place: Stones in base 3.
        view, base, last, stones, reach: Of each player, see `walk`.
        numbers, chances: Working memory, `int64[5, DEPTH]` and `float64[5, DEPTH]`.
        tries: Working memory for slots, and for the number of failed tries before them and whether they fail,
            `int64[2, 1024, 3]`.

    Returns:
        The expected return of player 0, and the number of tries of both players.
    """
    fails, hits = chances[0:2], chances[2:4]  # probability that the first k tries fail; that try k + 1 hits
    fails[:], hits[:] = 0.0, 0.0
    count = numbers[4]
    for player in range(2):
        count[player] = _tries_for(
            empty, stones[1 - player], seen[player], slot_of[player], policy, powers, lowest, view[player],
            base[player], numbers, chances[4], fails[player], hits[player], tries[player],
        )  # fmt: skip
    cell = lowest[empty]
    other = 1 - mover
    ends = settled[place + powers[cell], 1], settled[place + 2 * powers[cell], 0]  # if player 0 or 1 takes the cell
    value = 0.0
    for k in range(MOST_RANKED):
        value += hits[mover, k] * fails[other, k] * ends[mover] + hits[other, k] * fails[mover, k + 1] * ends[other]
    for player in range(2):
        sign = 1 - 2 * player
        ahead = 1 if player == other else 0  # tries of the opponent before the first of this player
        weight, opponent = reach[1 - player] * sign, 1 - player
        for number in range(count[player]):
            at, k = tries[player, number, 0], tries[player, number, 1]
            if tries[player, number, 2]:
                gain[at] += weight * hits[opponent, k + ahead] * ends[opponent]
            else:
                gain[at] += weight * fails[opponent, k + ahead] * ends[player]
        if player == other:
            gain[last[player]] += weight * hits[opponent, 0] * ends[opponent]
    return value * reach[0] * reach[1], count[0] + count[1]


@kernel
def _tries_for(
    empty, hidden, seen, slot_of, policy, powers, lowest, view, base, numbers, likely, fails, hits, tries
):  # fmt: skip
    """Lists all sequences of tries of one player for the last empty cell, and sums up their probabilities.

    Args:
        empty, policy, powers, lowest: See `_last_cell`.
        hidden: The opponent's stones.
        seen, slot_of, view, base: Those of the player, see `walk`.
        numbers, likely: Working memory, `int64[4, DEPTH]` and `float64[DEPTH]`.
        fails, hits: The probability that the first k tries fail, and that try k + 1 is the first to find the empty
            cell; added to, `float64[DEPTH]`.
        tries: Slot of each try, number of tries before it, and whether it fails; written, `int64[1024, 3]`.

    Returns:
        The number of tries.
    """
    node, under, left, slot = numbers[0], numbers[1], numbers[2], numbers[3]
    node[0], under[0], slot[0], likely[0] = view, base, base, 1.0
    left[0] = empty | hidden & ~seen[view]
    fails[0] = 1.0
    made, depth = 0, 0
    while depth >= 0:
        if left[depth] == 0:
            depth -= 1
            continue
        cell = lowest[left[depth]]
        bit = 1 << cell
        left[depth] ^= bit
        at = slot[depth]
        slot[depth] = at + 1
        chance = likely[depth] * policy[at]
        tries[made, 0], tries[made, 1], tries[made, 2] = at, depth, bit != empty
        made += 1
        if bit == empty:
            hits[depth] += chance
            continue
        fails[depth + 1] += chance
        node[depth + 1] = node[depth] + 2 * powers[cell]
        under[depth + 1] = slot[depth + 1] = under[depth] + slot_of[node[depth], cell, 1]
        left[depth + 1] = empty | hidden & ~seen[node[depth + 1]]
        likely[depth + 1] = chance
        depth += 1
    return made


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
