"""Timing for benchmarks: what is measured and its limit take turns in one process, so that noise hits both alike.

Times are CPU seconds of the process, which has one thread: a rate is what one core does, whatever else runs on a shared
machine. Work on a GPU is timed by the clock on the wall.
"""

from collections.abc import Callable, Mapping
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

REPEATS = 7

Times = dict[str, list[float]]


def seconds_each(
    calls: Mapping[str, Callable[[], object]], seconds: float, clock: Callable[[], float] = process_time
) -> Times:
    """Seconds of one call of each function, `REPEATS` times, taking turns after a warm-up.

    Args:
        calls: Functions by name.
        seconds: Time to spend on all of them, roughly; each is called `REPEATS` times at least.
        clock: Gives the time in seconds.
    """
    share = seconds / REPEATS / max(len(calls), 1)
    counts = {}
    for name, call in calls.items():
        call()  # compiles, fills caches
        started = perf_counter()
        call()
        counts[name] = max(1, round(share / max(perf_counter() - started, 1e-9)))
    times: Times = {name: [] for name in calls}
    for _ in range(REPEATS):
        for name, call in calls.items():
            started = clock()
            for _ in range(counts[name]):
                call()
            times[name].append((clock() - started) / counts[name])
    return times


def rate(work: float, times: list[float]) -> float:
    """Median of work a second."""
    return work / max(median(times), 1e-9)


def noise(times: list[float]) -> list[float]:
    """Fastest and slowest repeat, relative to the median."""
    middle = max(median(times), 1e-9)
    return [round(min(times) / middle, 3), round(max(times) / middle, 3)]


def matrix_product(size: int = 1024) -> Callable[[], object]:
    """A large float32 matrix product: 2 * size^3 operations a call."""
    rng = np.random.default_rng(0)
    a, b = (rng.random((size, size), dtype=np.float32) for _ in range(2))
    out = np.empty_like(a)
    return lambda: np.matmul(a, b, out=out)


def result(name: str, value: float, unit: str, limit: float, ratio: float, detail: dict[str, Any]) -> dict[str, Any]:
    """The record of `dancfr bench NAME --json`."""
    return {"name": name, "rate": value, "unit": unit, "limit": limit, "ratio": ratio, "detail": detail}
