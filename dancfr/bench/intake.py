"""Benchmark of buffer actors that receive blocks of rows from workers."""

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.buffer import BufferServer
from actors.remote import RayRuntime, Ref
from actors.sharding import start_buffer
from dancfr.bench.timing import noise, result
from envs.geister import Geister
from learners.buffers import CircularBuffer, RecordBuffer, ReservoirBuffer
from learners.samples import advantage_dtype, transition_dtype

REPEATS = 5
BLOCK = 20_000
BLOCKS = 24
"""Blocks per burst: 80 MB of transitions, which stay in the object store until all blocks have been added."""
CAPACITY = 200_000


class Sender:
    """An actor that produces blocks of rows, like a worker, in a process other than the buffer's.

    Args:
        rows: Rows per block.
        dtype: Record type of the rows.
    """

    def __init__(self, rows: int, dtype: np.dtype[Any]) -> None:
        self._block = np.zeros(rows, dtype)
        self._block.view(np.uint8)[:] = np.random.default_rng(0).integers(0, 256, self._block.nbytes, np.uint8)

    def send(self) -> tuple[int, NDArray[np.void]]:
        """Returns the number of rows of a block, and the block."""
        return len(self._block), self._block


def measure(seconds: float) -> dict[str, Any]:
    """Measures MB/s of Geister's transitions added to a full circular buffer in one actor, by wall-clock time.

    The limit is plain copies of the blocks in this process. The detail has a buffer in two shards, and a reservoir of
    advantages that has been offered five times its capacity.
    """
    spec = Geister().spec
    kinds: dict[str, tuple[type[RecordBuffer], np.dtype[Any], int]] = {
        "circular": (CircularBuffer, transition_dtype(spec), 1),
        "circular, 2 shards": (CircularBuffer, transition_dtype(spec), 2),
        "reservoir": (ReservoirBuffer, advantage_dtype(spec), 1),
        "reservoir, 2 shards": (ReservoirBuffer, advantage_dtype(spec), 2),
    }
    bursts = max(1, round(seconds / 20))
    block = BLOCK if seconds >= 5 else BLOCK // 10
    runtime = RayRuntime(workers=1)
    try:
        lines = {name: _Link(runtime, *kind, block) for name, kind in kinds.items()}
        times: dict[str, list[float]] = {name: [] for name in [*lines, "copy"]}
        for _ in range(REPEATS):
            for name, line in lines.items():
                times[name] += [line.burst() for _ in range(bursts)]
            times["copy"].append(_copies(np.zeros(block, transition_dtype(spec))))
    finally:
        runtime.shutdown()
    sizes = {name: kinds[name][1].itemsize for name in kinds} | {"copy": transition_dtype(spec).itemsize}
    rows = {name: BLOCKS * block / float(np.median(times[name])) for name in times}
    megabytes = {name: rows[name] * sizes[name] / 1e6 for name in times}
    detail = {
        "limit": "copying the blocks in one process",
        "rows a block": block,
        "bytes a row": sizes,
        "MB/s": {name: round(value) for name, value in megabytes.items()},
        "rows/s": {name: round(value) for name, value in rows.items()},
        "noise": noise(times["circular"]),
    }
    speed, limit = megabytes["circular"], megabytes["copy"]
    return result("buffer-intake", speed, "MB/s", limit, speed / limit, detail)


class _Link:
    """A sender and a full buffer."""

    def __init__(
        self, runtime: RayRuntime, kind: type[RecordBuffer], dtype: np.dtype[Any], shards: int, block: int
    ) -> None:
        self._runtime = runtime
        self._sender = runtime.start(Sender, block, dtype, cpus=0, name="sender")
        self._buffer = start_buffer(runtime, kind, 10 * block, dtype, None, name="buffer", shards=shards, cpus=0)
        self._iteration = 0
        for _ in range(2):
            self.burst()  # fills the buffer five times over

    def burst(self) -> float:
        """Returns the seconds until the blocks of a burst, made in advance, have been added."""
        self._iteration += 1
        sent: list[tuple[Ref, Ref]] = [self._sender.call_pair(Sender.send) for _ in range(BLOCKS)]
        self._runtime.get([small for small, _ in sent])
        started = perf_counter()
        added = [
            self._buffer.call(BufferServer.add, (self._iteration, number), block, (self._iteration, number))
            for number, (_, block) in enumerate(sent)
        ]
        self._runtime.get(added)
        return perf_counter() - started


def _copies(block: NDArray[np.void]) -> float:
    raw = block.view(np.uint8)
    target = np.empty((10, len(raw)), np.uint8)
    target[:] = 0
    started = perf_counter()
    for number in range(BLOCKS):
        np.copyto(target[number % 10], raw)
    return perf_counter() - started
