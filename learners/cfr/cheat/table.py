"""Regrets and average strategies by infoset, in an open-addressing table that grows as infosets are met.

A key is two words. Its slot says where the infoset's numbers lie in one array: a stamp, then regrets, strategy sums and
the strategy of the present iteration, each for all actions of the infoset, so that a visit touches neighbours.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from envs.cheat.rules import mixed
from envs.compiled import kernel

SLOT = np.dtype(
    [("first", np.uint64), ("second", np.uint64), ("at", np.int64), ("count", np.int32), ("visited", np.int32)],
    align=True,
)
"""Key, where the numbers begin, how many actions; `count` 0 marks a free slot. `visited` is not 0 once an iteration has
met the infoset, and not only a curriculum."""

HEAD = 1
FRESH = -1.0
"""Stamp of an infoset that takes its strategy from its sums at the next visit, as a curriculum wants."""
LOAD = 0.7
"""Share of slots in use at most."""


@kernel
def probe(slots, first, second):
    """Place of a key's slot, or of the free one where it belongs."""
    mask = np.uint64(slots.shape[0] - 1)
    place = mixed(first, second * np.uint64(0x9E3779B97F4A7C15)) & mask
    while slots[place].count != 0 and (slots[place].first != first or slots[place].second != second):
        place = (place + np.uint64(1)) & mask
    return place


@kernel
def enlarged(slots):
    """The same keys in twice the slots."""
    larger = np.zeros(2 * slots.shape[0], slots.dtype)
    for i in range(slots.shape[0]):
        if slots[i].count != 0:
            larger[probe(larger, slots[i].first, slots[i].second)] = slots[i]
    return larger


@kernel
def lengthened(values, filled, needed):
    """Room for at least `needed` numbers; those from `filled` on are 0."""
    if needed <= values.shape[0]:
        return values
    longer = np.zeros(max(needed, values.shape[0] + values.shape[0] // 2), np.float64)
    longer[:filled] = values[:filled]
    return longer


@kernel
def record_size(count):
    """Numbers of an infoset with so many actions."""
    return HEAD + 3 * count


@kernel
def match_regrets(values, at, count, stamp):
    """Writes the strategy of this iteration: regret matching, or the average of a fresh infoset."""
    regrets, sums, policy = at + HEAD, at + HEAD + count, at + HEAD + 2 * count
    source = sums if values[at] == FRESH else regrets
    values[at] = stamp
    total = 0.0
    for a in range(count):
        positive = max(values[source + a], 0.0)
        values[policy + a] = positive
        total += positive
    for a in range(count):
        values[policy + a] = values[policy + a] / total if total > 0 else 1.0 / count


@kernel
def _copy_infosets(slots, used, values, filled, keys, at, counts):
    """Adds infosets with the numbers that lie at `at`; those that are there already stay as they are."""
    for i in range(keys.shape[0]):
        place = probe(slots, keys[i, 0], keys[i, 1])
        if slots[place].count != 0:
            continue
        if used + 1 > LOAD * slots.shape[0]:
            slots = enlarged(slots)
            place = probe(slots, keys[i, 0], keys[i, 1])
        size = record_size(counts[i])
        values = lengthened(values, filled, filled + size)
        slots[place].first, slots[place].second = keys[i, 0], keys[i, 1]
        slots[place].at, slots[place].count = filled, counts[i]
        values[filled : filled + size] = values[at[i] : at[i] + size]
        filled += size
        used += 1
    return slots, used, values, filled


@kernel
def _policies(slots, values, average, out):
    filled = 0
    for i in range(slots.shape[0]):
        count = slots[i].count
        source = slots[i].at + HEAD + (count if average else 0)
        total = 0.0
        for a in range(count):
            total += max(values[source + a], 0.0)
        for a in range(count):
            out[filled + a] = max(values[source + a], 0.0) / total if total > 0 else 1.0 / count
        filled += count


class Table:
    """The table of one solver.

    Attributes:
        slots, used, values, filled: What kernels take and give back: slots and how many are in use, numbers and how
            many are in use.
    """

    def __init__(self) -> None:
        self.slots, self.used = np.zeros(1024, SLOT), 0
        self.values, self.filled = np.zeros(1 << 14), 0

    @property
    def occupied(self) -> NDArray[np.void]:
        """Slots in use, in the order of their keys."""
        here = self.slots[self.slots["count"] > 0]
        return here[np.lexsort((here["second"], here["first"]))]

    @property
    def visited(self) -> int:
        """Infosets that an iteration has met since `renew`."""
        return int((self.slots["visited"] != 0).sum())

    @property
    def bytes(self) -> int:
        """Memory in use."""
        return self.slots.nbytes + 8 * self.filled

    def renew(self) -> None:
        """From now on infosets count as not yet met, and begin with their average strategy."""
        self.slots["visited"] = 0
        self.values[self.slots["at"][self.slots["count"] > 0]] = FRESH

    def add_copies(self, keys: NDArray[np.uint64], of: NDArray[np.void]) -> None:
        """Adds infosets `uint64[n, 2]` that are not there yet with the numbers of the slots `of`, `[n]`."""
        table = self.slots, self.used, self.values, self.filled
        self.slots, self.used, self.values, self.filled = _copy_infosets(*table, keys, of["at"], of["count"])

    def policies(self, average: bool) -> NDArray[np.float64]:
        """Policies of all `occupied` infosets one after the other, `float64[sum of counts]`: the average of all
        iterations, or what regret matching gives now."""
        here = self.occupied
        out = np.empty(int(here["count"].sum()))
        _policies(here, self.values, average, out)
        return out

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The whole table, for a file."""
        return {"slots": self.occupied, "values": self.values[: self.filled]}

    def load(self, slots: NDArray[np.void], values: NDArray[np.float64]) -> None:
        """Reverse of `arrays`.

        Raises:
            ValueError: the arrays are of another kind, or do not fit each other.
        """
        if slots.dtype != SLOT or values.dtype != np.float64 or values.ndim != 1 or slots.ndim != 1:
            raise ValueError("the arrays are of no table of infosets")
        sizes = HEAD + 3 * slots["count"].astype(np.int64)
        inside = (slots["at"] >= 0) & (slots["count"] >= 1) & (slots["at"] <= len(values) - sizes)
        if not inside.all():
            raise ValueError("slots point outside the numbers of the table")
        if not np.isfinite(values).all():
            raise ValueError("the table holds numbers that are not finite")
        size = 1024
        while len(slots) > LOAD * size:
            size *= 2
        self.slots, self.used = np.zeros(size, SLOT), len(slots)
        listed = np.empty(len(slots), SLOT)  # with the alignment that kernels know, which no file keeps
        listed[:] = slots
        _insert(self.slots, listed)
        self.values, self.filled = values.copy(), len(values)


@kernel
def _insert(slots, others):
    for i in range(others.shape[0]):
        slots[probe(slots, others[i].first, others[i].second)] = others[i]


__all__ = ["FRESH", "HEAD", "LOAD", "SLOT", "Table", "enlarged", "lengthened", "match_regrets", "probe", "record_size"]
