"""Several buffer actors that together are one buffer, for samples that one process cannot take in.

A chunk goes to one shard, chosen by its id. A reservoir of C rows in S shards is S reservoirs of C / S rows, each over
the chunks that came to it; a draw asks all of them and puts their rows together. All of it follows from ids and seeds,
so the rows are the same for any number of workers.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.buffer import BufferServer, Words, generator
from actors.runtime import Gathered, Handle, Ref, Runtime
from learners.buffers import Block, EmptyBuffer, RecordBuffer
from learners.shares import Share

_ASSIGN, _DRAW = 0xA55, 0xD4A  # streams beside those of a single buffer


class ShardServer(BufferServer):
    """One of several buffers that together are one. What it is, and the other arguments: `BufferServer`."""

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
        """This shard's part of a draw from all of them; what is drawn: `BufferServer.draw`.

        With replacement, a row comes from a shard with the shard's fraction of all rows offered where a sample of those
        is kept, and of all rows held where the latest are. So every row offered has the same probability, however
        unevenly the chunks have fallen. An epoch is one of all rows held, each once.

        Args:
            seed: Decides the draw, together with `start`.
            start: Position in the learners' stream of rows.
            rows: Number of rows, of all shards together.
            epoch: One permutation of all rows, or uniform rows with replacement.
            share: Of these rows only those that one of several learners trains on; None: all.
            shard: Number of this shard.
            stats: What `stats` says of every shard, in order.

        Returns:
            Places `[n]` in the block that is drawn, and the records `[n]` that belong there.

        Raises:
            EmptyBuffer: rows are to be drawn with replacement, and no shard holds any.
        """
        seed = tuple(seed)
        held = np.array([each["rows"] for each in stats], np.int64)
        if epoch:
            order = self._epoch(seed, int(held.sum()))[start : start + rows]
            places = order.astype(np.int64) - held[:shard].sum()
            owned = (places >= 0) & (places < held[shard])
        else:
            weight = [int(each["offered"]) for each in stats] if self.buffer.keeps_sample else held
            limits = np.cumsum(np.asarray(weight, np.int64))
            if limits[-1] == 0 and rows > 0:
                raise EmptyBuffer(f"{rows} rows were asked of {len(stats)} empty shards of a buffer")
            drawn = generator(seed, _ASSIGN, start).integers(0, max(limits[-1], 1), rows)
            owned = np.searchsorted(limits, drawn, side="right") == shard
            places = np.zeros(rows, np.int64)
            places[owned] = generator(seed, _DRAW, start, shard).integers(0, max(held[shard], 1), int(owned.sum()))
        if share is not None:
            kept = share.of(len(places))
            owned, places = owned[kept], places[kept]
        return np.flatnonzero(owned), self.buffer.take(places[owned])

    def merge_stats(self, *stats: Mapping[str, int | float]) -> dict[str, int | float]:
        """What `stats` says of all shards together, from what it says of each."""
        merged = {key: sum(each[key] for each in stats) for key in stats[0]}
        return merged | {"fill": merged["rows"] / merged["capacity"]}

    def total(self, *counts: int) -> int:
        """The sum of what the shards have returned, once all of them have."""
        return sum(counts)

    def after(self, *done: None) -> None:
        """None, once all of these are there."""


class ShardedBuffer:
    """Shards with the face of one `Handle` of a `BufferServer`; may be passed to other actors like one.

    Args:
        name: For messages.
        shards: Handles of `ShardServer`s.
    """

    def __init__(self, name: str, shards: Sequence[Handle]) -> None:
        self.name = name
        self.shards = tuple(shards)

    def shard_of(self, chunk_id: Words) -> int:
        """Number of the shard that a chunk belongs to: the chunks of one iteration in turn, from one that the rest of
        the id decides, so that no shard is always the one that gets a chunk more."""
        *rest, last = chunk_id
        first = int(np.random.SeedSequence((len(rest), *rest)).generate_state(1)[0])
        return (first + last) % len(self.shards)

    def call(self, method: str, *args: Any, returns: int = 1, **kwargs: Any) -> Any:
        """See `Handle.call`; the methods are those of `BufferServer` that a driver or a learner calls.

        What `draw` returns is to be resolved by `actors.remote.fetch` or `Runtime.get`; all else is a ref like others.

        Raises:
            ValueError: there is no such method.
        """
        if method not in ("add", "draw", "stats", "save", "load") or returns != 1:
            raise ValueError(f"{self.name} in shards has no method {method} with {returns} results")
        return getattr(self, f"_{method}")(*args, **kwargs)

    def ready(self) -> Ref:
        """See `Handle.ready`: of all shards."""
        return self.shards[0].call("after", *[shard.ready() for shard in self.shards])

    def halt(self) -> None:
        """See `Handle.halt`."""
        for shard in self.shards:
            shard.halt()

    def _add(self, chunk_id: Words, block: Any, seed: Words) -> Ref:
        return self.shards[self.shard_of(chunk_id)].call("add", chunk_id, block, seed)

    def _draw(self, seed: Words, start: int, rows: int, epoch: bool, share: Share | None = None) -> Gathered:
        # Each shard is told what all of them hold by the runtime, which waits for the counts: nobody waits for it here.
        stats = [shard.call("stats") for shard in self.shards]
        parts = [
            shard.call("draw_shard", seed, start, rows, epoch, share, number, *stats)
            for number, shard in enumerate(self.shards)
        ]
        return Gathered(parts, put_together)

    def _stats(self) -> Ref:
        return self.shards[0].call("merge_stats", *[shard.call("stats") for shard in self.shards])

    def _save(self, path: str) -> Ref:
        return self._total("save", path)

    def _load(self, path: str) -> Ref:
        return self._total("load", path)

    def _total(self, method: str, path: str) -> Ref:
        files = shard_files(Path(path), len(self.shards))
        done = [shard.call(method, str(file)) for shard, file in zip(self.shards, files, strict=True)]
        return self.shards[0].call("total", *done)


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
) -> Handle:
    """A buffer of `capacity` rows in an actor, or in several.

    Args:
        runtime: Where they live.
        kind: See `BufferServer`, and what follows.
        capacity: Rows that fit, in all shards together.
        dtype: Record type of a row.
        part: Key of the rows in a block that is a mapping.
        name: For messages.
        shards: Number of actors. With one, everything is as if there were no shards.
        resources: See `Runtime.start`: of each shard.

    Raises:
        ValueError: there are more shards than rows.
    """
    if shards == 1:
        return runtime.start(BufferServer, kind, capacity, dtype, part, name=name, **resources)
    if capacity < shards:
        raise ValueError(f"a buffer of {capacity} rows cannot be divided into {shards} shards")
    sizes = [capacity // shards + (number < capacity % shards) for number in range(shards)]
    handles = [
        runtime.start(ShardServer, kind, size, dtype, part, name=f"{name} shard {number}", **resources)
        for number, size in enumerate(sizes)
    ]
    return ShardedBuffer(name, handles)


def shard_files(path: Path, shards: int) -> list[Path]:
    """Where each shard is saved: beside where the whole would be."""
    return [path.with_name(f"{path.stem}-{number}-of-{shards}{path.suffix}") for number in range(shards)]


def put_together(parts: Sequence[tuple[NDArray[np.int64], Block]]) -> Block:
    """The block of which every shard has given places and records."""
    dtype = parts[0][1].dtype
    block = np.empty(sum(len(places) for places, _ in parts), dtype)
    raw = block.view(f"V{dtype.itemsize}")  # NumPy moves records field by field otherwise
    for places, rows in parts:
        raw[places] = np.ascontiguousarray(rows).view(raw.dtype)
    return block
