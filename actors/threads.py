"""The runtime of one process with several threads, for nets on a GPU.

Each object has a thread, which runs its calls in their order. Compiled games and torch let go of the interpreter's lock
while they compute, and a thread that waits for the GPU leaves the cores to the others: while the nets of some games are
evaluated, other games are stepped.
"""

import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from time import monotonic
from typing import Any

from actors.runtime import Gathered, Handle, InlineRef, Ref, WorkerDied, name_of


class ThreadRef(InlineRef):
    """A value that a thread computes, or one part of it."""

    __slots__ = ("future", "part")

    def __init__(self, future: "Future[Any]", part: int | None = None) -> None:
        self.future, self.part = future, part

    def value(self) -> Any:
        """Waits for the value, and returns it or raises the exception."""
        value = self.future.result()
        return value if self.part is None else value[self.part]


class ThreadHandle:
    """An object in this process, whose methods run in a thread of its own.

    The object is made at once, in the caller's thread: what it draws at its start from generators of the process, such
    as fresh weights, then does not depend on timing.
    """

    def __init__(self, name: str, make: Callable[[], Any]) -> None:
        self.name = name
        self._target: Any = None
        self._failure: Exception | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name, initializer=_take_stream)
        try:
            self._target = make()
        except Exception as error:
            self._failure = error

    def call(self, method: str, *args: Any, returns: int = 1, **kwargs: Any) -> Any:
        """See `Handle.call`."""
        try:
            future = self._thread.submit(self._run, method, args, returns, kwargs)
        except RuntimeError:  # the thread has been told to end
            future = Future()
            future.set_exception(WorkerDied(f"{self.name} was stopped"))
        return ThreadRef(future) if returns == 1 else tuple(ThreadRef(future, part) for part in range(returns))

    def _run(self, method: str, args: Sequence[Any], returns: int, kwargs: dict[str, Any]) -> Any:
        if self._failure is not None:
            raise self._failure
        given = [arg.value() if isinstance(arg, InlineRef) else arg for arg in args]
        named = {key: arg.value() if isinstance(arg, InlineRef) else arg for key, arg in kwargs.items()}
        result = getattr(self._target, method)(*given, **named)
        if self._failure is not None:  # the object has been stopped meanwhile
            raise self._failure
        if returns > 1 and len(result) != returns:
            raise ValueError(f"{self.name}.{method} returned {len(result)} values, not {returns}")
        return result

    def ready(self) -> InlineRef:
        """See `Handle.ready`."""
        made: Future[None] = Future()
        if self._failure is None:
            made.set_result(None)
        else:
            made.set_exception(self._failure)
        return ThreadRef(made)

    def end(self) -> None:
        """Drops the object; calls that have not ended fail. One that is under way runs to its end, unseen."""
        self._failure = WorkerDied(f"{self.name} was stopped")
        self._thread.shutdown(wait=False)


def _take_stream() -> None:
    """Gives this thread a CUDA stream of its own. On a shared one, the nets of a game would wait for all the steps that
    a learner has queued."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()  # for what the caller's thread has made of the object
        torch.cuda.set_stream(torch.cuda.Stream())


class ThreadRuntime:
    """Runs objects in threads of the calling process.

    Args:
        workers: Number of workers.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.parallel, self.processes = True, False
        self.gpus = 0.0
        self._handles: list[ThreadHandle] = []

    def start(
        self,
        factory: Callable[..., Any],
        *args: Any,
        cpus: float = 1.0,
        gpus: float = 0.0,
        name: str = "",
        preflight: bool = True,
        home: bool = False,
        **kwargs: Any,
    ) -> ThreadHandle:
        """See `Runtime.start`. Resources are ignored."""
        given = [arg.value() if isinstance(arg, InlineRef) else arg for arg in args]
        named = {key: arg.value() if isinstance(arg, InlineRef) else arg for key, arg in kwargs.items()}
        handle = ThreadHandle(name or name_of(factory), lambda: factory(*given, **named))
        self._handles.append(handle)
        return handle

    def put(self, value: Any) -> InlineRef:
        """See `Runtime.put`; the value is not copied."""
        return InlineRef(value)

    def get(self, refs: Any, timeout: float | None = None) -> Any:
        """See `Runtime.get`."""
        if isinstance(refs, Gathered):
            return refs.merge(self.get(list(refs.parts), timeout))
        listed = refs if isinstance(refs, list) else [refs]
        if timeout is not None and len(self.wait(listed, len(listed), timeout)) < len(listed):
            raise TimeoutError(f"no result within {timeout:g} s")
        return [ref.value() for ref in listed] if isinstance(refs, list) else refs.value()

    def wait(self, refs: Sequence[Ref], count: int = 1, timeout: float | None = None) -> list[Ref]:
        """See `Runtime.wait`."""
        deadline = None if timeout is None else monotonic() + timeout
        while True:
            ready = [ref for ref in refs if not isinstance(ref, ThreadRef) or ref.future.done()]
            left = None if deadline is None else deadline - monotonic()
            if len(ready) >= min(count, len(refs)) or (left is not None and left <= 0):
                return ready[:count]
            open_ones = {ref.future for ref in refs if isinstance(ref, ThreadRef) and not ref.future.done()}
            wait_for(open_ones, timeout=left, return_when=FIRST_COMPLETED)

    def stop(self, handle: Handle) -> None:
        """See `Runtime.stop`."""
        for own in self._handles:
            if own is handle:
                own.end()
        self._handles = [own for own in self._handles if own is not handle]

    def stop_all(self) -> None:
        """See `Runtime.stop_all`."""
        for handle in list(self._handles):
            self.stop(handle)

    def check(self) -> None:
        """See `Runtime.check`."""

    def shutdown(self) -> None:
        """See `Runtime.shutdown`."""
        self.stop_all()
