"""Benchmark of the driver's coordination of 1 to 8 workers, which sleep instead of computing.

It says how many chunks a second one driver can hand out and pass on, for more workers than the machine has cores.
`worker-scaling` has workers that compute.
"""

import time
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.buffer import BufferServer
from actors.pool import WorkerPool
from actors.remote import Handle, RayRuntime
from actors.sharding import start_buffer
from dancfr.bench.timing import joined, noise, result
from envs.geister import Geister
from learners.buffers import ReservoirBuffer
from learners.samples import advantage_dtype

WORKERS = (1, 2, 4, 8)
REPEATS = 3
CHUNKS_S = (0.1, 0.02)
"""Seconds that a worker sleeps for a chunk."""
ROWS = 5_000
"""Advantage rows per chunk, 800 kB, which is the output of one core in a tenth of a second."""


class Sleeper:
    """A traversal worker that sleeps instead of playing, and so needs no core.

    Args:
        dtype: Record type of its samples.
    """

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._rows = np.zeros(ROWS, dtype)

    def play(self, task: tuple[int, ...], seconds: float, weights: Any) -> tuple[int, NDArray[np.void]]:
        """Returns the number of rows of a chunk, and the rows."""
        time.sleep(seconds)
        return len(self._rows), self._rows.copy()


def measure(seconds: float) -> dict[str, Any]:
    """Measures chunks/s of eight workers that sleep for 0.1 s per chunk, and for 0.02 s in the second row.

    The limit is what the same sleepers would return if nothing lay between two chunks. As in a run of DREAM, weights
    are sent once per iteration, chunks return in order, and their rows are passed to a buffer actor by reference. The
    detail also has chunks of no duration, whose CPU time in the driver bounds the chunks/s for any number of workers.
    """
    sizes = WORKERS if seconds >= 1 else WORKERS[:2]
    most = sizes[-1]
    weights = np.zeros(1_250_000, np.float32)
    dtype = advantage_dtype(Geister().spec)
    runtime = RayRuntime(workers=1)
    try:
        buffer = start_buffer(runtime, ReservoirBuffer, 100_000, dtype, None, name="buffer", cpus=0)
        pools = {size: WorkerPool(runtime, Sleeper, (dtype,), size=size, cpus=0) for size in sizes}
        drive = _Driver(runtime, buffer, weights)
        for size, pool in pools.items():
            drive(pool, 2 * size, 0.0)  # starts the workers
        share = seconds / (2 * len(sizes) * REPEATS)
        rates = {each: _rates(drive, pools, each, share) for each in CHUNKS_S}
        started, chunks = process_time(), round(100 * min(seconds / 10, 1)) + 8
        calls = [_rate(drive, pools[most], 0.0, chunks) for _ in range(REPEATS)]
        driver_s = (process_time() - started) / (REPEATS * chunks)
    finally:
        runtime.shutdown()
    driver = {
        "chunks/s of no duration": round(median(calls)),
        "driver's CPU ms a chunk": round(1e3 * driver_s, 2),
        "rows a chunk": ROWS,
    }
    return joined(*(_row(chunk_s, found, driver) for chunk_s, found in rates.items()))


def _row(chunk_s: float, rates: dict[int, list[float]], driver: dict[str, Any]) -> dict[str, Any]:
    """Returns the row of a duration of chunks, from chunks/s by number of workers."""
    speed = {size: median(found) for size, found in rates.items()}
    most = max(speed)
    limit = most / chunk_s
    detail = {
        "limit": f"{most} sleeps of {chunk_s} s at a time and nothing else",
        "ratio by workers": {str(size): round(speed[size] * chunk_s / size, 3) for size in speed},
        **driver,
        "noise": noise([1 / each for each in rates[most]]),
    }
    unit, case = f"chunks/s of {most} sleeping workers", f"chunks of {chunk_s} s"
    return result("coordination", speed[most], unit, limit, speed[most] / limit, detail, case)


class _Driver:
    """Runs the traversals of an iteration as `dancfr.methods.dream.driver` does."""

    def __init__(self, runtime: RayRuntime, buffer: Handle[BufferServer], weights: NDArray[np.float32]) -> None:
        self._runtime, self._buffer, self._weights = runtime, buffer, weights
        self._iteration = 0

    def __call__(self, pool: WorkerPool[Sleeper], chunks: int, seconds: float) -> None:
        """Runs one iteration of chunks."""
        self._iteration += 1
        t, added = self._iteration, []
        sent = self._runtime.put(self._weights)
        tasks = [((t, chunk), seconds, sent) for chunk in range(chunks)]
        for task, _, block in pool.run(Sleeper.play, tasks):
            added.append(self._buffer.call(BufferServer.add, task[0], block, task[0]))
        self._runtime.get(added)


def _rates(
    drive: _Driver, pools: dict[int, WorkerPool[Sleeper]], chunk_s: float, share: float
) -> dict[int, list[float]]:
    """Measures chunks/s of each number of workers in turn."""
    rates: dict[int, list[float]] = {size: [] for size in pools}
    for _ in range(REPEATS):
        for size, pool in pools.items():
            rates[size].append(_rate(drive, pool, chunk_s, size * max(2, round(share / chunk_s))))
    return rates


def _rate(drive: _Driver, pool: WorkerPool[Sleeper], chunk_s: float, chunks: int) -> float:
    started = perf_counter()
    drive(pool, chunks, chunk_s)
    return chunks / (perf_counter() - started)
