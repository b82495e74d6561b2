"""Timing of benchmarks: the measured function and its limit take turns in one process, so that noise affects both.

Times are CPU seconds of the single-threaded process, so that a rate is that of one core, independent of other load on
the machine. Work on a GPU is measured by wall-clock time.
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
    """Measures the seconds per call of several functions in turn, `REPEATS` times after a warm-up.

    Args:
        calls: Functions by name.
        seconds: Approximate total time to spend; each function is called at least `REPEATS` times.
        clock: Function that returns the time in seconds.

    Returns:
        Seconds per call of each repeat, by name.
    """
    share = seconds / REPEATS / max(len(calls), 1)
    counts = {}
    for name, call in calls.items():
        call()  # compiles and fills caches
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
    """Returns the median of work per second."""
    return work / max(median(times), 1e-9)


def noise(times: list[float]) -> list[float]:
    """Returns the fastest and slowest repeat relative to the median."""
    middle = max(median(times), 1e-9)
    return [round(min(times) / middle, 3), round(max(times) / middle, 3)]


def matrix_product(size: int = 1024) -> Callable[[], object]:
    """Returns a function that computes a large float32 matrix product, with 2 * size^3 operations per call."""
    rng = np.random.default_rng(0)
    a, b = (rng.random((size, size), dtype=np.float32) for _ in range(2))
    out = np.empty_like(a)
    return lambda: np.matmul(a, b, out=out)


def result(
    name: str, value: float, unit: str, limit: float, ratio: float, detail: dict[str, Any], case: str = ""
) -> dict[str, Any]:
    """Returns the result of `dancfr bench NAME --json`, or one of several rows for `joined`.

    Args:
        name: Name of the benchmark.
        value: The rate.
        unit: Unit of the rate and of the limit.
        limit: The limit; ``detail["limit"]`` says in words what it is.
        ratio: The rate relative to the limit.
        detail: Further measurements.
        case: What was measured, if the benchmark measures several things alike.
    """
    row = {"name": name, "case": case, "rate": value, "unit": unit, "limit": limit, "ratio": ratio, "detail": detail}
    return row | {"others": []}


def joined(*rows: dict[str, Any]) -> dict[str, Any]:
    """Returns the first of several rows of `result` as the result of a benchmark, with the rest under ``others``."""
    first, *others = rows
    return first | {"others": [{key: row[key] for key in row if key != "others"} for row in others]}
