"""The life of a program that reads a run beside its training: until its standard input ends, see `ReaderProcess`."""

import os
import select
import signal
from collections.abc import Callable

LOOK_EVERY_S = 1.0


def ignore_signals() -> None:
    """Ignores the signals that stop a training: they may also reach its readers, which still have to send the last
    rows. Processes that a reader starts inherit this."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def until_the_end(update: Callable[[], None]) -> int:
    """Calls `update` every second until the training ends; returns its exit code, 1 if it was killed."""
    while not select.select([0], [], [], LOOK_EVERY_S)[0]:
        update()
    return int(os.read(0, 10) or b"1")  # a training that was killed sends none
