"""Growing columns for the decisions of many games in lock step, and fast copies of record arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Rows:
    """Named columns of equal length. Their memory is reused, so that a worker touches fresh pages only once.

    Args:
        columns: dtype and shape of one row of each column.
        capacity: Initial number of rows to allocate.
    """

    def __init__(self, columns: dict[str, tuple[Any, tuple[int, ...]]], capacity: int = 1024) -> None:
        self._columns = columns
        self._held = {name: np.empty((capacity, *shape), dtype) for name, (dtype, shape) in columns.items()}
        self._capacity = capacity
        self.length = 0

    def clear(self) -> None:
        """Removes all rows and keeps the memory."""
        self.length = 0

    def append(self, count: int) -> dict[str, NDArray[Any]]:
        """Appends `count` rows and returns views of their columns, to be written by the caller."""
        start, end = self.length, self.length + count
        if end > self._capacity:
            self._capacity = max(end, 2 * self._capacity)
            for name, held in self._held.items():
                grown = np.empty((self._capacity, *held.shape[1:]), held.dtype)
                grown[:start] = held[:start]
                self._held[name] = grown
        self.length = end
        return {name: held[start:end] for name, held in self._held.items()}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._held[name][: self.length]


def take_records(records: NDArray[np.void], which: NDArray[np.int64]) -> NDArray[np.void]:
    """`records[which]`, copied as opaque bytes: NumPy copies records field by field, which takes ten times as long."""
    return records.view(f"V{records.dtype.itemsize}")[which].view(records.dtype)


def put_records(records: NDArray[np.void], which: NDArray[np.int64], more: NDArray[np.void]) -> None:
    """`records[which] = more`, copied as opaque bytes."""
    opaque = f"V{records.dtype.itemsize}"
    records.view(opaque)[which] = more.view(opaque)


def join_records(records: NDArray[np.void], more: NDArray[np.void]) -> NDArray[np.void]:
    """`records` followed by `more`, copied as opaque bytes."""
    opaque = f"V{records.dtype.itemsize}"
    return np.concatenate([records.view(opaque), more.view(opaque)]).view(records.dtype)
