"""What keeps samples: the reservoir of all that was ever offered, and the ring of the latest.

Both hold one preallocated structured array. Its pages are touched only as rows arrive, so an empty buffer of
two million rows costs nothing. Rows are moved as opaque bytes: NumPy copies a record field by field
otherwise, which measured 7 times slower for a gather and 8 times for a scatter of 158-byte records (a
compiled loop: 4 to 7 times).
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from learners.storage import ForeignState

Block = NDArray[np.void]
"""Structured array of samples, one record a row."""


class EmptyBuffer(ValueError):
    """Rows were asked of a buffer that holds none."""


class RecordBuffer(ABC):
    """`capacity` rows of one record type, of which the first `len` are in use.

    Args:
        capacity: Rows that fit.
        dtype: Record type of a row.

    Attributes:
        capacity: Rows that fit.
        dtype: Record type of a row.
        offered: Rows ever offered to `add`.
        keeps_sample: Whether the rows held are a sample of all rows ever offered, and not the latest of them.

    Raises:
        ValueError: the capacity is not positive, or the dtype holds Python objects.
    """

    keeps_sample: ClassVar[bool]

    def __init__(self, capacity: int, dtype: np.dtype[Any] | Any) -> None:
        if capacity < 1:
            raise ValueError(f"a buffer needs a capacity of at least 1 row, not {capacity}")
        self.dtype = np.dtype(dtype)
        if self.dtype.hasobject or self.dtype.itemsize == 0:
            raise ValueError(f"a buffer holds plain records, not {self.dtype}")
        self.capacity = int(capacity)
        self.offered = 0
        self._records: Block = np.empty(self.capacity, self.dtype)
        self._raw = self._records.view(f"V{self.dtype.itemsize}")

    def __len__(self) -> int:
        """Rows in use."""
        return min(self.offered, self.capacity)

    @property
    def fill(self) -> float:
        """Rows in use, as a fraction of the capacity."""
        return len(self) / self.capacity

    @property
    def nbytes(self) -> int:
        """Bytes of the rows in use."""
        return len(self) * self.dtype.itemsize

    def add(self, block: Block, rng: np.random.Generator) -> None:
        """Offers the rows of `block`, oldest first.

        Args:
            block: `[n]` records; copied.
            rng: Source of every random choice.

        Raises:
            ValueError: `block` is not one-dimensional or of another record type; nothing has been changed.
        """
        if block.ndim != 1 or block.dtype != self.dtype:
            shape = "x".join(map(str, block.shape))
            raise ValueError(f"a block {shape} of {block.dtype} was offered to a buffer of {self.dtype}")
        if len(block):
            self._insert(np.ascontiguousarray(block).view(self._raw.dtype), rng)
            self.offered += len(block)

    @abstractmethod
    def _insert(self, rows: Block, rng: np.random.Generator) -> None:
        """Writes what is kept of `rows` (opaque bytes, at least one); `offered` is the count before them."""

    def sample(self, rows: int, rng: np.random.Generator) -> Block:
        """`rows` records drawn uniformly with replacement, copied.

        Raises:
            EmptyBuffer: the buffer holds no row.
        """
        if len(self) == 0 and rows > 0:
            raise EmptyBuffer(f"{rows} rows were asked of an empty buffer")
        return self.take(rng.integers(0, max(len(self), 1), rows))

    def take(self, indices: NDArray[np.integer]) -> Block:
        """The records at `indices` (places 0 .. len - 1, in no order of age), `[n]` records, copied.

        Raises:
            IndexError: an index lies beyond the rows in use.
        """
        return self._raw[: len(self)].take(indices).view(self.dtype)

    def state_arrays(self) -> dict[str, NDArray[Any]]:
        """All that `load_state_arrays` needs. `records` is a view: save it before the next `add`."""
        return {
            "records": self._records[: len(self)],
            "counts": np.array([self.capacity, self.offered], np.int64),
        }

    def load_state_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Takes over what `state_arrays` of a buffer of the same kind, capacity and record type returned.

        Raises:
            ForeignState: the state does not belong to such a buffer; nothing has been changed.
        """
        missing = {"records", "counts"} - arrays.keys()
        if missing:
            raise ForeignState(f"a buffer state without {' and '.join(sorted(missing))}")
        records, (capacity, offered) = arrays["records"], arrays["counts"].tolist()
        if records.dtype != self.dtype:
            raise ForeignState(f"a buffer state of {records.dtype} does not fit a buffer of {self.dtype}")
        if capacity != self.capacity:
            raise ForeignState(f"a buffer state of {capacity} rows does not fit a buffer of {self.capacity}")
        if len(records) != min(capacity, offered):
            raise ForeignState(f"a buffer state of {len(records)} rows says that {offered} were offered")
        self._records[: len(records)] = records
        self.offered = offered


class ReservoirBuffer(RecordBuffer):
    """A uniform sample, without replacement, of all rows ever offered (Vitter 1985, algorithm R).

    After n rows each of them is kept with probability min(1, capacity / n), exactly; the kept set is uniform
    among all sets of that size.
    """

    keeps_sample = True

    def _insert(self, rows: Block, rng: np.random.Generator) -> None:
        filling = min(self.capacity - len(self), len(rows))
        self._raw[len(self) : len(self) + filling] = rows[:filling]
        rest = rows[filling:]
        if len(rest) == 0:
            return
        # Row number r (from 0) goes to a place drawn from 0 .. r and is kept where that place exists. Of two
        # rows of this block with the same place the later wins, as if they had come one by one: NumPy assigns
        # in order.
        first = self.offered + filling
        places = rng.integers(0, np.arange(first, first + len(rest)), endpoint=True)
        kept = np.flatnonzero(places < self.capacity)
        self._raw[places[kept]] = rest[kept]


class CircularBuffer(RecordBuffer):
    """The latest `capacity` rows. Takes a generator only to be used like the reservoir; it draws nothing."""

    keeps_sample = False

    def _insert(self, rows: Block, rng: np.random.Generator) -> None:
        latest = rows[-self.capacity :]
        start = (self.offered + len(rows) - len(latest)) % self.capacity
        before_end = min(len(latest), self.capacity - start)
        self._raw[start : start + before_end] = latest[:before_end]
        self._raw[: len(latest) - before_end] = latest[before_end:]
