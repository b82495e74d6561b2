"""A buffer that others fill and draw from: what a buffer actor hosts, and what an inline run calls."""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learners.buffers import Block, EmptyBuffer, RecordBuffer
from learners.shares import Share
from learners.storage import ForeignState, load_state, save_state

Words = tuple[int, ...]
"""Entropy of one random stream, or the name of a chunk: non-negative integers."""

# They set the streams drawn here apart from each other, and from those seeded by the same words elsewhere.
_ADD, _SAMPLE, _PERMUTE = 0xADD, 0x5A3, 0x9E2


class BufferServer:
    """One buffer, filled by chunks that may come twice and drawn from by seed.

    Nothing depends on who asks or when: rows are added in the order of the calls, every random choice comes
    from a seed in the call. So as long as the driver adds chunks in their order, the content and each draw
    are the same for any number of workers.

    A chunk id begins with the iteration. Ids of the newest iteration seen and of the one before are
    remembered; a chunk that comes again is ignored.

    Args:
        kind: `ReservoirBuffer` or `CircularBuffer`.
        capacity: Rows that fit.
        dtype: Record type of a row.
        part: Key under which a block that is a mapping holds this buffer's rows, e.g. ``"advantages"``.
    """

    def __init__(self, kind: type[RecordBuffer], capacity: int, dtype: np.dtype[Any], part: str | None = None) -> None:
        self.buffer = kind(capacity, dtype)
        self.part = part
        self._seen: set[Words] = set()
        self._newest = -1
        self._repeated = 0
        self._order: tuple[Words, NDArray[np.int32]] | None = None

    def add(self, chunk_id: Words, block: Block | Mapping[str, Block], seed: Words) -> int:
        """Offers the rows of one chunk, unless that has been done before.

        Args:
            chunk_id: Name of the chunk: the iteration first, then whatever makes it unique.
            block: Its rows, or a mapping that holds them under `part`.
            seed: Decides which rows a reservoir keeps.

        Returns:
            Rows offered; 0 for a chunk that has come before.

        Raises:
            ValueError: the chunk is older than the ids that are remembered, or the rows are of another type.
        """
        chunk_id = tuple(chunk_id)
        iteration = chunk_id[0]
        if iteration < self._newest - 1:
            raise ValueError(
                f"chunk {chunk_id} belongs to iteration {iteration}, but the buffer has reached "
                f"{self._newest} and cannot tell any more whether it has that chunk"
            )
        if chunk_id in self._seen:
            self._repeated += 1
            return 0
        rows: Block = block if self.part is None else block[self.part]  # type: ignore[assignment]
        self.buffer.add(rows, generator(seed, _ADD))  # first, so that a refused chunk may come again
        self._newest = max(self._newest, iteration)
        self._seen = {seen for seen in self._seen if seen[0] >= self._newest - 1} | {chunk_id}
        return len(rows)

    def draw(self, seed: Words, start: int, rows: int, epoch: bool, share: Share | None = None) -> Block:
        """Rows for a learner.

        Args:
            seed: Decides the draw, together with `start`.
            start: Position in the learner's stream of rows.
            rows: Number of rows.
            epoch: False: `rows` uniform rows with replacement. True: rows [start, start + rows) of one
                permutation of the whole buffer, the same for all calls with this seed; the last block is
                short, after it come empty ones. Add nothing between the draws of an epoch: rows would be
                replaced under it.
            share: Of these rows only those that one of several learners trains on; None: all.

        Returns:
            `[n]` records.

        Raises:
            EmptyBuffer: rows are to be drawn with replacement from an empty buffer.
        """
        seed = tuple(seed)
        held = len(self.buffer)
        places: NDArray[np.signedinteger[Any]]
        if epoch:
            places = self._epoch(seed, held)[start : start + rows]
        else:
            if held == 0 and rows > 0:
                raise EmptyBuffer(f"{rows} rows were asked of an empty buffer")
            places = generator(seed, _SAMPLE, start).integers(0, max(held, 1), rows)
        return self.buffer.take(places if share is None else places[share.of(len(places))])

    def _epoch(self, seed: Words, rows: int) -> NDArray[np.int32]:
        """The order of an epoch over so many rows; made once for all calls with the seed."""
        if self._order is None or self._order[0] != seed:
            order = np.arange(rows, dtype=np.int32)
            generator(seed, _PERMUTE).shuffle(order)
            self._order = seed, order
        return self._order[1]

    def stats(self) -> dict[str, int | float]:
        """`rows`, `capacity`, `offered`, `fill` (fraction), `repeated` (chunks ignored), `bytes`."""
        return {
            "rows": len(self.buffer),
            "capacity": self.buffer.capacity,
            "offered": self.buffer.offered,
            "fill": self.buffer.fill,
            "repeated": self._repeated,
            "bytes": self.buffer.nbytes,
        }

    def save(self, path: str | os.PathLike[str]) -> int:
        """Writes content and chunk ids to `path`, aside first and then renamed. Returns the rows written."""
        meta = {
            "kind": type(self.buffer).__name__,
            "newest": self._newest,
            "seen": sorted(map(list, self._seen)),
            "repeated": self._repeated,
        }
        save_state(path, self.buffer.state_arrays(), meta, checksum=False)  # the checkpoint's manifest has one
        return len(self.buffer)

    def load(self, path: str | os.PathLike[str]) -> int:
        """Goes on from what `save` wrote. Returns the rows read.

        Raises:
            DamagedFile: the file is damaged.
            ForeignState: it belongs to a buffer of another kind, capacity or record type; nothing has been
                changed.
        """
        arrays, meta = load_state(path)
        if meta.get("kind") != type(self.buffer).__name__:
            raise ForeignState(f"{path} holds a {meta.get('kind')}, not a {type(self.buffer).__name__}")
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
    """The random stream of that name and seed."""
    # The length goes first because entropy is padded with zeros: (3,) and (3, 0) would be one stream.
    return np.random.default_rng(np.random.SeedSequence((len(seed), *seed), spawn_key=stream))
