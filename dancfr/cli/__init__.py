"""The command line: one module per command, which parses the arguments and calls the package that does the work.

Commands import heavy packages when they run, so that `dancfr --help` starts quickly.
"""

import os
import re
import shutil
import signal
import sys
from typing import Any

from actors.cluster import THREADS

# Commands appear in the help in this order.
# isort: off
from dancfr.cli import (  # noqa: F401
    train,
    evaluate,
    tournament,
    league,
    decisions,
    report,
    reproduce,
    tune,
    exploit,
    solve,
    pack,
    push,
    export,
    status,
    serve,
    play,
    jobs,
    games,
    presets,
    agents,
    bench,
    version,
)

# isort: on
from dancfr.cli.app import app
from dancfr.cli.jobs import submits_no_command
from dancfr.errors import DancfrError, naming_extras, naming_options, one_line, place_of, printable, warn
from dancfr.extensions import fault_of_others
from dancfr.standard_streams import ReaderGone, guard_streams

_INTERRUPTED = 130
"""Exit code that typer returns after Ctrl-C."""

_NO_NUMBER = re.compile(r"Invalid value for '([^']*)': Input should be a valid (integer|number)\b.*")
"""The message of the parser on a text where an option takes a number."""


def main(arguments: list[str] | None = None) -> None:
    """Runs a command and exits the process: code 0 on success, 1 on failure, 2 on wrong usage."""
    guard_streams()
    _ignore_notices()
    _limit_threads()
    sys.exit(_run(arguments))


def _ignore_notices() -> None:
    """Ignores signals that batch systems may send as a notice, and that end a process which does not know them.

    Other processes that are started here inherit this.
    """
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.SIG_IGN)


def _limit_threads() -> None:
    """Limits NumPy, torch and Numba to one thread, unless the environment sets another number.

    Every command computes on one core, or in Ray actors with one core each. By default BLAS starts a thread per core,
    and their synchronisation costs more than they gain when other processes use the cores. Must run before NumPy is
    imported.
    """
    wanted = os.environ.get("OMP_NUM_THREADS", "1")  # the fallback of BLAS libraries without a variable of their own
    for name in THREADS:
        os.environ.setdefault(name, wanted)


def _narrow() -> int | None:
    """The width of the help on a terminal of fewer columns than the 52 that typer takes for granted; else None."""
    columns = shutil.get_terminal_size().columns
    return max(columns - 2, 20) if columns < 52 else None


def _run(arguments: list[str] | None) -> int:
    try:
        with naming_extras(), naming_options():
            code = app(arguments, prog_name="dancfr", standalone_mode=False, terminal_width=_narrow())
        sys.stdout.flush()
        if code == _INTERRUPTED:
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except DancfrError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail("aborted", 1)
    except SystemExit as error:  # no command of this program calls sys.exit
        return _fail(f"code of a game or an agent called sys.exit({error.code!r}) ({place_of(error)})", 1)
    except ReaderGone:
        return 1
    except Exception as error:
        if hasattr(error, "format_message"):  # usage errors of the parser, and the help of a command without arguments
            if type(error).__name__ == "NoArgsIsHelpError":
                warn(error.format_message())
            else:
                warn(printable(_wrong_use(error, sys.argv[1:] if arguments is None else arguments)))
            return 2
        from envs.game import ReturnTooLarge  # brings NumPy, which must not be imported before `_limit_threads`

        if isinstance(error, ReturnTooLarge):
            return _fail(str(error), 1)
        if (place := fault_of_others(error)) is not None:
            return _fail(f"{one_line(error)} (raised at {place}); `dancfr games NAME --check` checks a game", 1)
        raise


def _wrong_use(error: Any, arguments: list[str]) -> str:
    """Formats a usage error of the parser."""
    text, context = _NO_NUMBER.sub(r"\1 must be a valid \2", error.format_message()), getattr(error, "ctx", None)
    name = arguments[0] if arguments and not arguments[0].startswith("-") else ""
    command = f"dancfr {name}".strip() if context is None else context.command_path
    unknown = getattr(error, "option_name", "") if text.startswith("No such option") else ""
    if command.endswith(" submit"):
        if found := next(filter(None, map(submits_no_command, arguments[1:2])), ""):
            return f"dancfr: {found}"
        if unknown in ("--inline", "--dashboard"):
            return f"dancfr: a job runs on the Ray of its cluster, which has a dashboard: leave out {unknown}"
    if unknown and command.endswith((" train", " submit")):
        key = unknown.lstrip("-").replace("-", "_")
        return f"dancfr: {text.removesuffix('.')}; settings have no dashes: {key}=VALUE (see {command} --help)"
    return f"dancfr: {text.removesuffix('.')} (see {command} --help)"


def _fail(message: str, code: int) -> int:
    warn(f"dancfr: {' '.join(message.split())}")
    return code
