"""Benchmark of self-play on one and on two Ray workers, without a learner."""

from time import perf_counter
from typing import Any

from actors.dmc import DmcPlayer
from actors.listed_play import SelfPlayTask, SelfPlayWeights
from actors.pool import WorkerPool
from actors.remote import RayRuntime
from dancfr.bench.timing import noise, result
from dancfr.methods import find_preset
from dancfr.methods.dmc.config import DmcConfig
from envs.guandan import GuanDan
from learners.listed.network import QNet

WORKERS = 2
REPEATS = 3
CHUNK, SHORT_CHUNK = 16, 1
"""Games per chunk, and games per chunk of benchmarks of less than `SHORT` seconds."""
SHORT = 30.0


def measure(seconds: float) -> dict[str, Any]:
    """Measures samples/s of two workers with the paper's network by wall-clock time; the limit is twice one worker.

    One worker and two workers take turns, so that other load on the machine affects both equally. Two workers play
    twice as many chunks.
    """
    config = find_preset("guandan-dmc").config_as(DmcConfig)
    game = GuanDan(length="round", situation="drawn")
    net = QNet(config.network, game.spec).inference_weights()
    games = CHUNK if seconds >= SHORT else SHORT_CHUNK
    chunks = max(2, round(seconds / REPEATS / 3 / 2.5))  # a chunk takes about 2.5 s
    runtime = RayRuntime(workers=WORKERS)
    try:
        weights = runtime.put(SelfPlayWeights(0, net))
        pools = {
            size: WorkerPool(runtime, DmcPlayer, (game, config.network, config.epsilon), size=size, cpus=0.5)
            for size in (1, WORKERS)
        }
        for size, pool in pools.items():
            _samples(pool, weights, size, 0, games)  # starts, compiles
        rates: dict[int, list[float]] = {size: [] for size in pools}
        for repeat in range(REPEATS):
            for size, pool in pools.items():
                started = perf_counter()
                samples = _samples(pool, weights, size * chunks, repeat + 1, games)
                rates[size].append(samples / (perf_counter() - started))
    finally:
        runtime.shutdown()
    one, two = (sorted(rates[size])[REPEATS // 2] for size in pools)
    detail = {
        "limit": "twice the samples of one worker",
        "samples/s of one worker": round(one),
        "times one worker": round(two / one, 3),
        "noise": noise([1 / each for each in rates[WORKERS]]),
    }
    return result("guandan-workers", two, "samples/s of 2 workers", WORKERS * one, two / (WORKERS * one), detail)


def _samples(pool: WorkerPool[DmcPlayer], weights: Any, chunks: int, repeat: int, games: int) -> float:
    tasks = [(SelfPlayTask((repeat, chunk), games, games), weights) for chunk in range(chunks)]
    return sum(small["samples"] for _, small, _ in pool.run(DmcPlayer.play, tasks))
