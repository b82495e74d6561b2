"""The pool yields every chunk once, in order and with the same bytes, whatever happens to the workers."""

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from actors.buffer import BufferServer
from actors.pool import AHEAD, DEPTH, ChunkFailed, PoolEvent, StartFailed, WorkerPool
from actors.remote import InlineRuntime, RayRuntime, ResourcesMissing, Runtime
from learners.buffers import ReservoirBuffer

DTYPE = np.dtype([("number", np.int32), ("noise", np.float32, (20,))])


@dataclass(frozen=True)
class Chunk:
    """The name of a task."""

    number: int
    seed: tuple[int, ...]


class Sampler:
    """Makes samples that depend on the chunk and on the broadcast weights alone."""

    def __init__(self, rows: int = 2000, pause: float = 0.0, fault: str = "", folder: str = "") -> None:
        if fault == "constructor":
            raise OSError("no such game\nreally")
        if fault == "dies at birth":
            os.kill(os.getpid(), signal.SIGKILL)
        self.rows, self.pause, self.fault, self.folder = rows, pause, fault, folder

    def sample(self, chunk: Chunk, weights: np.ndarray) -> tuple[dict, np.ndarray]:
        self._misbehave(chunk)
        time.sleep(self.pause)
        rng = np.random.default_rng(chunk.seed)
        block = np.empty(self.rows, DTYPE)
        block["number"] = chunk.number
        block["noise"] = rng.random((self.rows, 20), np.float32) + weights[0]
        return {"number": chunk.number, "sum": float(block["noise"].sum()), "pid": os.getpid()}, block

    def _misbehave(self, chunk: Chunk) -> None:
        if chunk.number != 3 or not self.fault:
            return
        if self.fault == "raises":
            raise ZeroDivisionError("no such move")
        if self.fault == "kills":
            os.kill(os.getpid(), signal.SIGKILL)
        mark = Path(self.folder, "once")
        if self.fault == "raises once" and not mark.exists():
            mark.touch()
            raise ZeroDivisionError("only this time")


def tasks(weights, count: int = 24) -> list[tuple]:
    return [(Chunk(number, (11, 0, number)), weights) for number in range(count)]


def outcome(runtime: Runtime, pool: WorkerPool, count: int = 24) -> list[tuple[int, float, bytes]]:
    """Number, sum and bytes of every chunk in the order in which they come."""
    weights = runtime.put(np.full(3, 0.5, np.float32))
    seen = []
    for task, small, block in pool.run(Sampler.sample, tasks(weights, count)):
        assert task[0].number == small["number"]
        seen.append((small["number"], small["sum"], runtime.get(block).tobytes()))
    return seen


@pytest.fixture(scope="module")
def undisturbed() -> list[tuple[int, float, bytes]]:
    """The results of a plain loop in one process."""
    sampler, weights = Sampler(), np.full(3, 0.5, np.float32)
    made = [sampler.sample(*task) for task in tasks(weights)]
    return [(small["number"], small["sum"], block.tobytes()) for small, block in made]


@pytest.fixture
def events() -> list[PoolEvent]:
    return []


def test_inline_and_ray_give_the_bytes_of_a_plain_loop(undisturbed, ray_runtime: RayRuntime) -> None:
    inline = InlineRuntime()
    assert outcome(inline, WorkerPool(inline, Sampler)) == undisturbed
    for size in (1, 2):
        with WorkerPool(ray_runtime, Sampler, size=size) as pool:
            assert len(pool) == size
            assert outcome(ray_runtime, pool) == undisturbed
            assert outcome(ray_runtime, pool, 5) == undisturbed[:5], "the pool can be used again"
            assert list(pool.run(Sampler.sample, [])) == []
            assert not pool.counts


def test_a_pool_of_depth_one_has_no_chunk_waiting_behind_another(undisturbed, ray_runtime: RayRuntime) -> None:
    with WorkerPool(ray_runtime, Sampler, size=2, depth=1) as pool:
        assert outcome(ray_runtime, pool) == undisturbed
        assert pool.take_depth() <= len(pool)


def test_a_buffer_fed_by_refs_ends_up_the_same(ray_runtime: RayRuntime) -> None:
    """Blocks go from worker to buffer; the driver sees only the small part."""
    contents = []
    for runtime in (InlineRuntime(), ray_runtime):
        buffer = runtime.start(BufferServer, ReservoirBuffer, 5000, DTYPE, cpus=0)
        with WorkerPool(runtime, Sampler, size=2) as pool:
            weights = runtime.put(np.zeros(1, np.float32))
            added = [
                buffer.call(BufferServer.add, (0, task[0].number), block, (1, task[0].number))
                for task, _, block in pool.run(Sampler.sample, tasks(weights))
            ]
        assert runtime.get(added) == [2000] * 24
        contents.append(runtime.get(buffer.call(BufferServer.draw, (1,), 0, 5000, True)).tobytes())
    assert contents[0] == contents[1]


def test_a_killed_worker_is_replaced_and_its_chunks_replayed(undisturbed, ray_runtime, events) -> None:
    pool = WorkerPool(ray_runtime, Sampler, (2000, 0.05), 2, on_event=events.append)
    weights = ray_runtime.put(np.full(3, 0.5, np.float32))
    seen, pids, killed = [], set(), []
    for _, small, block in pool.run(Sampler.sample, tasks(weights)):
        seen.append((small["number"], small["sum"], ray_runtime.get(block).tobytes()))
        pids.add(small["pid"])
        if small["number"] in (4, 12):
            killed.append(small["pid"])
            os.kill(small["pid"], signal.SIGKILL)
    assert seen == undisturbed
    assert len(set(killed)) == 2
    assert pool.counts["died"] == pool.counts["replaced"] == 2
    assert 2 <= pool.counts["replayed"] <= 2 * DEPTH
    assert {event.kind for event in events} == {"died", "replaced", "replayed"}
    assert all("WorkerDied" in event.cause and "\n" not in event.cause for event in events)
    assert outcome(ray_runtime, pool) == undisturbed
    pool.stop()


