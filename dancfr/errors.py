"""Errors that are shown to people: one line each, and the exit code of the command."""

import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import ClassVar


class DancfrError(Exception):
    """An error whose message is one line with the cause and what to do; printed without a traceback."""

    exit_code: ClassVar[int] = 1


class UsageError(DancfrError):
    """The command was used wrongly; nothing was started or changed. Exit code 2."""

    exit_code: ClassVar[int] = 2


class RunError(DancfrError):
    """A command failed while it ran. Exit code 1."""


def reason(error: OSError) -> str:
    """The reason of a system error in a few words; for an error from another process its last line."""
    lines = str(error.strerror or error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__


def cannot_write(path: Path, error: OSError) -> str:
    """The message for a file of a run that could not be written, with the cure."""
    cure = "make room and go on with --resume"
    if isinstance(error, FileNotFoundError):
        cure = "the folder was removed or moved: put it back and go on with --resume, or train into another one"
    return f"cannot write {path}: {reason(error)}; {cure}"


def one_line(error: BaseException) -> str:
    """An error of a part that is not ours, with its kind, in at most one line of some 300 characters."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def place_of(error: BaseException) -> str:
    """Where an error was raised, as file and line, by the last code that is not NumPy's."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if "/numpy/" not in each.filename] or list(frames)
    return f"{own[-1].filename}, line {own[-1].lineno}" if own else "nowhere"


def warn(text: str) -> None:
    """Prints a line to standard error. Never fails, not even if that is closed or a file on a full disk."""
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)


def nearest(name: str, known: list[str] | tuple[str, ...], what: str) -> str:
    """The error message for an unknown name, with the most similar known name, else the first dozen.

    Args:
        name: The unknown name.
        known: The known names.
        what: The kind of thing that has the name, e.g. ``"preset"``.
    """
    import difflib

    lower = {candidate.lower(): candidate for candidate in known}
    typed = name.lower().replace("_plus", "+").replace("plus", "+")  # cfr+ is hard to say in a name
    close = difflib.get_close_matches(typed if typed in lower else name.lower(), list(lower), n=1, cutoff=0.5)
    if close:
        return f"no {what} named {name!r}; did you mean {lower[close[0]]}?"
    if not known:
        return f"no {what} named {name!r}: no {what} exists"
    listed = ", ".join(sorted(known)[:12]) + (", ..." if len(known) > 12 else "")
    return f"no {what} named {name!r}; there are: {listed}"
