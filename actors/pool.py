"""Workers that play chunks: kept busy, replaced when they die or hang, their chunks replayed.

A chunk carries its own seed, so a replay makes the same samples, and the results do not depend on how many
workers there are or on what happened to them.
"""

import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from actors.runtime import Halted, Handle, Ref, Runtime, WorkerDied

Task = tuple[Any, ...]
"""Arguments of one call. The first names the chunk and its seed in messages; refs arrive as their values."""

Result = tuple[Task, Any, Ref]
"""A task, the small first value its method returned, and a ref to the large second one."""

Kind = Literal["died", "late", "raised", "replaced", "replayed"]

_TOLD = {
    "died": "died",
    "late": "was ended",
    "raised": "raised",
    "replaced": "is made anew",
    "replayed": "leaves it to whoever is free",
}

DEPTH = 2  # calls in flight a worker: while the driver deals with one, the worker is at the next
LOOK_EVERY_S = 0.5  # so often a wait is left to see whether it shall go on
AHEAD = 4  # times what can be in flight: chunks begun and not yet yielded, which bounds the blocks in memory


class ChunkFailed(RuntimeError):
    """One chunk failed so often that more tries are useless. The message names chunk, seed and last cause."""


class StartFailed(RuntimeError):
    """Workers cannot be made. The message is one line."""


@dataclass(frozen=True)
class PoolEvent:
    """Something that went wrong and was dealt with.

    Attributes:
        kind: `died` (process gone), `late` (past its deadline, so it was ended), `raised` (its method
            raised), `replaced` (a new worker is being made), `replayed` (a chunk is given out again).
        worker: Its number.
        chunk: The chunk in question, or an empty string.
        cause: One line.
    """

    kind: Kind
    worker: int
    chunk: str
    cause: str

    def __str__(self) -> str:
        at = f" at chunk {self.chunk}" if self.chunk else ""
        return f"worker {self.worker} {_TOLD[self.kind]}{at}: {self.cause}"


@dataclass
class _Flight:
    """A call on its way. `index` is None for the making of the worker. `since`: when its turn came."""

    run: "_Run | None"
    index: int | None
    small: Ref
    block: Ref | None
    since: float


@dataclass
class _Worker:
    number: int
    handle: Handle
    flights: deque[_Flight] = field(default_factory=deque)
    started: bool = False


class _Run:
    """Bookkeeping of one `WorkerPool.run`: what is to be given out, what has come back, what comes next."""

    def __init__(self, method: str, tasks: Iterable[Task]) -> None:
        self.method = method
        self.tasks: dict[int, Task] = {}  # given out and not yet yielded
        self.again: list[int] = []
        self.failures: Counter[int] = Counter()
        self.done: dict[int, tuple[Any, Ref]] = {}
        self.next = 0
        self.begun = 0
        self.closed = False
        self._source = iter(tasks)
        self._exhausted = False

    def draw(self, limit: int) -> int | None:
        """Index of a chunk to give out, replays first; None when there is none or `limit` chunks are open."""
        if self.again:
            self.again.sort()
            return self.again.pop(0)
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
        small, block = self.done.pop(self.next)
        task = self.tasks.pop(self.next)
        self.failures.pop(self.next, None)
        self.next += 1
        return task, small, block

    @property
    def over(self) -> bool:
        return self._exhausted and not self.tasks

    def name(self, index: int) -> str:
        task = self.tasks.get(index, ())
        shown = repr(task[0]) if task else ""
        return f"{index} of {self.method}: {shown[:200]}"


