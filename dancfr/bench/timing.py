"""Timing for benchmarks: what is measured and its limit take turns in one process, so that noise hits both alike."""

from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

REPEATS = 5


def seconds_each(calls: dict[str, Callable[[], object]], seconds: float) -> dict[str, list[float]]:
    """Seconds of one call of each function, `REPEATS` times, taking turns after a warm-up.

    Args:
        calls: Functions by name.
        seconds: Time to spend on each in all, roughly.
    """
    for call in calls.values():
        call()  # compiles, fills caches
    counts = {name: max(1, int(seconds / REPEATS / max(_once(call), 1e-9))) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(REPEATS):
        for name, call in calls.items():
            started = perf_counter()
            for _ in range(counts[name]):
                call()
            times[name].append((perf_counter() - started) / counts[name])
    return times


def _once(call: Callable[[], object]) -> float:
    started = perf_counter()
    call()
    return perf_counter() - started


def rate(work: float, times: list[float]) -> float:
    """Median of work a second."""
    return work / median(times)


def noise(times: list[float]) -> list[float]:
    """Fastest and slowest repeat, relative to the median."""
    return [round(min(times) / median(times), 3), round(max(times) / median(times), 3)]


def matrix_flops(size: int = 1024) -> Callable[[], object]:
    """A large float32 matrix product: 2 * size^3 operations a call."""
    rng = np.random.default_rng(0)
    a, b = (rng.random((size, size), dtype=np.float32) for _ in range(2))
    out = np.empty_like(a)
    return lambda: np.matmul(a, b, out=out)


def result(name: str, value: float, unit: str, limit: float, ratio: float, detail: dict[str, Any]) -> dict[str, Any]:
    """The record of `dancfr bench NAME --json`."""
    return {"name": name, "rate": value, "unit": unit, "limit": limit, "ratio": ratio, "detail": detail}
