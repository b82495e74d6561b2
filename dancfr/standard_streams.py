"""The standard streams of a command: standard output carries the result alone, standard error never fails.

A stream may be closed (`>&-`), on a full disk, or a terminal or pipe that has gone. A result that cannot be written is
an error of one line, unless the reader of a pipe has left or the stream was closed from the start. Messages that cannot
be written are dropped: the work matters more.
"""

import io
import os
import select
import sys
from typing import Any

from dancfr.errors import RunError, reason


class ReaderGone(Exception):
    """The reader of standard output has closed the pipe, as in `dancfr presets | head -1`."""


class _Stream(io.FileIO):
    """A file that drops text that cannot be written, so that the end of the process does not fail again."""

    _failed = False

    def write(self, data: Any) -> int:
        try:
            while not self._failed:
                written: int | None = super().write(data)
                if written is not None:
                    return written
                select.select([], [self], [])  # another process has made the terminal or pipe non-blocking
        except OSError as error:
            self.fail(error)
        return len(data)

    def fail(self, error: OSError) -> None:
        """Called when nothing could be written."""


class _Result(_Stream):
    def fail(self, error: OSError) -> None:
        self._failed = True
        if isinstance(error, BrokenPipeError):
            raise ReaderGone from None
        raise RunError(f"cannot write to standard output: {reason(error)}") from None


def guard_streams() -> None:
    """Prepares the streams of this process, once; leaves streams that have been replaced, such as those of pytest.

    Afterwards file descriptor 1 is standard error: the output of C libraries and other processes is not part of the
    result, and a pipe behind this command ends with it. Closed streams lead to the null device; a file opened later
    would otherwise take their number, and messages would be written into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest free number
    if sys.stdout is sys.__stdout__:
        result = os.dup(1)
        os.dup2(2, 1)
        sys.stdout = _text(_Result(result, "w"), sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(_Stream(2, "w", closefd=False), sys.stderr, each_line=True)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115


def _text(stream: _Stream, replaced: Any, each_line: bool = False) -> io.TextIOWrapper:
    """A text stream in the encoding of the one that it replaces. Characters that it lacks are escaped."""
    return io.TextIOWrapper(
        io.BufferedWriter(stream),
        encoding="utf-8" if replaced is None else replaced.encoding,
        errors="backslashreplace",
        line_buffering=each_line or stream.isatty(),
    )