def test_a_worker_that_hangs_is_replaced_at_its_deadline(undisturbed, ray_runtime, events) -> None:
    pool = WorkerPool(ray_runtime, Sampler, (2000, 0.02), 2, deadline_s=1.5, on_event=events.append)
    weights = ray_runtime.put(np.full(3, 0.5, np.float32))
    seen, stopped = [], None
    for _, small, block in pool.run(Sampler.sample, tasks(weights)):
        seen.append((small["number"], small["sum"], ray_runtime.get(block).tobytes()))
        if stopped is None and small["number"] == 2:
            stopped = small["pid"]
            os.kill(stopped, signal.SIGSTOP)
        assert small["number"] < 8 or small["pid"] != stopped
    assert seen == undisturbed
    assert pool.counts["late"] == pool.counts["replaced"] == 1
    late = next(event for event in events if event.kind == "late")
    assert "1.5 s" in late.cause
    assert "Chunk(number=" in late.chunk
    pool.stop()


@pytest.mark.parametrize("kind", ["inline", "ray"])
def test_a_method_that_always_raises_ends_the_run_with_chunk_seed_and_cause(kind, request, undisturbed) -> None:
    runtime = InlineRuntime() if kind == "inline" else request.getfixturevalue("ray_runtime")
    pool = WorkerPool(runtime, Sampler, kwargs={"fault": "raises"})
    begin = time.monotonic()
    seen = []
    with pytest.raises(ChunkFailed) as caught:  # noqa: PT012 (what came before it counts, too)
        for _, small, _ in pool.run(Sampler.sample, tasks(np.zeros(1, np.float32))):
            seen.append(small["number"])
    times = "once" if kind == "inline" else "5 times"
    assert str(caught.value) == (
        f"chunk 3 of sample: Chunk(number=3, seed=(11, 0, 3)) failed {times}, last: ZeroDivisionError: no such move"
    )
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert seen == [0, 1, 2]
    assert time.monotonic() - begin < 10
    assert outcome(runtime, pool, 3) == undisturbed[:3], "chunks that do not fail can still be had"
    pool.stop()


def test_a_chunk_that_kills_its_workers_ends_the_run(ray_runtime: RayRuntime) -> None:
    with (
        WorkerPool(ray_runtime, Sampler, kwargs={"fault": "kills"}, size=2, max_failures=3) as pool,
        pytest.raises(ChunkFailed, match=r"chunk 3 of sample: Chunk.*seed=\(11, 0, 3\).* 3 times, last: WorkerDied"),
    ):
        list(pool.run(Sampler.sample, tasks(np.zeros(1, np.float32))))
    assert pool.counts["died"] >= 3


def test_a_chunk_that_fails_once_is_played_again(undisturbed, ray_runtime, tmp_path) -> None:
    fault = {"fault": "raises once", "folder": str(tmp_path)}
    with WorkerPool(ray_runtime, Sampler, kwargs=fault, size=2) as pool:
        assert outcome(ray_runtime, pool) == undisturbed
        assert pool.counts == {"raised": 1, "replayed": 1}


@pytest.mark.parametrize("kind", ["inline", "ray"])
def test_a_constructor_that_raises_ends_the_run(kind, request) -> None:
    runtime = InlineRuntime() if kind == "inline" else request.getfixturevalue("ray_runtime")
    times = "" if kind == "inline" else r" \(5 tries\)"
    with (
        WorkerPool(runtime, Sampler, kwargs={"fault": "constructor"}, name="traverser") as pool,
        pytest.raises(StartFailed, match=rf"^traverser .*{times}: OSError: no such game$"),
    ):
        next(pool.run(Sampler.sample, tasks(None)))


def test_workers_that_die_at_birth_or_never_come_end_the_run(ray_runtime: RayRuntime) -> None:
    with (
        WorkerPool(ray_runtime, Sampler, kwargs={"fault": "dies at birth"}, max_failures=2) as pool,
        pytest.raises(StartFailed, match=r"\(2 tries\): WorkerDied"),
    ):
        next(pool.run(Sampler.sample, tasks(None)))
    with pytest.raises(ResourcesMissing, match="worker 2 asks for 1 CPUs"):
        WorkerPool(ray_runtime, Sampler, size=3)
    assert not ray_runtime._handles, "none of the three is left"
    with (
        WorkerPool(ray_runtime, time.sleep, (60,), start_s=1.0) as pool,
        pytest.raises(StartFailed, match=r"no worker .* 1 s"),
    ):
        next(pool.run(Sampler.sample, tasks(None)))


@pytest.mark.parametrize("kind", ["inline", "ray"])
def test_tasks_are_read_as_they_are_needed_and_a_run_may_be_left(kind, request, undisturbed) -> None:
    runtime = InlineRuntime() if kind == "inline" else request.getfixturevalue("ray_runtime")
    read = []

    def source() -> Iterator[tuple]:
        for task in tasks(weights, 1000):
            read.append(task[0].number)
            yield task

    weights = runtime.put(np.full(3, 0.5, np.float32))
    with WorkerPool(runtime, Sampler, size=2) as pool:
        for at, (task, _, _) in enumerate(pool.run(Sampler.sample, source())):
            assert task[0].number == at
            time.sleep(0.02)
            assert len(read) <= at + 1 + (0 if kind == "inline" else AHEAD * DEPTH * 2)
            if at == 10:
                break
        assert outcome(runtime, pool) == undisturbed, "calls of the run that was left are not taken for new ones"
