"""Infosets of a game of placement, numbered depth first by closed form.

What may follow an infoset depends only on its *view*, the player's own stones and the opponent's stones that are known,
and not on the order in which they were found. So the number of infosets below one is a table of at most 3 ** cells
views, and an infoset needs no entry in a table of its own: the number of a child is that of its parent plus an offset
that depends on the parent's view, the cell and whether the try fails. A subtree has contiguous numbers.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from envs.capabilities import TOLERANCE
from envs.compiled import kernel
from envs.placement.rules import FAILED, NONE

MOST_RANKED = 10
"""Largest number of cells of a board whose infosets are ranked; the rules allow more."""


@dataclass(frozen=True, eq=False)
class Ranking:
    """The views of one player, `V` = 3 ** cells, as numbers in base 3: digit 1 is an own stone, 2 a known one.

    Attributes:
        own: Own stones, `int32[V]`.
        known: The opponent's stones that are known, `int32[V]`.
        infosets: Number of infosets at and below one with this view, `int64[V]`; 0 for views that do not occur.
        slots: Number of legal actions of all these infosets, `int64[V]`.
        infoset_of: The infoset after a try has the number of its parent plus ``infoset_of[view, cell, failed]``,
            `int64[V, cells, 2]`; -1 where the player is not to move again.
        slot_of: The same of an infoset's first slot.
    """

    own: NDArray[np.int32]
    known: NDArray[np.int32]
    infosets: NDArray[np.int64]
    slots: NDArray[np.int64]
    infoset_of: NDArray[np.int64]
    slot_of: NDArray[np.int64]


def ternary_sets(cells: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Returns the cells with digit 1 and those with digit 2 in base 3 for each number below 3 ** `cells`, `int32[V]`.

    The third array has the numbers with few empty cells first, `int64[V]`: moves fill cells, so that what follows a
    number comes before it.
    """
    ones, twos = np.zeros(3**cells, np.int32), np.zeros(3**cells, np.int32)
    for cell in range(cells):
        digit = np.arange(3**cells) // 3**cell % 3
        ones |= (digit == 1).astype(np.int32) << cell
        twos |= (digit == 2).astype(np.int32) << cell
    return ones, twos, np.argsort(-np.bitwise_count(ones | twos).astype(np.int64), kind="stable")


def rank(won: NDArray[np.bool_], player: int, abrupt: bool) -> Ranking:
    """Ranks the infosets of a player in which the player is to move.

    Args:
        won: See `envs.placement.rules.apply`.
        player: 0 or 1.
        abrupt: Whether a failed try ends the turn.
    """
    cells = (won.shape[1] - 1).bit_length()
    views = 3**cells
    own, known, order = ternary_sets(cells)
    infosets, slots = np.zeros(views, np.int64), np.zeros(views, np.int64)
    infoset_of, slot_of = np.full((views, cells, 2), -1, np.int64), np.full((views, cells, 2), -1, np.int64)
    _count(won, player, abrupt, own, known, order, infosets, slots, infoset_of, slot_of)
    return Ranking(own, known, infosets, slots, infoset_of, slot_of)


