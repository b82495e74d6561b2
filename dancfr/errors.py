"""Errors that are shown to people: one line each, and the exit code of the command."""

import importlib
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

MAX_SHOWN_VALUE = 60
"""Longest text of a wrong value in an error, in characters."""

_CONTROLS = {n: ascii(chr(n))[1:-1] for n in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029)}


def printable(text: str) -> str:
    """Returns text in one line, with line breaks and other control characters, which names may have, escaped."""
    return text.translate(_CONTROLS)


class DancfrError(Exception):
    """An error whose message is one line with the cause and the cure; printed without a traceback."""

    exit_code: ClassVar[int] = 1

    def __str__(self) -> str:
        return printable(super().__str__())


class UsageError(DancfrError):
    """The command was used wrongly; nothing was started or changed. Exit code 2."""

    exit_code: ClassVar[int] = 2


class RunError(DancfrError):
    """A command failed while it ran. Exit code 1."""


class PackageMissing(UsageError):
    """A package that only some commands need is not installed."""


_in_command = False  # for the whole process, since servers of the command line answer in threads


@contextmanager
def naming_options() -> Iterator[None]:
    """Lets the errors of the library name options of the command line, for the duration of a command."""
    global _in_command
    before, _in_command = _in_command, True
    try:
        yield
    finally:
        _in_command = before


def names_options() -> bool:
    """Whether errors name options of the command line, and not arguments of functions; see `naming_options`."""
    return _in_command


_EXTRAS = {
    **dict.fromkeys(("ray", "torch", "wandb", "requests"), "train"),
    **dict.fromkeys(("matplotlib", "jinja2"), "report"),
    "aiohttp": "serve",
    "markdown_it": "serve",
    "tensorboard": "tensorboard",
    "onnx": "onnx",
    "huggingface_hub": "hub",
    "optuna": "tune",
    "pandas": "notebook",
}
"""The extra of dancfr that brings a package."""


@contextmanager
def naming_extras() -> Iterator[None]:
    """Raises PackageMissing for an import that fails because an extra of dancfr is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in _EXTRAS:
            raise
        raise PackageMissing(
            f"this needs {package}, which is not installed: pip install 'dancfr[{_EXTRAS[package]}]', or 'dancfr[all]' "
            "for everything"
        ) from error


def require_packages(*names: str) -> None:
    """Imports packages of extras before a long computation that uses them at its end.

    Raises:
        PackageMissing: one of them is not installed.
    """
    with naming_extras():
        for name in names:
            importlib.import_module(name)


def reason(error: OSError) -> str:
    """The reason of a system error in a few words; for an error from another process its last line."""
    lines = str(error.strerror or error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__


def cannot_write(path: Path, error: OSError) -> str:
    """The message for a file of a run that could not be written, with the cure."""
    cure = "make room and continue with --resume"
    if isinstance(error, FileNotFoundError):
        cure = "the folder was removed or moved: put it back and continue with --resume, or train into another one"
    return f"cannot write {path}: {reason(error)}; {cure}"


def one_line(error: BaseException) -> str:
    """An error of a part that is not ours, with its kind, in at most one line of some 300 characters."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def shortened(value: object) -> str:
    """A value for an error, in at most `MAX_SHOWN_VALUE` characters; a long list or mapping by its length."""
    try:
        if isinstance(value, (Mapping, Sequence)) and not isinstance(value, (str, bytes)) and len(value) > 8:
            return f"{type(value).__name__} of {len(value)} entries"
        text = repr(value)
    except Exception:  # an integer of thousands of digits, lists within lists without end, or code of others
        text = f"an object of {type(value).__name__}"
    return text if len(text) <= MAX_SHOWN_VALUE else f"{text[: MAX_SHOWN_VALUE - 3]}..."


def place_of(error: BaseException) -> str:
    """Where an error was raised, as file and line, by the last code that is not NumPy's."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if "/numpy/" not in each.filename] or list(frames)
    return f"{own[-1].filename}, line {own[-1].lineno}" if own else "nowhere"


def warn(text: str) -> None:
    """Prints a line to standard error. Never fails, not even if that is closed or a file on a full disk."""
    if sys.stderr is not None:  # `print` would take standard output in its place
        with suppress(OSError, ValueError):
            print(text, file=sys.stderr, flush=True)


def silent(text: str) -> None:
    """Takes a line in place of `warn`, and prints nothing."""


ALIKE = 0.7
"""Similarity of two names from which one is taken for a misspelling of the other, and no more names are listed."""


def nearest(name: str, known: list[str] | tuple[str, ...], what: str) -> str:
    """The error message for an unknown name, with the most similar known name, and the first dozen unless it is alike.

    Args:
        name: The unknown name.
        known: The known names.
        what: The kind of thing that has the name, e.g. ``"preset"``.
    """
    import difflib

    if len(name) > 60:
        name = f"{name[:57]}..."
    lower = {candidate.lower(): candidate for candidate in known}
    typed = name.lower().replace("_plus", "+").replace("plus", "+")  # cfr+ is hard to say in a name
    typed = typed if typed in lower else name.lower()
    close = difflib.get_close_matches(typed, list(lower), n=1, cutoff=0.5)
    if not known:
        return f"no {what} named {name!r}: no {what} exists"
    listed = ", ".join(sorted(known)[:12]) + (", ..." if len(known) > 12 else "")
    if not close:
        return f"no {what} named {name!r}; there are: {listed}"
    alike = difflib.SequenceMatcher(None, typed, close[0]).ratio()
    others = "" if alike >= ALIKE else f" There are: {listed}"
    return f"no {what} named {name!r}; did you mean {lower[close[0]]}?{others}"
