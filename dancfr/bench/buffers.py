"""Benchmark of the reservoir and the circular buffer, with blocks of 10,000 rows."""

from typing import Any

import numpy as np

from dancfr.bench.timing import noise, rate, result, seconds_each
from envs.geister import Geister
from learners.buffers import CircularBuffer, ReservoirBuffer
from learners.samples import advantage_dtype, transition_dtype

BLOCK = 10_000
CAPACITY = 200_000


def measure(seconds: float) -> dict[str, Any]:
    """Measures rows/s of Geister's advantage samples through a full reservoir, adding one block and drawing one.

    The limit is copying the same bytes twice. A full reservoir keeps a decreasing fraction of the added rows; here it
    has been offered twice its capacity.
    """
    spec, rng = Geister().spec, np.random.default_rng(1)
    kinds = {
        "reservoir": (ReservoirBuffer(CAPACITY, advantage_dtype(spec)), np.zeros(BLOCK, advantage_dtype(spec))),
        "circular": (CircularBuffer(CAPACITY, transition_dtype(spec)), np.zeros(BLOCK, transition_dtype(spec))),
    }
    calls: dict[str, Any] = {}
    for name, (buffer, block) in kinds.items():
        for _ in range(2 * CAPACITY // BLOCK):
            buffer.add(block, rng)
        target = np.empty(len(block), f"V{block.dtype.itemsize}")
        calls[f"{name} in"] = lambda buffer=buffer, block=block: buffer.add(block, rng)
        calls[f"{name} out"] = lambda buffer=buffer: buffer.sample(BLOCK, rng)
        calls[f"{name} copy"] = lambda target=target, block=block: np.copyto(target, block.view(target.dtype))
    times = seconds_each(calls, seconds)
    through = [a + b for a, b in zip(times["reservoir in"], times["reservoir out"], strict=True)]
    speed, limit = rate(BLOCK, through), rate(BLOCK, times["reservoir copy"]) / 2
    detail = {
        "limit": "copying the rows twice",
        "block": BLOCK,
        "capacity": CAPACITY,
        "bytes a row": {name: block.dtype.itemsize for name, (_, block) in kinds.items()},
        "rows/s": {name: round(rate(BLOCK, each)) for name, each in times.items()},
        "noise": noise(through),
    }
    return result("buffers", speed, "rows/s", limit, speed / limit, detail)
