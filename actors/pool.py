"""A pool of workers that computes chunks, replaces workers that die or hang, and repeats their chunks.

A chunk carries its own seed, so its samples are the same whichever worker computes it and however often. The results
therefore depend neither on the number of workers nor on their failures.

Ray offers two mechanisms that were not used, because each loses something that runs rely on. Actors with `max_restarts`
and `max_task_retries` repeat a call on the same actor only: after the loss of a machine its chunks wait until another
machine joins, while the other workers could compute them. Tasks with `max_retries` keep no state between chunks (nets,
compiled games, scratch buffers) and have no deadline: a task that hangs can only be cancelled, and Ray does not repeat
a cancelled task. `ray.util.ActorPool` does not replace actors.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Concatenate, Generic, Literal, TypeVar

from actors.runtime import Handle, Ref, Runtime, WorkerDied

S = TypeVar("S")
W_co = TypeVar("W_co", covariant=True)

Task = tuple[Any, ...]
"""Arguments of one call. The first one stands for the chunk and its seed in messages. Refs arrive as their values."""

Result = tuple[Task, Any, Ref]
"""A task, the small first value that its method returned, and a ref to the large second value."""

Kind = Literal["died", "late", "raised", "replaced", "replayed"]

_PHRASES = {
    "died": "died",
    "late": "was stopped",
    "raised": "raised an exception",
    "replaced": "is replaced",
    "replayed": "returns it to the queue",
}

DEPTH = 2
"""Calls in flight per worker: the worker computes the next one while the driver handles the last one."""

AHEAD = 4
"""Limit of chunks begun but not yet yielded, in multiples of the calls in flight. Bounds the memory of blocks."""

LOOK_EVERY_S = 0.5
"""Longest wait for a call before deadlines, stop requests and Ray itself are checked."""


class ChunkFailed(RuntimeError):
    """A chunk failed too often. The message contains the chunk, its seed and the last cause."""


class StartFailed(RuntimeError):
    """No worker can be started. The message is one line."""


@dataclass(frozen=True)
class PoolEvent:
    """A failure of a worker, or the pool's answer to one.

    Attributes:
        kind: `died` (its process ended), `late` (stopped at its deadline), `raised` (its method raised an exception),
            `replaced` (a new worker starts), `replayed` (a chunk returns to the queue).
        worker: Number of the worker.
        chunk: Description of the chunk, or an empty string.
        cause: One line.
    """

    kind: Kind
    worker: int
    chunk: str
    cause: str

    def __str__(self) -> str:
        at = f" at chunk {self.chunk}" if self.chunk else ""
        return f"worker {self.worker} {_PHRASES[self.kind]}{at}: {self.cause}"


@dataclass
class _Flight:
    """A call in flight. `index` is None for the start of the worker itself; `since` is when the worker could begin."""

    run: "_Run | None"
    index: int | None
    small: Ref
    block: Ref | None
    since: float


@dataclass
class _Worker:
    number: int
    handle: Handle[Any]
    flights: deque[_Flight] = field(default_factory=deque)
    started: bool = False


class _Run:
    """State of one `WorkerPool.run`: chunks to hand out, finished chunks, and the next one to yield."""

    def __init__(self, method: str, tasks: Iterable[Task]) -> None:
        self.method = method
        self.tasks: dict[int, Task] = {}  # begun and not yet yielded
        self.again: list[int] = []
        self.failures: Counter[int] = Counter()
        self.done: dict[int, tuple[Any, Ref]] = {}
        self.next = 0
        self.begun = 0
        self.closed = False
        self._source = iter(tasks)
        self._exhausted = False

    def draw(self, limit: int, alone: bool) -> int | None:
        """Index of the next chunk to hand out, replays first, failed ones only if the worker has no other (`alone`);
        None at the end, or while `limit` chunks are open."""
        self.again.sort()
        for place, index in enumerate(self.again):
            if alone or index not in self.failures:
                return self.again.pop(place)
        if self._exhausted or len(self.tasks) >= limit:
            return None
        try:
            task = next(self._source)
        except StopIteration:
            self._exhausted = True
            return None
        self.tasks[self.begun] = tuple(task)
        self.begun += 1
        return self.begun - 1

    def pop(self) -> Result:
        """Removes and returns the next result."""
        small, block = self.done.pop(self.next)
        task = self.tasks.pop(self.next)
        self.failures.pop(self.next, None)
        self.next += 1
        return task, small, block

    @property
    def over(self) -> bool:
        return self._exhausted and not self.tasks

    def describe(self, index: int) -> str:
        """Index, method and first argument of a chunk, for messages."""
        task = self.tasks.get(index, ())
        shown = repr(task[0]) if task else ""
        return f"{index} of {self.method}: {shown[:200]}"


class WorkerPool(Generic[W_co]):
    """A fixed number of equal workers that compute chunks.

    Args:
        runtime: Runs the workers. The inline runtime has one, which computes in this process; an exception of a method
            then ends the run immediately.
        factory: Creates a worker from `args` and `kwargs` in its own process.
        args, kwargs: Arguments of `factory`; refs among `args` arrive as values.
        size: Number of workers.
        cpus, gpus: CPUs and GPUs per worker.
        depth: Calls in flight per worker. Of long calls 1: none then waits behind another while a worker is free.
        name: Name of a worker in messages.
        deadline_s: A worker that takes longer for one call is replaced; None means no limit.
        start_s: Time limit for the first worker to start.
        max_failures: Number of attempts for each chunk, and for starting a worker.
        on_event: Called with each `PoolEvent`.
        counts: Counter of events by kind; by default a new one.

    Attributes:
        counts: Number of events by kind.

    Raises:
        ResourcesMissing: Ray has too few CPUs or GPUs for the workers; none of them is left running.
    """

    def __init__(
        self,
        runtime: Runtime,
        factory: Callable[..., W_co],
        args: Task = (),
        size: int = 1,
        *,
        kwargs: Mapping[str, Any] | None = None,
        cpus: float = 1.0,
        gpus: float = 0.0,
        depth: int = DEPTH,
        name: str = "worker",
        deadline_s: float | None = 600.0,
        start_s: float = 120.0,
        max_failures: int = 5,
        on_event: Callable[[PoolEvent], None] | None = None,
        counts: Counter[str] | None = None,
    ) -> None:
        self.counts: Counter[str] = Counter() if counts is None else counts
        self.name = name
        self._runtime = runtime
        start = partial(runtime.start, factory, *args, cpus=cpus, gpus=gpus, **(kwargs or {}))
        self._start: Callable[[int, bool], Handle[W_co]] = lambda number, preflight: start(
            name=f"{name} {number}", preflight=preflight
        )
        self._deadline_s = deadline_s
        self._start_s = start_s
        self._max_failures = max_failures if runtime.processes else 1
        self._depth = depth if runtime.parallel else 1
        self._on_event = on_event
        self._start_failures = 0
        self._deepest = 0
        self._workers: list[_Worker] = []
        try:
            for number in range(size if runtime.parallel else 1):
                self._workers.append(self._new_worker(number, preflight=True))
        except BaseException:
            self.stop()
            raise

    def __len__(self) -> int:
        return len(self._workers)

    def __enter__(self) -> "WorkerPool[W_co]":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def alive(self) -> int:
        """Number of workers that have started and not been lost."""
        return sum(worker.started for worker in self._workers)

    def take_depth(self) -> int:
        """Largest number of calls in flight since the last call of this method."""
        deepest, self._deepest = self._deepest, 0
        return deepest

    def run(
        self, method: Callable[Concatenate[W_co, ...], tuple[S, Any]], tasks: Iterable[Task]
    ) -> Iterator[tuple[Task, S, Ref]]:
        """Calls `method(*task)` for each task on a free worker, and yields each result once, in the order of the tasks.

        The method returns a small and a large value. Only the small one is fetched; the large one stays where it is,
        and its ref can be passed to a buffer actor. Tasks are drawn from the iterable as workers become free. A pool
        has one run at a time; the results of calls that a run has left in flight are dropped.

        A large value may be lost with its machine afterwards. The actor that receives its ref then raises `BlockLost`,
        and the driver can run the same tasks again, since buffers ignore chunks that they already hold.

        Args:
            method: A method of the workers, as an attribute of their class.
            tasks: Arguments of the method, one tuple per chunk.

        Raises:
            ChunkFailed: A chunk failed `max_failures` times: an exception, a dead worker, or a missed deadline.
            StartFailed: The constructor of a worker raised an exception, or no worker could be started.
        """
        run = _Run(method.__name__, tasks)
        try:
            while True:
                self._settle(wait=False)
                self._give_out(run)
                if run.next in run.done:
                    yield run.pop()
                elif run.over:
                    return
                else:
                    self._settle(wait=True)
        finally:
            run.closed = True

    def stop(self) -> None:
        """Stops all workers."""
        for worker in self._workers:
            self._runtime.stop(worker.handle)
        self._workers = []

    def _new_worker(self, number: int, preflight: bool) -> _Worker:
        handle = self._start(number, preflight)
        worker = _Worker(number, handle)
        worker.flights.append(_Flight(None, None, handle.ready(), None, time.monotonic()))
        return worker

    def _give_out(self, run: _Run) -> None:
        """Hands out chunks to the workers that have started, first to those with the fewest calls in flight.

        A chunk that has failed gets a worker alone: when a worker dies, the result of the chunk before may be lost too,
        and counts as a failure of that one.
        """
        limit = AHEAD * self._depth * len(self._workers) if self._runtime.parallel else 1
        for depth in range(self._depth):
            for worker in self._workers:
                if not worker.started or len(worker.flights) != depth:
                    continue
                if any(flight.index in run.failures for flight in worker.flights if flight.run is run):
                    continue
                index = run.draw(limit, alone=depth == 0)
                if index is None:
                    return
                small, block = worker.handle.send(run.method, run.tasks[index], {}, returns=2)
                worker.flights.append(_Flight(run, index, small, block, time.monotonic()))
                out = sum(len(each.flights) for each in self._workers if each.started)
                self._deepest = max(self._deepest, out)

    def _settle(self, wait: bool) -> None:
        """Handles the calls that have ended, and missed deadlines; with `wait`, first waits for a call to end."""
        busy = {worker.flights[0].small: worker for worker in self._workers if worker.flights}
        if not busy:
            return
        heads = list(busy)
        ready = self._runtime.wait(heads, len(heads), 0)
        if not ready and wait:
            ready = self._runtime.wait(heads, 1, LOOK_EVERY_S)
            self._runtime.check()
        for ref in ready:
            self._land(busy[ref])
        self._check_deadlines([worker for ref, worker in busy.items() if ref not in set(ready)])

    def _land(self, worker: _Worker) -> None:
        """Handles the oldest call of a worker, which has ended with a result or an exception."""
        flight = worker.flights.popleft()
        if worker.flights:
            worker.flights[0].since = time.monotonic()
        try:
            small = self._runtime.get(flight.small)
        except WorkerDied as error:
            self._replace(worker, flight, "died", error)
        except Exception as error:
            if flight.index is None:
                self._replace(worker, flight, "raised", error)
            else:
                self._failed(worker, flight, "raised", error)
        else:
            if flight.index is None:
                worker.started = True
                self._start_failures = 0
            elif flight.run is not None and not flight.run.closed:
                flight.run.done[flight.index] = small, flight.block

    def _check_deadlines(self, waiting: list[_Worker]) -> None:
        """Replaces workers that are late; raises StartFailed if no worker has started in time."""
        now = time.monotonic()
        for worker in waiting:
            flight = worker.flights[0]
            if flight.index is not None and self._deadline_s is not None and now - flight.since > self._deadline_s:
                worker.flights.popleft()
                late = TimeoutError(f"no result within {self._deadline_s:g} s")
                self._replace(worker, flight, "late", late)
        starting = [worker.flights[0].since for worker in self._workers if not worker.started]
        if len(starting) == len(self._workers) and now - min(starting) > self._start_s:
            raise StartFailed(
                f"no {self.name} has started within {self._start_s:g} s; `ray status` shows how the CPUs are used"
            )

    def _replace(self, worker: _Worker, flight: _Flight, kind: Kind, cause: Exception) -> None:
        """Starts a new worker in place of one that has died or hangs, and returns its chunks to the queue.

        Only the chunk that it was computing has failed: those behind it had not begun.
        """
        self._runtime.stop(worker.handle)
        behind = list(worker.flights)
        at = self._workers.index(worker)
        if flight.index is None:
            self._report(kind, worker, "", cause)
            self._start_failures += 1
            if self._start_failures >= self._max_failures:
                times = "" if self._start_failures == 1 else f" ({self._start_failures} tries)"
                raise StartFailed(f"{self.name} cannot be started{times}: {_line(cause)}") from cause
        self._workers[at] = self._new_worker(worker.number, preflight=False)
        self._report("replaced", worker, "", cause)
        for other in behind:
            self._replay(worker, other, cause)
        if flight.index is not None:
            self._failed(worker, flight, kind, cause)

    def _failed(self, worker: _Worker, flight: _Flight, kind: Kind, cause: Exception) -> None:
        """Counts a failure of a chunk and returns it to the queue, or raises ChunkFailed."""
        run, index = flight.run, flight.index
        if run is None or index is None or run.closed:
            self._report(kind, worker, "", cause)
            return
        self._report(kind, worker, run.describe(index), cause)
        run.failures[index] += 1
        if run.failures[index] >= self._max_failures:
            times = "once" if run.failures[index] == 1 else f"{run.failures[index]} times"
            raise ChunkFailed(f"chunk {run.describe(index)} failed {times}, last: {_line(cause)}") from cause
        self._replay(worker, flight, cause)

    def _replay(self, worker: _Worker, flight: _Flight, cause: Exception) -> None:
        if flight.run is not None and flight.index is not None and not flight.run.closed:
            flight.run.again.append(flight.index)
            self._report("replayed", worker, flight.run.describe(flight.index), cause)

    def _report(self, kind: Kind, worker: _Worker, chunk: str, cause: Exception) -> None:
        self.counts[kind] += 1
        if self._on_event is not None:
            self._on_event(PoolEvent(kind, worker.number, chunk, _line(cause)))


def _line(error: Exception) -> str:
    """An exception in one line."""
    text = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
