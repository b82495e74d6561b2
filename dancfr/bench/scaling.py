"""Benchmark of DREAM's traversals on a worker for each core, compared with one worker alone."""

from collections.abc import Sequence
from statistics import median
from time import perf_counter
from typing import Any

from actors.buffer import BufferServer
from actors.cores import available_cpus
from actors.dream.traversal import DreamTraverser, TraversalTask, TraversalWeights
from actors.pool import WorkerPool
from actors.remote import Handle, RayRuntime
from actors.sharding import start_buffer
from dancfr.bench.timing import joined, noise, result
from dancfr.methods import find_preset
from dancfr.methods.dream.config import DreamConfig
from envs.geister import Geister
from learners.buffers import CircularBuffer, ReservoirBuffer
from learners.networks.modules import ValueNet
from learners.samples import advantage_dtype, transition_dtype

REPEATS = 3
PRESETS = {"geister-quick": "net and chunks of geister-quick", "geister-dream": "net and chunks of the paper"}
CAPACITY = 200_000
SHORT, FEW_GAMES = 10.0, 8
"""Seconds below which chunks have `FEW_GAMES` games."""


def measure(seconds: float) -> dict[str, Any]:
    """Measures decisions/s of traversals by wall-clock time, with as many workers as this process may use cores.

    The limit is that number times the decisions of one worker alone, which takes turns with all of them. The workers
    play real games with the nets of a preset, in chunks of its size. As in its runs, the driver hands chunks out in
    order and passes their samples on to a buffer of advantages and one of transitions. Driver and buffers have no cores
    of their own: beside one worker they use the idle ones, and beside all workers they compete with them. A core is a
    core of the operating system, which may be half of one with two threads.
    """
    runtime = RayRuntime(workers=1)
    try:
        return joined(*(_measure(runtime, preset, seconds) for preset in PRESETS))
    finally:
        runtime.shutdown()


def _measure(runtime: RayRuntime, preset: str, seconds: float) -> dict[str, Any]:
    """Returns the row of a preset."""
    config = find_preset(preset).config_as(DreamConfig)
    game, cores = Geister(), available_cpus()
    games = config.chunk if seconds >= SHORT else FEW_GAMES
    policies = [ValueNet(config.network, game.spec).inference_weights() for _ in range(2)]
    baseline = ValueNet(config.baseline_network, game.spec, views=2).inference_weights()
    weights = TraversalWeights(1, tuple(policies), baseline)
    arguments = (game, config.network, config.baseline_network, config.sampling, games)
    buffers = [
        start_buffer(runtime, kind, CAPACITY, dtype, part, name=f"{preset} {part}", cpus=0)
        for kind, dtype, part in (
            (ReservoirBuffer, advantage_dtype(game.spec), "advantages"),
            (CircularBuffer, transition_dtype(game.spec), "transitions"),
        )
    ]
    drive = _Driver(runtime, buffers, weights, games)
    pools = {size: WorkerPool(runtime, DreamTraverser, arguments, size=size, cpus=0) for size in {1, cores}}
    for size, pool in pools.items():
        drive(pool, 2 * size)  # starts the workers and loads their kernels
    started = perf_counter()
    drive(pools[1], 2)
    chunk_s = (perf_counter() - started) / 2
    chunks = max(2, round(seconds / (len(PRESETS) * REPEATS * len(pools)) / chunk_s))
    rates: dict[int, list[float]] = {size: [] for size in pools}
    for _ in range(REPEATS):
        for size, pool in pools.items():
            started = perf_counter()
            decisions = drive(pool, size * chunks)
            rates[size].append(decisions / (perf_counter() - started))
    for pool in pools.values():
        pool.stop()
    one, all_of_them = (median(rates[size]) for size in (1, cores))
    detail = {
        "limit": f"{cores} times the decisions of one worker alone",
        "decisions/s of one worker": round(one),
        "times one worker": round(all_of_them / one, 2),
        "games a chunk": games,
        "chunks of a worker in one turn": chunks,
        "noise": noise([1 / each for each in rates[cores]]),
        "noise of one worker": noise([1 / each for each in rates[1]]),
    }
    unit = f"decisions/s of {cores} workers"
    ratio = all_of_them / (cores * one)
    return result("worker-scaling", all_of_them, unit, cores * one, ratio, detail, PRESETS[preset])


class _Driver:
    """Runs the traversals of an iteration as `dancfr.methods.dream.driver` does.

    Args:
        runtime: Runs the workers.
        buffers: Buffer actors that receive the samples.
        weights: Nets of the traversals.
        games: Games per chunk.
    """

    def __init__(
        self, runtime: RayRuntime, buffers: Sequence[Handle[BufferServer]], weights: TraversalWeights, games: int
    ) -> None:
        self._runtime, self._buffers, self._weights, self._games = runtime, buffers, weights, games
        self._iteration = 0

    def __call__(self, pool: WorkerPool[DreamTraverser], chunks: int) -> int:
        """Runs chunks and returns their number of decisions."""
        self._iteration += 1
        decisions, added = 0, []
        sent = self._runtime.put(self._weights)
        tasks = [(TraversalTask((self._iteration, chunk), 1, 0, self._games), sent) for chunk in range(chunks)]
        for task, stats, block in pool.run(DreamTraverser.traverse, tasks):
            decisions += stats["decisions"]
            added += [buffer.call(BufferServer.add, task[0].seed, block, task[0].seed) for buffer in self._buffers]
        self._runtime.get(added)
        return decisions
