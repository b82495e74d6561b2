"""Failures that a person can act on: one line each, with the exit code of the command."""

import sys
from contextlib import suppress
from typing import ClassVar


class DancfrError(Exception):
    """A failure whose message is one line naming cause and cure; printed without a traceback."""

    exit_code: ClassVar[int] = 1


class UsageError(DancfrError):
    """The command was used wrongly: nothing was started and nothing changed. Exit code 2."""

    exit_code: ClassVar[int] = 2


class RunError(DancfrError):
    """Something failed while a command ran. Exit code 1."""


def reason(error: OSError) -> str:
    """Why the system refused, in a few words; of an error that crossed processes, its last line."""
    lines = str(error.strerror or error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__


def warn(text: str) -> None:
    """One line on standard error. Never fails: standard error may be closed, or a file on a disk that is full."""
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def nearest(name: str, known: list[str] | tuple[str, ...], what: str) -> str:
    """Message for an unknown name: the closest known one, or all of them when they are few.

    Args:
        name: What was asked for.
        known: What there is.
        what: What the names stand for, e.g. ``"preset"``.
    """
    import difflib

    lower = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), list(lower), n=1, cutoff=0.5)
    if close:
        return f"no {what} named {name!r}; did you mean {lower[close[0]]}?"
    if not known:
        return f"no {what} named {name!r}: there is none"
    listed = ", ".join(sorted(known)[:12]) + (", ..." if len(known) > 12 else "")
    return f"no {what} named {name!r}; there are: {listed}"
