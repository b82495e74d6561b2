"""Benchmark of the driver's coordination of 1, 2, 4 and 8 workers, which sleep instead of computing."""

import time
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.pool import WorkerPool
from actors.remote import Handle, RayRuntime
from actors.sharding import start_buffer
from dancfr.bench.timing import noise, result
from envs.geister import Geister
from learners.buffers import ReservoirBuffer
from learners.samples import advantage_dtype

WORKERS = (1, 2, 4, 8)
REPEATS = 3
CHUNK_S = 0.1
"""Seconds that a chunk of about 20,000 decisions takes on one core."""
ROWS = 5_000
"""Advantage rows per chunk, 800 kB, which is the output of one core in a tenth of a second."""
SHORT_S = 0.02


class Sleeper:
    """A traversal worker that sleeps for the duration of its forward passes.

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
    """Measures rows/s of eight workers with chunks of 0.1 s; the limit is eight times the rate of one worker.

    As in a run of DREAM, weights are sent once per iteration, chunks return in order, and their rows are passed to a
    buffer actor by reference. The detail has chunks of 0.02 s, and chunks of zero duration, whose CPU time in the
    driver bounds the chunks/s for any number of workers.
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
        rates = {each: _rates(drive, pools, each, share) for each in (CHUNK_S, SHORT_S)}
        started, chunks = process_time(), round(100 * min(seconds / 10, 1)) + 8
        calls = [_rate(drive, pools[most], 0.0, chunks) for _ in range(REPEATS)]
        driver_s = (process_time() - started) / (REPEATS * chunks)
    finally:
        runtime.shutdown()
    speed = {each: {size: median(rates[each][size]) for size in sizes} for each in rates}
    one, all_of_them = speed[CHUNK_S][1], speed[CHUNK_S][most]
    detail = {
        "limit": f"{most} times the rows of one worker",
        "rows a chunk": ROWS,
        "chunks of 0.1 s": {f"{n} workers": round(n_rate / one, 2) for n, n_rate in speed[CHUNK_S].items()},
        "chunks of 0.02 s": {f"{n} workers": round(r / speed[SHORT_S][1], 2) for n, r in speed[SHORT_S].items()},
        "lost by one worker": {f"{each} s": round(1 - speed[each][1] * each / ROWS, 3) for each in speed},
        "chunks/s of no time": round(median(calls) / ROWS),
        "driver's CPU ms a chunk": round(1e3 * driver_s, 2),
        "noise": noise([1 / each for each in rates[CHUNK_S][most]]),
    }
    ratio = all_of_them / (most * one)
    return result("worker-scaling", all_of_them, f"rows/s of {most} workers", most * one, ratio, detail)


class _Driver:
    """Runs the traversals of an iteration as `dancfr.methods.dream.driver` does."""

    def __init__(self, runtime: RayRuntime, buffer: Handle, weights: NDArray[np.float32]) -> None:
        self._runtime, self._buffer, self._weights = runtime, buffer, weights
        self._iteration = 0

    def __call__(self, pool: WorkerPool, chunks: int, seconds: float) -> int:
        """Runs chunks and returns their number of rows."""
        self._iteration += 1
        t, rows, added = self._iteration, 0, []
        sent = self._runtime.put(self._weights)
        tasks = [((t, chunk), seconds, sent) for chunk in range(chunks)]
        for task, small, block in pool.run("play", tasks):
            rows += small
            added.append(self._buffer.call("add", task[0], block, task[0]))
        self._runtime.get(added)
        return rows


def _rates(drive: _Driver, pools: dict[int, WorkerPool], chunk_s: float, share: float) -> dict[int, list[float]]:
    """Measures rows/s of each number of workers in turn."""
    rates: dict[int, list[float]] = {size: [] for size in pools}
    for _ in range(REPEATS):
        for size, pool in pools.items():
            rates[size].append(_rate(drive, pool, chunk_s, size * max(2, round(share / chunk_s))))
    return rates


def _rate(drive: _Driver, pool: WorkerPool, chunk_s: float, chunks: int) -> float:
    started = perf_counter()
    rows = drive(pool, chunks, chunk_s)
    return rows / (perf_counter() - started)
