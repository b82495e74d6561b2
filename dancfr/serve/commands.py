"""Common parts of the commands `dancfr serve` and `dancfr connect` for all games: options, signals and results."""

import asyncio
import errno
import signal
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import numpy as np

from dancfr.errors import UsageError, one_line, warn
from dancfr.methods.stopping import stop_signals
from dancfr.watch.progress import COMPILING

USER = "-"
"""Stands for a user among the names of `--agents`."""

MAX_SECONDS = 1e6
"""Times given as options are below this."""

SILENT_S = 4.0
"""Loading cached kernels takes less; after this time a command says that it is compiling."""

_MOST_REPORTED = 20
"""Different errors of the event loop that are reported."""

T = TypeVar("T")


def split_agents(text: str, seats: int) -> list[str | None]:
    """Names of the agents by seat, None for users: ``-,planner,-,planner``, or fewer names for the last seats.

    Raises:
        UsageError: There are more names than seats, or no seat is left for a user.
    """
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    if len(parts) > seats:
        raise UsageError(f"--agents names {len(parts)} seats, but there are {seats}")
    names = [None] * (seats - len(parts)) + [None if part in ("", USER) else part for part in parts]
    if None not in names:
        raise UsageError("--agents leaves no seat for a user: use `dancfr evaluate` to let agents play each other")
    return names


def check_at_least(option: str, value: int | None, least: int) -> None:
    """Checks an integer option; None means that it was not given.

    Raises:
        UsageError: The value is smaller than `least`.
    """
    if value is not None and value < least:
        raise UsageError(f"{option} must be at least {least}, got {value}")


def check_seconds(option: str, seconds: float, zero: bool = False) -> None:
    """Checks a time or a rate; with `zero`, zero is allowed.

    Raises:
        UsageError: The value is out of range, or not a number.
    """
    if not (seconds >= 0 if zero else seconds > 0) or not seconds < MAX_SECONDS:
        least = "at least 0" if zero else "above 0"
        raise UsageError(f"{option} must be {least} and below {MAX_SECONDS:,.0f}, got {seconds:g}")


def seed_of(*key: int) -> int:
    """The seed of an agent, from the seed of the command and the numbers that identify the agent."""
    return int(np.random.SeedSequence(key).generate_state(1)[0])


@contextmanager
def compile_notice() -> Iterator[None]:
    """Prints a notice if the block takes longer than `SILENT_S`, which means that it compiles kernels."""
    timer = threading.Timer(SILENT_S, warn, [COMPILING])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def run_until_signal(main: Callable[[asyncio.Event], Coroutine[Any, Any, T]]) -> T:
    """Runs a coroutine with an event that the first signal to stop sets; a second Ctrl-C or SIGTERM ends the process.

    Returns:
        The result of the coroutine, whose exceptions pass through.
    """

    async def run() -> T:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        signals = stop_signals()
        loop.set_exception_handler(_OneLine())

        def stop_once() -> None:
            stop.set()
            for number in signals:
                if number != signal.SIGHUP:  # which may come twice
                    loop.remove_signal_handler(number)

        with suppress(NotImplementedError, ValueError, RuntimeError):  # not in the main thread
            for number in signals:
                loop.add_signal_handler(number, stop_once)
        return await main(stop)

    return asyncio.run(run())


class _OneLine:
    """Reports an error of the event loop in one line, once.

    asyncio writes a traceback for each connection that cannot be accepted.
    """

    def __init__(self) -> None:
        self._told: set[str] = set()

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        text = str(context.get("message")) + ("" if error is None else f": {one_line(error)}")
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            text = "no more connections for now: too many open files; raise their limit (ulimit -n)"
        if text not in self._told and len(self._told) < _MOST_REPORTED:
            self._told.add(text)
            warn(text)


async def wait_for_any(*events: asyncio.Event) -> None:
    """Waits until one of the events is set."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()


def count_statuses(rows: Iterable[dict[str, Any]]) -> str:
    """How many tables or games have each status: ``2 finished, 1 stopped``."""
    counts = Counter(row["status"] for row in rows)
    return ", ".join(f"{count} {status}" for status, count in counts.items()) or "none"
