"""A daemon thread for agents: a running search cannot delay the end of the server."""

import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any

from dancfr.errors import one_line

_NAME = "agents"
_REST_S = 0.2


class AgentThread(Executor):
    """An executor with one thread, which does not outlive the process.

    A thread of `ThreadPoolExecutor` is waited for when the process ends, so that an agent with half a minute for its
    move would keep the command for half a minute after Ctrl-C.
    """

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        threading.Thread(target=self._run, name=_NAME, daemon=True).start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Runs a function after those that were submitted before it."""
        future: Future[Any] = Future()
        self._waiting.put((future, partial(fn, *args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the thread after the functions that were submitted; never waits for it."""
        self._waiting.put(None)

    def _run(self) -> None:
        while (item := self._waiting.get()) is not None:
            future, call = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = call()
            except StopIteration as error:  # no future of asyncio takes it: who waits would wait for ever
                future.set_exception(RuntimeError(one_line(error)))
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)
            del item, future, call


def leave_agents(code: int = 0) -> None:
    """Ends the process with this exit code if an agent is still thinking; to be called when all else is done.

    Nothing can interrupt compiled code, and the interpreter must not be taken down while a thread runs it.
    """
    for thread in threading.enumerate():
        if thread.name != _NAME:
            continue
        thread.join(_REST_S)
        if thread.is_alive():
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(code)


__all__ = ["AgentThread", "leave_agents"]
