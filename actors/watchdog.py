"""Whether Ray's control service still answers. Without it actors go on for a while, but none can be started, and after
a minute Ray ends the driver's process without a word."""

import os
import socket
import sys
import threading
import time

from actors.runtime import RayLost

LOOK_EVERY_S = 2.0
LOST_AFTER_S = 20.0
"""So long a service may be away, for a restart or in a network that stumbles."""
END_AFTER_S = 20.0
"""So long a driver that has been told may take to end."""


class Watchdog:
    """Looks at the control service from a thread of its own.

    Args:
        address: ``host:port`` of the service.
        lost_after_s: After so many seconds without an answer it counts as gone.
        end_after_s: After so many seconds more the process is ended, if it has not ended by itself: what waits for
            Ray in C++ hears of no exception.

    Attributes:
        lost: Whether it is gone.
    """

    def __init__(self, address: str, lost_after_s: float = LOST_AFTER_S, end_after_s: float = END_AFTER_S) -> None:
        host, _, port = address.rpartition(":")
        self._where = host.strip("[]"), int(port)
        self._lost_after_s, self._end_after_s = lost_after_s, end_after_s
        self._ended = threading.Event()
        self.lost = False
        threading.Thread(target=self._look, name="ray-watchdog", daemon=True).start()

    def check(self) -> None:
        """Raises RayLost if the service is gone."""
        if self.lost:
            raise RayLost(self._message())

    def stop(self) -> None:
        """Looks no more; a process that has been told that Ray is lost still gets its time to end."""
        if not self.lost:
            self._ended.set()

    def _message(self) -> str:
        host, port = self._where
        return (
            f"Ray's control service at {host}:{port} does not answer any more: its head was stopped or lost; start Ray "
            "again and go on with --resume"
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
        time.sleep(self._end_after_s)
        print(f"dancfr: {self._message()}", file=sys.stderr, flush=True)
        os._exit(1)
