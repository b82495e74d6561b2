"""Ctrl-C and SIGTERM: the first asks the driver to write a checkpoint and end, the second ends at once."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)

GRACE_S = 5.0
"""So long the iteration under way may still take. Then it is left: a machine that is taken away gives half a minute's
notice, in which the checkpoint has to be written too."""
_active: "Stop | None" = None


class Stop:
    """Whether somebody has asked the run to end.

    Args:
        then: What is said to happen after the first signal.

    Attributes:
        requested: A first signal has come.
    """

    def __init__(self, then: str = "writing a checkpoint, then ending") -> None:
        self.requested = False
        self._since = 0.0
        self._then = then

    def overdue(self) -> bool:
        """Whether the grace is over."""
        return self.requested and time.monotonic() - self._since > GRACE_S

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt(signal.Signals(number).name)
        self._since = time.monotonic()
        self.requested = True
        name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
        with suppress(OSError):  # past Python's buffers, in whose midst the signal may have come
            os.write(2, f"{name}: {self._then}; once more aborts\n".encode())


@contextmanager
def catching(then: str = "writing a checkpoint, then ending") -> Iterator[Stop]:
    """Signals set `requested` within the block; nested blocks share one flag. Then the old handlers return.

    A second signal raises KeyboardInterrupt in the main thread. In other threads, which get no signals, the
    flag is simply never set.

    Args:
        then: What is said to happen after the first signal.
    """
    global _active
    if _active is not None:
        yield _active
        return
    if threading.current_thread() is not threading.main_thread():
        yield Stop(then)
        return
    _active = Stop(then)
    before = {number: signal.signal(number, _active._receive) for number in _SIGNALS}
    try:
        yield _active
    finally:
        _active = None
        for number, handler in before.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)
