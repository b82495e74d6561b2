"""The runtime of one process with several threads, for nets on a GPU.

Each object has a thread, which runs its calls in their order. Compiled games and torch let go of the interpreter's lock
while they compute, and a thread that waits for the GPU leaves the cores to the others: while the nets of some games are
evaluated, other games are stepped.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from time import monotonic
from typing import Any

from actors.runtime import Gathered, InlineHandle, InlineRef, InlineRuntime, Ref, T


class ThreadRef(InlineRef):
    """A value that a thread computes, or one part of it."""

    __slots__ = ("future", "part")

    def __init__(self, future: "Future[Any]", part: int | None = None) -> None:
        self.future, self.part = future, part

    def value(self) -> Any:
        """Waits for the value, and returns it or raises the exception."""
        refs = self.future.result()
        return (refs if self.part is None else refs[self.part]).value()


class ThreadHandle(InlineHandle[T]):
    """An object in this process, whose methods run in a thread of its own.

    The object is made in the caller's thread before this returns: its first draws from generators of the process, such
    as fresh weights, then do not depend on timing.
    """

    def __init__(self, name: str, make: Callable[[], T]) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name, initializer=_take_stream)
        super().__init__(name, make)

    def send(self, method: str, args: Sequence[Any], kwargs: Mapping[str, Any], returns: int = 1) -> Any:
        """See `Handle.send`."""
        try:
            future = self._thread.submit(self._run, method, args, kwargs, returns)
        except RuntimeError:  # the thread has been told to end
            return super().send(method, args, kwargs, returns)
        return ThreadRef(future) if returns == 1 else tuple(ThreadRef(future, part) for part in range(returns))

    def _run(self, method: str, args: Sequence[Any], kwargs: Mapping[str, Any], returns: int) -> Any:
        """Runs the method in this thread; returns a ref, or one for each of several values."""
        refs = super().send(method, args, kwargs, returns)
        if self._failure is None:
            return refs
        failed = self.ready()  # the object has been stopped meanwhile
        return failed if returns == 1 else (failed,) * returns

    def end(self) -> None:
        """Drops the object; calls that have not ended fail. One that is under way runs to its end, unseen."""
        super().end()
        self._thread.shutdown(wait=False)


def _take_stream() -> None:
    """Gives this thread a CUDA stream of its own. On a shared one, the nets of a game would wait for all the steps that
    a learner has queued."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.synchronize()  # for what the caller's thread has made of the object
        torch.cuda.set_stream(torch.cuda.Stream())


class ThreadRuntime(InlineRuntime):
    """Runs objects in threads of the calling process.

    Args:
        workers: Number of workers.
    """

    handle = ThreadHandle

    def __init__(self, workers: int) -> None:
        super().__init__()
        self.workers, self.parallel = workers, True

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
