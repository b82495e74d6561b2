"""Benchmark of the broadcast of new weights to all workers."""

from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from actors.remote import RayRuntime
from dancfr.bench.timing import result

READERS = 16
ARRAYS = 8
BYTES = 5_000_000


class Reader:
    """An actor that reads weights, as a worker does before it plays."""

    def read(self, weights: dict[str, NDArray[np.float32]]) -> float:
        """Returns the sum over all weights."""
        return sum(float(array.sum()) for array in weights.values())


def measure(seconds: float) -> dict[str, Any]:
    """Measures milliseconds until 16 actors have read 5 MB of weights that the driver puts into the object store.

    Like an iteration of a training, this takes one put and one call per actor. The limit is copying the weights once
    and reading them 16 times in one process. The target is 100 ms.
    """
    rng = np.random.default_rng(0)
    count = READERS if seconds >= 1 else 2
    shape = (BYTES // 4 // ARRAYS,)
    sets = [{f"w{n}": rng.random(shape, dtype=np.float32) for n in range(ARRAYS)} for _ in range(2)]
    runtime = RayRuntime(workers=1)
    try:
        readers = [runtime.start(Reader, cpus=0, name=f"reader {n}") for n in range(count)]
        runtime.get([reader.ready() for reader in readers])
        times, limits = [], []
        repeats = max(3, min(100, round(20 * seconds / 5)))
        for repeat in range(repeats + 1):
            weights = sets[repeat % 2]
            started = perf_counter()
            sent = runtime.put(weights)
            sums = runtime.get([reader.call(Reader.read, sent) for reader in readers])
            times.append(perf_counter() - started)
            own, took = _alone(weights, count)
            limits.append(took)
            assert sums == [own] * count
    finally:
        runtime.shutdown()
    times, limits = times[1:], limits[1:]  # the first repeat allocates memory
    middle, limit = 1e3 * median(times), 1e3 * median(limits)
    detail = {
        "limit": f"one copy and {count} reads in one process",
        "megabytes": BYTES / 1e6,
        "actors": count,
        "repeats": repeats,
        "fastest ms": round(1e3 * min(times), 1),
        "slowest ms": round(1e3 * max(times), 1),
        "target ms": 100.0,
    }
    return result("broadcast", middle, "ms", limit, limit / middle, detail)


def _alone(weights: dict[str, NDArray[np.float32]], readers: int) -> tuple[float, float]:
    """Returns the sum of one reader, and the seconds of a copy and all reads in one process."""
    reader = Reader()
    started = perf_counter()
    copy = {name: array.copy() for name, array in weights.items()}
    sums = [reader.read(copy) for _ in range(readers)]
    return sums[0], perf_counter() - started
