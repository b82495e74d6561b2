"""One sample buffer divided among several actors, for more samples per second than one process can take.

The id of a chunk determines its shard. A reservoir of C rows in S shards consists of S reservoirs of C / S rows, each
over the chunks of its shard; a draw takes rows from all shards. Everything follows from ids and seeds, so the rows are
the same for any number of workers.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.buffer import BufferServer, Words, generator
from actors.runtime import Gathered, Handle, Ref, Runtime
from learners.buffers import Block, EmptyBuffer, RecordBuffer
from learners.shares import Share

_ASSIGN, _DRAW = 0xA55, 0xD4A  # random streams, as in `actors.buffer`


class ShardServer(BufferServer):
    """One shard of a divided buffer. Arguments as for `BufferServer`."""

    def draw_shard(
        self,
        seed: Words,
        start: int,
        rows: int,
        epoch: bool,
        share: Share | None,
        shard: int,
        *stats: Mapping[str, int | float],
    ) -> tuple[NDArray[np.int64], Block]:
        """This shard's rows of a draw from all shards, see `BufferServer.draw`.

        A draw with replacement takes a row from a reservoir shard with probability (rows offered to the shard) / (rows
        offered to all), and from a circular shard with probability (rows held by the shard) / (rows held by all). So
        every row offered has the same probability, however unevenly the chunks are distributed. An epoch contains each
        row held once.

        Args:
            seed: Determines the draw, together with `start`.
            start: Position in the learners' stream of rows.
            rows: Number of rows from all shards together.
            epoch: Draw from a permutation of all rows, rather than uniformly with replacement.
            share: Restricts the draw to the rows of one of several learners; None for all rows.
            shard: Number of this shard.
            stats: `stats()` of every shard, in order.

        Returns:
            Positions `[n]` in the block that all shards fill, and the records `[n]` for them.

        Raises:
            EmptyBuffer: Rows are drawn with replacement, and no shard holds any.
        """
        seed = tuple(seed)
        held = np.array([each["rows"] for each in stats], np.int64)
        if epoch:
            order = self._epoch(seed, int(held.sum()))[start : start + rows]
            indices = order.astype(np.int64) - held[:shard].sum()
            owned = (indices >= 0) & (indices < held[shard])
        else:
            weight = [int(each["offered"]) for each in stats] if self.buffer.keeps_sample else held
            limits = np.cumsum(np.asarray(weight, np.int64))
            if limits[-1] == 0 and rows > 0:
                raise EmptyBuffer(f"{rows} rows cannot be drawn from {len(stats)} empty shards")
            drawn = generator(seed, _ASSIGN, start).integers(0, max(limits[-1], 1), rows)
            owned = np.searchsorted(limits, drawn, side="right") == shard
            indices = np.zeros(rows, np.int64)
            indices[owned] = generator(seed, _DRAW, start, shard).integers(0, max(held[shard], 1), int(owned.sum()))
        if share is not None:
            kept = share.of(len(indices))
            owned, indices = owned[kept], indices[kept]
        return np.flatnonzero(owned), self.buffer.take(indices[owned])

    def merge_stats(self, *stats: Mapping[str, int | float]) -> dict[str, int | float]:
        """The `stats()` of the whole buffer from those of its shards."""
        merged = {key: sum(each[key] for each in stats) for key in stats[0]}
        return merged | {"fill": merged["rows"] / merged["capacity"]}

    def total(self, *counts: int) -> int:
        """The sum of the shards' results."""
        return sum(counts)

    def after(self, *done: None) -> None:
        """Returns None; called with refs, its result is ready when all of them are."""


