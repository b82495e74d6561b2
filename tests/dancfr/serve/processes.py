"""Commands as processes of their own."""

import json
import re
import signal
import subprocess
import sys
from typing import Any

END_S = 120.0
"""Longest time that a process may take to end."""


class Process:
    """A command whose standard error can be waited for."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "dancfr", *arguments]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._read = ""
        self.pid = self._process.pid

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Reads standard error up to a line that matches."""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._read += line
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"the process ended without a line like {pattern!r}: {self._read}")

    @property
    def told(self) -> str:
        """The part of standard error that has been read."""
        return self._read

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self, expected: int = 0) -> tuple[str, str]:
        """Waits for the end of the process, checks its exit code, and returns standard output and standard error."""
        out, err = self._process.communicate(timeout=END_S)
        err = self._read + err
        assert self._process.returncode == expected, err
        assert "Traceback" not in err
        return out, err

    def result(self) -> dict[str, Any]:
        """Waits for the end of a command with `--json`, and returns its result."""
        (line,) = self.end()[0].splitlines()
        parsed: dict[str, Any] = json.loads(line)
        return parsed

    def stop(self) -> None:
        """Kills the process if it is still running."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


class Processes(list[Process]):
    def start(self, *arguments: str) -> Process:
        self.append(Process(*arguments))
        return self[-1]

    def serve_guandan(self, *more: str) -> tuple[Process, str]:
        """A server on a free port, and its address without the name of the user."""
        process = self.start("serve", "guandan", "--port", "0", *more)
        return process, process.wait_for(r"listening on (ws://127\.0\.0\.1:\d+/game/)NAME")[1]

    def serve_geister(self, *more: str) -> tuple[Process, list[str]]:
        """A server on free ports, and the ports of the users' seats."""
        process = self.start("serve", "geister", "--port", "0", *more)
        line = process.wait_for(r"listening on 127\.0\.0\.1, port \d+ for .*")[0]
        return process, re.findall(r"port (\d+) for the (?:first|second) player", line)
