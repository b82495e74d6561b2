"""Handles Ctrl-C, SIGTERM and SIGHUP: the first signal asks a run to stop, the second ends the process immediately.

A run that is asked to stop finishes its iteration and writes a checkpoint. If the iteration takes longer than the
notice, the run ends without it, and `--resume` repeats the work after the last checkpoint, with the same result. A
person at the keyboard, who may press Ctrl-C again, is given more time than a machine that is about to be taken away.

SIGHUP comes from a terminal that is closed, often twice, or with SIGTERM. So it never counts as the second signal.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any


def stop_signals() -> list[signal.Signals]:
    """Returns the signals that stop a command; without SIGHUP if it is ignored, for instance by `nohup`."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return [signal.SIGINT, signal.SIGTERM, *([] if ignored else [signal.SIGHUP])]


NOTICE_S = 10.0
"""Seconds that an iteration may still take after SIGTERM, and at least after Ctrl-C. Preempted machines of clouds have
half a minute, in which the checkpoint must be written as well."""

PATIENCE = 2.0
"""How long the iteration under way may take after Ctrl-C, relative to the longest one before it."""

_active: "Stop | None" = None


class OutOfTime(BaseException):
    """The notice is over. Not an `Exception`, so that no handler mistakes it for a failure to recover from."""


class Stop:
    """Whether a signal has asked the run to stop.

    Attributes:
        then: Consequence of the first signal at this moment, for the line that is printed when it arrives.
    """

    def __init__(self, then: str) -> None:
        self._patience = 0.0
        self._signal: int | None = None
        self.then = then
        self._notice: float | None = None
        self._alarm_before: Any = None
        self._shielded = False

    @property
    def requested(self) -> bool:
        """Whether the first signal has arrived."""
        return self._signal is not None

    def expect(self, seconds: float) -> None:
        """Records the duration of an iteration. Ctrl-C leaves the current one twice the time of the longest so far."""
        self._patience = max(self._patience, PATIENCE * seconds)

    @contextmanager
    def limited(self, notice: float = NOTICE_S) -> Iterator[None]:
        """Raises OutOfTime in the main thread if the block is still running `notice` seconds after the first signal,
        or, after Ctrl-C, as long as `expect` allows.

        The exception is raised between any two bytecodes, even while the program waits for Ray or compiles.
        """
        self._notice = notice
        if self._signal is not None:  # it came before the block
            self._set_alarm(self._signal)
        try:
            yield
        except SystemError as error:  # OutOfTime raised within Ray's compiled code
            cause: BaseException | None = error
            while cause is not None and not isinstance(cause, OutOfTime):
                cause = cause.__cause__
            if cause is None:
                raise
            raise cause from None
        finally:
            self._notice = None
            if self._alarm_before is not None:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, self._alarm_before)
                self._alarm_before = None

    @contextmanager
    def shielded(self) -> Iterator[None]:
        """Defers OutOfTime until the block ends, so that a checkpoint is written completely."""
        self._shielded = True
        try:
            yield
        finally:
            self._shielded = False

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.requested and number == signal.SIGHUP:
            return
        if self._signal not in (None, signal.SIGHUP):
            raise KeyboardInterrupt(signal.Signals(number).name)
        self._signal = number
        self._set_alarm(number)
        name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
        with suppress(OSError):  # not through Python's buffers, which the signal may have interrupted
            os.write(2, f"{name}: {self.then}; a second signal aborts\n".encode())

    def _set_alarm(self, number: int) -> None:
        """Starts the notice of a signal, within `limited`."""
        if self._notice is not None and self._alarm_before is None:  # a signal may come while `limited` begins
            notice = max(self._notice, self._patience) if number == signal.SIGINT else self._notice
            self._alarm_before = signal.signal(signal.SIGALRM, self._expire)
            # Repeated every second, since an exception in a callback from C code may get lost.
            signal.setitimer(signal.ITIMER_REAL, notice, 1.0)

    def _expire(self, number: int, frame: FrameType | None) -> None:
        if not self._shielded:
            raise OutOfTime


@contextmanager
def catching(then: str = "stopping before an iteration begins") -> Iterator[Stop]:
    """Turns signals into a flag within the block; nested blocks share it. Restores the previous handlers afterwards.

    A second signal raises KeyboardInterrupt in the main thread. Other threads receive no signals, so their flag is
    never set.

    Args:
        then: Consequence of the first signal, see `Stop`, until the block says otherwise.
    """
    global _active
    if _active is not None:
        yield _active
        return
    if threading.current_thread() is not threading.main_thread():
        yield Stop(then)
        return
    _active = Stop(then)
    before = {number: signal.signal(number, _active._receive) for number in stop_signals()}
    try:
        yield _active
    finally:
        _active = None
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
