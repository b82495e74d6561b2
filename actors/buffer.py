"""The server of one sample buffer: workers' chunks are added to it and learners draw from it."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learners.buffers import Block, EmptyBuffer, RecordBuffer
from learners.shares import Share
from learners.storage import ForeignState, load_state, save_state

Words = tuple[int, ...]
"""Non-negative integers: the seed of a random stream, or the id of a chunk."""

# Separate the random streams of this module from each other, and from streams with the same seed elsewhere.
_ADD, _SAMPLE, _PERMUTE = 0xADD, 0x5A3, 0x9E2


class BufferServer:
    """One buffer, to which each chunk is added once and whose draws depend on their seeds alone.

    Rows are added in the order of the calls, and every random choice comes from a seed in the call. If the driver adds
    the chunks in their order, the content and each draw are therefore the same for any number of workers.

    A chunk id begins with the iteration. The ids of the newest two iterations are remembered, and a chunk that is added
    again is ignored.

    Args:
        kind: `ReservoirBuffer` or `CircularBuffer`.
        capacity: Capacity in rows.
        dtype: Record type of a row.
        part: Key of this buffer's rows in a block that is a mapping, e.g. ``"advantages"``.
    """

    def __init__(self, kind: type[RecordBuffer], capacity: int, dtype: np.dtype[Any], part: str | None = None) -> None:
        self.buffer = kind(capacity, dtype)
        self.part = part
        self._seen: set[Words] = set()
        self._newest = -1
        self._repeated = 0
        self._order: tuple[Words, NDArray[np.int32]] | None = None

    def add(self, chunk_id: Words, block: Block | Mapping[str, Block], seed: Words) -> int:
        """Adds the rows of one chunk, unless they have been added before.

        Args:
            chunk_id: The iteration, then integers that make the id unique.
            block: The rows of the chunk, or a mapping that holds them under `part`.
            seed: Determines which rows a reservoir keeps.

        Returns:
            Number of rows offered to the buffer; 0 for a repeated chunk.

        Raises:
            ValueError: The chunk is older than the ids that are remembered, or the rows have another dtype.
        """
        chunk_id = tuple(chunk_id)
        iteration = chunk_id[0]
        if iteration < self._newest - 1:
            raise ValueError(
                f"chunk {chunk_id} belongs to iteration {iteration}, but the buffer has reached iteration "
                f"{self._newest} and remembers the chunks of two iterations only"
            )
        if chunk_id in self._seen:
            self._repeated += 1
            return 0
        rows: Block = block if self.part is None else block[self.part]  # type: ignore[assignment]
        self.buffer.add(rows, generator(seed, _ADD))  # first, so that a refused chunk can be added later
        self._newest = max(self._newest, iteration)
        self._seen = {seen for seen in self._seen if seen[0] >= self._newest - 1} | {chunk_id}
        return len(rows)

    def clear(self) -> None:
        """Forgets all rows: those that follow are of an iteration of their own. The ids of chunks are kept."""
        self.buffer.clear()
        self._order = None

    def draw(self, seed: Words, start: int, rows: int, epoch: bool, share: Share | None = None) -> Block:
        """Draws rows for a learner.

        Args:
            seed: Determines the draw, together with `start`.
            start: Position in the learner's stream of rows.
            rows: Number of rows.
            epoch: False draws `rows` uniform rows with replacement. True returns rows [start, start + rows) of a
                permutation of the whole buffer, which is the same for all calls with this seed; the last block is
                shorter, and those after it are empty. Rows added during an epoch would replace some of its rows.
            share: Restricts the draw to the rows of one of several learners; None for all rows.

        Returns:
            `[n]` records.

        Raises:
            EmptyBuffer: Rows are drawn with replacement from an empty buffer.
        """
        seed = tuple(seed)
        held = len(self.buffer)
        indices: NDArray[np.signedinteger[Any]]
        if epoch:
            indices = self._epoch(seed, held)[start : start + rows]
        else:
            if held == 0 and rows > 0:
                raise EmptyBuffer(f"{rows} rows cannot be drawn from an empty buffer")
            indices = generator(seed, _SAMPLE, start).integers(0, max(held, 1), rows)
        return self.buffer.take(indices if share is None else indices[share.of(len(indices))])

    def _epoch(self, seed: Words, rows: int) -> NDArray[np.int32]:
        """The order of the rows in an epoch; computed once for all calls with the seed."""
        if self._order is None or self._order[0] != seed:
            order = np.arange(rows, dtype=np.int32)
            generator(seed, _PERMUTE).shuffle(order)
            self._order = seed, order
        return self._order[1]

    def stats(self) -> dict[str, int | float]:
        """``rows``, ``capacity``, ``offered``, ``fill`` (a fraction), ``repeated`` (chunks ignored) and ``bytes``."""
        return {
            "rows": len(self.buffer),
            "capacity": self.buffer.capacity,
            "offered": self.buffer.offered,
            "fill": self.buffer.fill,
            "repeated": self._repeated,
            "bytes": self.buffer.nbytes,
        }

    def save(self, path: str | os.PathLike[str]) -> int:
        """Writes content and chunk ids to `path` atomically. Returns the number of rows."""
        meta = {
            "kind": type(self.buffer).__name__,
            "newest": self._newest,
            "seen": sorted(map(list, self._seen)),
            "repeated": self._repeated,
        }
        save_state(path, self.buffer.state_arrays(), meta, checksum=False)  # the checkpoint's manifest has one
        return len(self.buffer)

    def load(self, path: str | os.PathLike[str]) -> int:
        """Restores the state that `save` has written. Returns the number of rows.

        Raises:
            DamagedFile: The file is damaged.
            ForeignState: The file belongs to a buffer of another kind, capacity or dtype; this one is unchanged.
        """
        arrays, meta = load_state(path)
        if meta.get("kind") != type(self.buffer).__name__:
            raise ForeignState(f"{path} contains a {meta.get('kind')}, not a {type(self.buffer).__name__}")
        try:
            self.buffer.load_state_arrays(arrays)
        except ForeignState as error:
            raise ForeignState(f"{path}: {error}") from None
        self._seen = {tuple(words) for words in meta["seen"]}
        self._newest = meta["newest"]
        self._repeated = meta["repeated"]
        self._order = None
        return len(self.buffer)


def generator(seed: Words, *stream: int) -> np.random.Generator:
    """The random generator of a stream and a seed."""
    # The length comes first because entropy is padded with zeros: (3,) and (3, 0) would be the same stream.
    return np.random.default_rng(np.random.SeedSequence((len(seed), *seed), spawn_key=stream))
