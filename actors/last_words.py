"""Reports why a process ended whose Ray was ended: Ray ends it when its node is gone, without a message."""

import atexit
import os
import subprocess
import sys

import psutil

_PROGRAM = """
import os, select, sys
try:
    node = os.pidfd_open(int(sys.argv[1]))
except OSError:  # the kernel does not offer it, or the node is gone already
    sys.exit()
waiting = select.poll()
waiting.register(0, select.POLLIN)
waiting.register(node, select.POLLIN)
if 0 not in dict(waiting.poll()) and not os.read(0, 1):
    os.write(2, sys.argv[2].encode())
"""
"""Waits for the end of the node, and then for that of the process, unless this one ends first or says goodbye."""


class LastWords:
    """A small process that prints a line if this process ends without a goodbye together with its Ray node.

    So the line has to be true of a process that was killed, too: its node ends with it. Does nothing on systems other
    than Linux.

    Args:
        line: The line.
    """

    def __init__(self, line: str) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        node = next((each for each in psutil.Process().children() if each.name() == "raylet"), None)
        if node is None or not hasattr(os, "pidfd_open"):
            return
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM, str(node.pid), f"{line}\n"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the training
        )
        atexit.register(self.stop)  # before Ray's own function, which ends the node

    def stop(self) -> None:
        """Ends the small process: from now on this one reports its end itself. May be called twice."""
        process, self._process = self._process, None  # two threads may end the training
        if process is not None:
            process.communicate(b".")