class WorkerPool:
    """`size` equal workers and the chunks they work on.

    Args:
        runtime: Where workers live. Inline there is one, which works when it is asked, and a method that
            raises is not tried again.
        factory: Makes a worker from `args` and `kwargs`, in its own process.
        args: Arguments of `factory`; refs among them arrive as values.
        size: Number of workers.
        kwargs: Named arguments of `factory`.
        cpus: Cores a worker occupies.
        gpus: GPUs a worker occupies.
        name: For messages.
        deadline_s: A call that takes longer is taken to hang; None waits for ever.
        start_s: So long may it take until the first worker is there.
        max_failures: A chunk, or the making of a worker, is tried so often.
        on_event: Told of each `PoolEvent`.
        counts: Where events are counted; by default in a counter of the pool's own.

    Attributes:
        counts: Number of events by kind.

    Raises:
        ResourcesMissing: there is no room for so many workers; none is left running.
    """

    def __init__(
        self,
        runtime: Runtime,
        factory: Callable[..., Any],
        args: Task = (),
        size: int = 1,
        *,
        kwargs: Mapping[str, Any] | None = None,
        cpus: float = 1.0,
        gpus: float = 0.0,
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
        self._make = lambda number, preflight: start(name=f"{name} {number}", preflight=preflight)
        self._deadline_s = deadline_s
        self._start_s = start_s
        self._max_failures = max_failures if runtime.parallel else 1
        self._depth = DEPTH if runtime.parallel else 1
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

    def __enter__(self) -> "WorkerPool":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def alive(self) -> int:
        """Workers that have been made and not been lost."""
        return sum(worker.started for worker in self._workers)

    def take_depth(self) -> int:
        """Most calls that were given out and not ended at any time since this was last asked."""
        deepest, self._deepest = self._deepest, 0
        return deepest

    def run(self, method: str, tasks: Iterable[Task], halted: Callable[[], bool] = lambda: False) -> Iterator[Result]:
        """Calls `method(*task)` for each task on whichever worker is free, and yields in the order of the
        tasks.

        The method returns two values, one small and one large; only the small one is brought here, the large
        one is passed on by its ref, e.g. to a buffer actor. Each task is yielded exactly once. Tasks are read
        from the iterable as they are needed. One run at a time; a run that is left early lets its calls end
        unheard.

        A finished block that is lost afterwards, with the machine that held it, is not noticed here, but by
        whoever is given its ref (`BlockLost`). As buffers ignore chunks they have, the driver may then simply
        run the same tasks again in a new `run`.

        Args:
            method: Name of a method of the workers.
            tasks: Its arguments, chunk by chunk.
            halted: Asked again and again whether to leave the chunks that are still to come.

        Raises:
            Halted: `halted` said so.
            ChunkFailed: a chunk failed `max_failures` times, by raising, dying or passing the deadline.
            StartFailed: the constructor of a worker raised, or no worker could be made.
        """
        run = _Run(method, tasks)
        try:
            while True:
                if halted():
                    raise Halted(f"left at chunk {run.next} of {method}")
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
        """Ends all workers."""
        for worker in self._workers:
            self._runtime.stop(worker.handle)
        self._workers = []

    def _new_worker(self, number: int, preflight: bool) -> _Worker:
        handle = self._make(number, preflight)
        worker = _Worker(number, handle)
        worker.flights.append(_Flight(None, None, handle.ready(), None, time.monotonic()))
        return worker

    def _give_out(self, run: _Run) -> None:
        """Fills the workers that are there, the least busy first."""
        limit = AHEAD * self._depth * len(self._workers) if self._runtime.parallel else 1
        for depth in range(self._depth):
            for worker in self._workers:
                if not worker.started or len(worker.flights) != depth:
                    continue
                index = run.draw(limit)
                if index is None:
                    return
                small, block = worker.handle.call(run.method, *run.tasks[index], returns=2)
                worker.flights.append(_Flight(run, index, small, block, time.monotonic()))
                out = sum(len(each.flights) for each in self._workers if each.started)
                self._deepest = max(self._deepest, out)

    def _settle(self, wait: bool) -> None:
        """Takes in the calls that have ended; with `wait`, waits for one, or for a deadline to pass."""
        busy = {worker.flights[0].small: worker for worker in self._workers if worker.flights}
        if not busy:
            return
        heads = list(busy)
        ready = self._runtime.wait(heads, len(heads), 0)
        if not ready and wait:
            ready = self._runtime.wait(heads, 1, min(LOOK_EVERY_S, self._patience()))
            self._runtime.check()
        for ref in ready:
            self._land(busy[ref])
        self._check_deadlines([worker for ref, worker in busy.items() if ref not in set(ready)])

    def _land(self, worker: _Worker) -> None:
        """Takes in the oldest call of a worker, which has ended one way or another."""
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
        now = time.monotonic()
        for worker in waiting:
            flight = worker.flights[0]
            if flight.index is None or self._deadline_s is None:
                continue
            if now - flight.since > self._deadline_s:
                worker.flights.popleft()
                late = TimeoutError(f"no result within {self._deadline_s:g} s")
                self._replace(worker, flight, "late", late)
        starting = [worker.flights[0].since for worker in self._workers if not worker.started]
        if len(starting) == len(self._workers) and now - min(starting) > self._start_s:
            raise StartFailed(
                f"no {self.name} was there after {self._start_s:g} s; `ray status` shows who holds the CPUs"
            )

    def _patience(self) -> float:
        """Seconds until the first deadline; that of starting counts only while no worker has started."""
        started = [worker for worker in self._workers if worker.started]
        allowed = self._deadline_s if started else self._start_s
        since = [worker.flights[0].since for worker in started or self._workers if worker.flights]
        if allowed is None or not since:
            return math.inf
        return max(0.01, min(since) + allowed - time.monotonic() + 0.01)

    def _replace(self, worker: _Worker, flight: _Flight, kind: Kind, cause: Exception) -> None:
        """Puts a new worker in the place of one that is gone or hangs; its chunks are given out again.

        Only the chunk it was at counts as failed: those behind it had not begun.
        """
        self._runtime.stop(worker.handle)
        behind = list(worker.flights)
        at = self._workers.index(worker)
        if flight.index is None:
            self._report(kind, worker, "", cause)
            self._start_failures += 1
            if self._start_failures >= self._max_failures:
                times = "" if self._start_failures == 1 else f" ({self._start_failures} tries)"
                raise StartFailed(f"{self.name} cannot be made{times}: {_line(cause)}") from cause
        self._workers[at] = self._new_worker(worker.number, preflight=False)
        self._report("replaced", worker, "", cause)
        for other in behind:
            self._replay(worker, other, cause)
        if flight.index is not None:
            self._failed(worker, flight, kind, cause)

    def _failed(self, worker: _Worker, flight: _Flight, kind: Kind, cause: Exception) -> None:
        """Counts a failure of a chunk and gives it out again, or gives up."""
        run, index = flight.run, flight.index
        if run is None or index is None or run.closed:
            self._report(kind, worker, "", cause)
            return
        self._report(kind, worker, run.name(index), cause)
        run.failures[index] += 1
        if run.failures[index] >= self._max_failures:
            times = "once" if run.failures[index] == 1 else f"{run.failures[index]} times"
            raise ChunkFailed(f"chunk {run.name(index)} failed {times}, last: {_line(cause)}") from cause
        self._replay(worker, flight, cause)

    def _replay(self, worker: _Worker, flight: _Flight, cause: Exception) -> None:
        if flight.run is not None and flight.index is not None and not flight.run.closed:
            flight.run.again.append(flight.index)
            self._report("replayed", worker, flight.run.name(flight.index), cause)

    def _report(self, kind: Kind, worker: _Worker, chunk: str, cause: Exception) -> None:
        self.counts[kind] += 1
        if self._on_event is not None:
            self._on_event(PoolEvent(kind, worker.number, chunk, _line(cause)))


def _line(error: Exception) -> str:
    """An exception in one line."""
    text = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
