"""Merges actions with the same cards: keeps the strongest reading of each multiset."""

import numpy as np

from envs.compiled import kernel
from envs.guandan.rules.cards import count_of, emit

TABLE = 65_536
"""Size of the hash table of `merge_readings`, a power of 2."""


@kernel
def merge_readings(rows, start, end, level, table):
    """Removes all rows but one of each multiset of cards, in place, keeping the strongest reading.

    Only rows with wild cards can have a second reading. They are found by a hash table with linear probing, whose
    entries are row numbers. Entries outside of start .. n are of earlier lists and count as empty.

    Args:
        rows: Action records, `[N]`; of equal multisets the later row is the stronger, as `plays` orders them.
        start, end: First row of the list, and the row after the last.
        level: Rank of the round's level.
        table: Scratch, `int64[TABLE]`; entries of earlier lists in the same `rows` need not be cleared.

    Returns:
        The new end of the list.
    """
    n = start
    for i in range(start, end):
        low, high = rows[i].low, rows[i].high
        if count_of(low, high, 4 * level) > 0:
            key = (low ^ (high * np.uint64(0x9E3779B97F4A7C15))) * np.uint64(0xD6E8FEB86659FD93)
            slot = np.int64(key >> np.uint64(48))
            found = np.int64(-1)
            while table[slot] >= start and table[slot] < n:
                at = table[slot]
                if rows[at].low == low and rows[at].high == high:
                    found = at
                    break
                slot = (slot + 1) % TABLE
            if found >= 0:
                rows[found].kind = rows[i].kind
                rows[found].rank = rows[i].rank
                continue
            table[slot] = n
        if n != i:
            emit(rows, n, low, high, rows[i].kind, rows[i].rank, rows[i].size)
        n += 1
    return n
