"""Watches Ray's control service. Without it no actor can be started, and after a minute Ray ends the driver's process
without a message."""

import os
import socket
import sys
import threading
import time

from actors.last_words import LastWords
from actors.runtime import RayLost

LOOK_EVERY_S = 2.0
LOST_AFTER_S = 20.0
"""Time without an answer after which the service counts as lost: a restart or a network failure may be shorter."""
OWN_LOST_AFTER_S = 5.0
"""The same for a Ray that this process has started: no network lies between."""
END_AFTER_S = 20.0
"""Further time in which the driver has to end by itself, unless it waits within Ray's C++ code, which no exception can
interrupt: then the thread ends the process."""

_KILLED = (
    "the training ended early, and so did the Ray that it had started: it was killed, or `ray stop` in another "
    "terminal ended every Ray of the machine; continue with --resume"
)


class Watchdog:
    """Connects to the control service every few seconds, in a thread of its own.

    Args:
        address: ``host:port`` of the service.
        own: Whether this process has started that Ray.

    Attributes:
        lost: Whether the service has been lost.
    """

    def __init__(self, address: str, own: bool) -> None:
        self._own = own
        host, _, port = address.rpartition(":")
        self._where = host.strip("[]"), int(port)
        self._lost_after_s = OWN_LOST_AFTER_S if own else LOST_AFTER_S
        self._last_words = LastWords(f"dancfr: {_KILLED}") if own else None
        self._ended = threading.Event()
        self.lost = False
        threading.Thread(target=self._look, name="ray-watchdog", daemon=True).start()

    def check(self) -> None:
        """Raises RayLost if the service has been lost."""
        if self.lost:
            raise self.error()

    def error(self) -> RayLost:
        """Returns the error that reports the loss of Ray, with the cure."""
        return RayLost(self._message())

    def stop(self) -> None:
        """Ends the watch. Once the service has been lost, the process is still ended in time."""
        if not self.lost:
            self._ended.set()

    def take_leave(self) -> None:
        """To be called before Ray is stopped: the end of this process needs no explanation any more."""
        if self._last_words is not None:
            self._last_words.stop()

    def _message(self) -> str:
        if self._own:
            return (
                "the Ray that this command has started is gone (`ray stop` in another terminal ends every Ray of the "
                "machine): continue with --resume"
            )
        host, port = self._where
        return (
            f"Ray's control service at {host}:{port} does not answer any more: the head of the cluster was stopped or "
            "lost; start Ray again and continue with --resume"
        )

    def _look(self) -> None:
        answered = time.monotonic()
        while not self._ended.wait(min(LOOK_EVERY_S, self._lost_after_s / 4)):
            try:
                socket.create_connection(self._where, timeout=5).close()
                answered = time.monotonic()
            except OSError:
                if time.monotonic() - answered > self._lost_after_s:
                    break
        else:
            return
        self.lost = True
        time.sleep(END_AFTER_S)
        try:
            self.take_leave()
            print(f"dancfr: {self._message()}", file=sys.stderr, flush=True)
        finally:
            os._exit(1)