def listed(
    ranking: Ranking, start: int, stop: int, with_tries: bool = True
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Lists the infosets `start` to `stop` - 1: their views, `int32[N]`, and tries in their order, `uint8[N, cells]`.

    A failed try has the flag `FAILED`; `NONE` follows the last one. Without tries their array has no rows.
    """
    views = np.zeros(stop - start, np.int32)
    tries = np.full((len(views) if with_tries else 0, ranking.infoset_of.shape[1]), NONE, np.uint8)
    _list(ranking.infosets, ranking.infoset_of, start, views, tries)
    return views, tries


@kernel
def _list(infosets, infoset_of, start, views, tries):
    """Writes `len(views)` infosets from number `start` on, depth first; subtrees before them are skipped."""
    stop = start + len(views)
    cells = infoset_of.shape[1]
    view, number = np.zeros(cells + 2, np.int64), np.zeros(cells + 2, np.int64)
    turn, tried = np.zeros(cells + 2, np.int64), np.full(cells + 2, NONE, np.int64)
    depth = 0  # number 0, the root, has the view 0
    while depth >= 0:
        cell, failed = turn[depth] >> 1, turn[depth] & 1
        if cell == cells:
            depth -= 1
            continue
        turn[depth] += 1
        offset = infoset_of[view[depth], cell, failed]
        if offset < 0:
            continue
        under, at = view[depth] + (1 + failed) * 3**cell, number[depth] + offset
        if at + infosets[under] <= start:
            continue
        if at >= stop:
            return
        tried[depth] = cell | (FAILED if failed else 0)
        depth += 1
        view[depth], number[depth], turn[depth] = under, at, 0
        if at >= start:
            views[at - start] = under
            if len(tries):
                for k in range(depth):
                    tries[at - start, k] = tried[k]


@kernel
def own_reach(infoset_of, policy, reach):
    """Writes the product of a player's probabilities on the way to each infoset: parents have smaller numbers.

    Args:
        infoset_of: See `Ranking`.
        policy: `float32[I, cells]`.
        reach: `float64[I]`.
    """
    view = np.zeros(len(reach), np.int32)
    reach[0] = 1.0  # number 0, the root, has the view 0
    for infoset in range(len(reach)):
        for cell in range(policy.shape[1]):
            for failed in range(2):
                offset = infoset_of[view[infoset], cell, failed]
                if offset >= 0:
                    view[infoset + offset] = view[infoset] + (1 + failed) * 3**cell
                    reach[infoset + offset] = reach[infoset] * policy[infoset, cell]


@kernel
def in_slots(seen, ranked, policy, out):
    """Writes the probabilities of legal actions one infoset after the other; each infoset's are divided by their sum.

    Args:
        seen: Cells that are not empty in each view, `int32[V]`.
        ranked: View of each infoset, `int32[I]`.
        policy: `float32[I, cells]`.
        out: `float32[slots]`.

    Returns:
        The first infoset whose probabilities are negative or do not sum to 1 within `TOLERANCE`, or -1.
    """
    at = 0
    for infoset in range(len(ranked)):
        start, total, least = at, 0.0, 0.0
        for cell in range(policy.shape[1]):
            if (seen[ranked[infoset]] >> cell) & 1 == 0:
                out[at] = policy[infoset, cell]
                total += policy[infoset, cell]
                least = min(least, policy[infoset, cell])
                at += 1
        if not (least >= 0.0 and abs(total - 1.0) <= TOLERANCE):
            return infoset
        for slot in range(start, at):
            out[slot] /= total
    return -1


@kernel
def _ones(mask):
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@kernel
def _hides(won, player, abrupt, own, known, here, empty):
    """Whether `player`, to move with this view, may face stones on `here`, which includes `known`, and not on `empty`.

    That is, whether the opponent has a set of stones that agrees with the number of their turns and has not won.
    """
    full = won.shape[1] - 1
    turns = _ones(own) + player  # classical: each turn of the opponent ends with a stone
    least = turns
    if abrupt:
        turns = _ones(own) + _ones(known) + player
        least = turns - _ones(own)  # the opponent may have found each stone once
    free = full & ~(own | here | empty)
    part = free
    while True:
        stones = here | part
        count = _ones(stones)
        if least <= count <= turns and not won[1 - player, stones] and (own | stones) != full:
            return True
        if part == 0:
            return False
        part = (part - 1) & free


@kernel
def _count(won, player, abrupt, own, known, order, infosets, slots, infoset_of, slot_of):
    """Fills the tables of `Ranking`, from full views to the empty one."""
    cells = infoset_of.shape[1]
    for view in order:
        mine, found = own[view], known[view]
        if won[player, mine] or not _hides(won, player, abrupt, mine, found, found, 0):
            continue
        below, actions = 1, 0
        for cell in range(cells):
            actions += ((mine | found) >> cell) & 1 == 0
        power = 1
        for cell in range(cells):
            bit = 1 << cell
            if (mine | found) & bit == 0:
                for failed in range(2):
                    after = view + power * (1 + failed)
                    here, empty = (found | bit, 0) if failed else (found, bit)
                    if infosets[after] and _hides(won, player, abrupt, mine, found, here, empty):
                        infoset_of[view, cell, failed] = below
                        slot_of[view, cell, failed] = actions
                        below += infosets[after]
                        actions += slots[after]
            power *= 3
        infosets[view], slots[view] = below, actions