class ShardedBuffer(Handle[BufferServer]):
    """A `Handle` of a divided buffer, as of one `BufferServer`. Can be passed to other actors.

    Args:
        name: Name in messages.
        shards: Handles of the `ShardServer`s.
    """

    def __init__(self, name: str, shards: Sequence[Handle[ShardServer]]) -> None:
        self.name = name
        self.shards = tuple(shards)

    def shard_of(self, chunk_id: Words) -> int:
        """Number of the shard of a chunk. The chunks of an iteration go to the shards in turn, from a first shard that
        the rest of the id determines, so that a surplus chunk does not always go to the same shard."""
        *rest, last = chunk_id
        first = int(np.random.SeedSequence((len(rest), *rest)).generate_state(1)[0])
        return (first + last) % len(self.shards)

    def send(self, method: str, args: Sequence[Any], kwargs: Mapping[str, Any], returns: int = 1) -> Any:
        """See `Handle.send`. Supports the methods of `BufferServer` that drivers and learners call.

        The result of `draw` must be resolved by `actors.remote.fetch` or `Runtime.get`; others are ordinary refs.

        Raises:
            ValueError: The method is not supported.
        """
        forms: dict[str, Callable[..., Ref]] = {
            BufferServer.add.__name__: self._add,
            BufferServer.clear.__name__: self._clear,
            BufferServer.draw.__name__: self._draw,
            BufferServer.stats.__name__: self._stats,
            BufferServer.save.__name__: partial(self._total, ShardServer.save),
            BufferServer.load.__name__: partial(self._total, ShardServer.load),
        }
        if method not in forms or returns != 1:
            raise ValueError(f"{self.name} is divided and has no method {method} with {returns} results")
        return forms[method](*args, **kwargs)

    def ready(self) -> Ref:
        """See `Handle.ready`; waits for all shards."""
        return self.shards[0].call(ShardServer.after, *[shard.ready() for shard in self.shards])

    def _add(self, chunk_id: Words, block: Any, seed: Words) -> Ref:
        return self.shards[self.shard_of(chunk_id)].call(ShardServer.add, chunk_id, block, seed)

    def _clear(self) -> Ref:
        return self.shards[0].call(ShardServer.after, *[shard.call(ShardServer.clear) for shard in self.shards])

    def _draw(self, seed: Words, start: int, rows: int, epoch: bool, share: Share | None = None) -> Gathered:
        # The stats are passed as refs, so that Ray waits for them and this caller does not.
        stats = [shard.call(ShardServer.stats) for shard in self.shards]
        parts = [
            shard.call(ShardServer.draw_shard, seed, start, rows, epoch, share, number, *stats)
            for number, shard in enumerate(self.shards)
        ]
        return Gathered(parts, merge_parts)

    def _stats(self) -> Ref:
        return self.shards[0].call(ShardServer.merge_stats, *[shard.call(ShardServer.stats) for shard in self.shards])

    def _total(self, method: Callable[[ShardServer, str], int], path: str) -> Ref:
        files = shard_files(Path(path), len(self.shards))
        done = [shard.call(method, str(file)) for shard, file in zip(self.shards, files, strict=True)]
        return self.shards[0].call(ShardServer.total, *done)


def start_buffer(
    runtime: Runtime,
    kind: type[RecordBuffer],
    capacity: int,
    dtype: np.dtype[Any],
    part: str | None,
    *,
    name: str,
    shards: int = 1,
    **resources: Any,
) -> Handle[BufferServer]:
    """Starts a buffer of `capacity` rows in one actor or several.

    Args:
        runtime: Runs the actors.
        kind: `ReservoirBuffer` or `CircularBuffer`.
        capacity: Capacity in rows of all shards together.
        dtype: Record type of a row.
        part: Key of the rows in a block that is a mapping.
        name: Name in messages.
        shards: Number of actors; with 1, the buffer is a plain `BufferServer`.
        resources: Resources of each shard, see `Runtime.start`.

    Raises:
        ValueError: There are more shards than rows.
    """
    if shards == 1:
        return runtime.start(BufferServer, kind, capacity, dtype, part, name=name, **resources)
    if capacity < shards:
        raise ValueError(f"the capacity of a buffer must be at least its {shards} shards, got {capacity}")
    sizes = [capacity // shards + (number < capacity % shards) for number in range(shards)]
    handles = [
        runtime.start(ShardServer, kind, size, dtype, part, name=f"{name} shard {number}", **resources)
        for number, size in enumerate(sizes)
    ]
    return ShardedBuffer(name, handles)


def shard_files(path: Path, shards: int) -> list[Path]:
    """The files of the shards of a buffer whose single file would be `path`."""
    return [path.with_name(f"{path.stem}-{number}-of-{shards}{path.suffix}") for number in range(shards)]


def merge_parts(parts: Sequence[tuple[NDArray[np.int64], Block]]) -> Block:
    """The block whose positions and records the shards have returned."""
    dtype = parts[0][1].dtype
    block = np.empty(sum(len(indices) for indices, _ in parts), dtype)
    raw = block.view(f"V{dtype.itemsize}")  # NumPy would copy records field by field
    for indices, rows in parts:
        raw[indices] = np.ascontiguousarray(rows).view(raw.dtype)
    return block
