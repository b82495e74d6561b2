"""Regrets and average strategies by infoset, in a hash table that grows as infosets are met.

Open addressing: a slot holds the key of an infoset and the index at which its record begins in an array of numbers. The
record of an infoset with `n` actions is contiguous, so a visit touches neighbouring memory:

    at          stamp: the iteration that last set the strategy, or `FRESH` or `FRESH_ONCE`
    at + 1      n regrets
    at + 1 + n  n strategy sums
    at + 1 + 2n n probabilities, the strategy of the present iteration
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from envs.cheat.rules import mixed
from envs.compiled import kernel

SLOT = np.dtype(
    [("first", np.uint64), ("second", np.uint64), ("at", np.int64), ("count", np.int32), ("visited", np.int32)],
    align=True,
)
"""Key (two words), index at which the record begins, and number of actions; `count` 0 marks a free slot. `visited` is 1
once an iteration has met the infoset since the last `Table.renew`."""

HEAD = 1
"""Numbers before the regrets in a record."""
FRESH = -1.0
"""Stamp of an infoset whose next strategy is its average (paper 001, 4.1.1, step 3)."""
FRESH_ONCE = -2.0
"""Stamp of an infoset whose next strategy is its average, which then begins again."""
LOAD = 0.7
"""Largest share of slots in use."""


class Infosets(NamedTuple):
    """The arrays of a table, for kernels, which change them in place.

    Attributes:
        slots: `SLOT[S]`, S a power of 2.
        values: Records one after the other, `float64[V]`.
        sizes: Slots and values in use, `int64[2]`.
    """

    slots: NDArray[np.void]
    values: NDArray[np.float64]
    sizes: NDArray[np.int64]


@kernel
def probe(slots, first, second):
    """Index of the slot that holds a key, or of the free slot where it belongs."""
    mask = np.uint64(slots.shape[0] - 1)
    place = mixed(first, second * np.uint64(0x9E3779B97F4A7C15)) & mask
    while slots[place].count != 0 and (slots[place].first != first or slots[place].second != second):
        place = (place + np.uint64(1)) & mask
    return place


@kernel
def has_space(table, count):
    """Whether an infoset with `count` actions can be added; if not, see `enlarged`."""
    slots, values, sizes = table
    return sizes[0] + 1 <= LOAD * slots.shape[0] and sizes[1] + record_size(count) <= values.shape[0]


@kernel
def add_infoset(table, place, first, second, count):
    """Adds a key to the free slot `place`, with a record of zeros; the table must have space."""
    slots, _, sizes = table
    slot = slots[place]
    slot.first, slot.second = first, second
    slot.at, slot.count = sizes[1], count
    sizes[0] += 1
    sizes[1] += record_size(count)


@kernel
def enlarged(table, count):
    """The same infosets, with space for one more that has `count` actions."""
    slots, values, sizes = table
    if sizes[0] + 1 > LOAD * slots.shape[0]:
        larger = np.zeros(2 * slots.shape[0], slots.dtype)
        for i in range(slots.shape[0]):
            if slots[i].count != 0:
                larger[probe(larger, slots[i].first, slots[i].second)] = slots[i]
        slots = larger
    needed = sizes[1] + record_size(count)
    if needed > values.shape[0]:
        longer = np.zeros(max(needed, values.shape[0] + values.shape[0] // 2), np.float64)
        longer[: sizes[1]] = values[: sizes[1]]
        values = longer
    return Infosets(slots, values, sizes)


@kernel
def record_size(count):
    """Numbers in the record of an infoset with `count` actions."""
    return HEAD + 3 * count


@kernel
def match_regrets(values, at, count, stamp):
    """Sets the strategy of iteration `stamp`: regret matching, or the average strategy if the infoset is fresh."""
    regrets, sums, policy = at + HEAD, at + HEAD + count, at + HEAD + 2 * count
    source = sums if values[at] < 0 else regrets
    once = values[at] == FRESH_ONCE
    values[at] = stamp
    total = 0.0
    for a in range(count):
        positive = max(values[source + a], 0.0)
        values[policy + a] = positive
        total += positive
        if once:
            values[sums + a] = 0.0
    for a in range(count):
        values[policy + a] = values[policy + a] / total if total > 0 else 1.0 / count


@kernel
def _copy_infosets(table, keys, at, counts):
    """Adds the keys `uint64[n, 2]` that are missing, with copies of the records that begin at `at[n]`."""
    for i in range(keys.shape[0]):
        place = probe(table.slots, keys[i, 0], keys[i, 1])
        if table.slots[place].count != 0:
            continue
        if not has_space(table, counts[i]):
            table = enlarged(table, counts[i])
            place = probe(table.slots, keys[i, 0], keys[i, 1])
        begin, size = table.sizes[1], record_size(counts[i])
        add_infoset(table, place, keys[i, 0], keys[i, 1], counts[i])
        table.values[begin : begin + size] = table.values[at[i] : at[i] + size]
    return table


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


@kernel
def _insert(slots, others):
    for i in range(others.shape[0]):
        slots[probe(slots, others[i].first, others[i].second)] = others[i]


class Table:
    """The infosets of one solver.

    Attributes:
        infosets: The arrays, for kernels.
    """

    def __init__(self) -> None:
        self.infosets = Infosets(np.zeros(1024, SLOT), np.zeros(1 << 14), np.zeros(2, np.int64))

    @property
    def slots(self) -> NDArray[np.void]:
        """All slots, `SLOT[S]`."""
        return self.infosets.slots

    @property
    def values(self) -> NDArray[np.float64]:
        """The records, `float64[V]`."""
        return self.infosets.values

    @property
    def used(self) -> int:
        """Number of infosets."""
        return int(self.infosets.sizes[0])

    @property
    def occupied(self) -> NDArray[np.void]:
        """Slots in use, `SLOT[used]`, ordered by key."""
        here = self.slots[self.slots["count"] > 0]
        return here[np.lexsort((here["second"], here["first"]))]

    @property
    def visited(self) -> int:
        """Infosets that an iteration has met since `renew`."""
        return int((self.slots["visited"] != 0).sum())

    @property
    def bytes(self) -> int:
        """Memory in use."""
        return self.slots.nbytes + 8 * int(self.infosets.sizes[1])

    def renew(self, keep_sums: bool) -> None:
        """Marks every infoset as not yet visited; its next strategy is its average strategy.

        Args:
            keep_sums: Keep the strategy sums for later averages too; if not, those of an infoset begin again with its
                next visit.
        """
        self.slots["visited"] = 0
        self.values[self.slots["at"][self.slots["count"] > 0]] = FRESH if keep_sums else FRESH_ONCE

    def add_copies(self, keys: NDArray[np.uint64], of: NDArray[np.void]) -> None:
        """Adds the keys `uint64[n, 2]` that are missing, with copies of the records of the slots `of`, `SLOT[n]`."""
        if keys.shape != (len(of), 2):
            raise ValueError(f"keys must be uint64[{len(of)}, 2], got {keys.dtype}{list(keys.shape)}")
        self.infosets = Infosets(*_copy_infosets(self.infosets, keys, of["at"], of["count"]))

    def policies(self, average: bool) -> NDArray[np.float64]:
        """Policies of all `occupied` infosets, concatenated, `float64[sum of counts]`.

        Args:
            average: Whether to return the average strategy of all iterations, or the current one by regret matching.
        """
        here = self.occupied
        out = np.empty(int(here["count"].sum()))
        _policies(here, self.values, average, out)
        return out

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The table as arrays for a file."""
        return {"slots": self.occupied, "values": self.values[: self.infosets.sizes[1]]}

    def load(self, slots: NDArray[np.void], values: NDArray[np.float64]) -> None:
        """Restores a table from its `arrays`.

        Raises:
            ValueError: the arrays have other types, or do not fit each other.
        """
        if slots.dtype != SLOT or values.dtype != np.float64 or values.ndim != 1 or slots.ndim != 1:
            raise ValueError("slots and values do not have the types of a table of infosets")
        sizes = HEAD + 3 * slots["count"].astype(np.int64)
        inside = (slots["at"] >= 0) & (slots["count"] >= 1) & (slots["at"] <= len(values) - sizes)
        if not inside.all():
            raise ValueError("slots of the table point outside its values")
        if not np.isfinite(values).all():
            raise ValueError("values of the table are not all finite")
        size = 1024
        while len(slots) > LOAD * size:
            size *= 2
        listed = np.empty(len(slots), SLOT)  # aligned as kernels expect, which arrays from a file need not be
        listed[:] = slots
        self.infosets = Infosets(np.zeros(size, SLOT), values.copy(), np.array([len(slots), len(values)]))
        _insert(self.slots, listed)


__all__ = [
    "FRESH",
    "FRESH_ONCE",
    "HEAD",
    "LOAD",
    "SLOT",
    "Infosets",
    "Table",
    "add_infoset",
    "enlarged",
    "has_space",
    "match_regrets",
    "probe",
    "record_size",
]
