"""The command line: one module per command, which parses the arguments and calls the package that does the work.

Commands import heavy packages when they run, so that `dancfr --help` starts quickly.
"""

import os
import sys

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
    exploit,
    solve,
    pack,
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
from dancfr.errors import DancfrError, warn

_INTERRUPTED = 130
"""Exit code that typer returns after Ctrl-C."""


def main(arguments: list[str] | None = None) -> None:
    """Runs a command and exits the process: code 0 on success, 1 on failure, 2 on wrong usage."""
    _limit_threads()
    sys.exit(_run(arguments))


def _limit_threads() -> None:
    """Limits NumPy, torch and Numba to one thread, unless the environment sets another number.

    Every command computes on one core, or in Ray actors with one core each. By default BLAS starts a thread per core,
    and their synchronisation costs more than they gain when other processes use the cores. Must run before NumPy is
    imported.
    """
    wanted = os.environ.get("OMP_NUM_THREADS", "1")  # the fallback of BLAS libraries without a variable of their own
    for name in THREADS:
        os.environ.setdefault(name, wanted)


def _run(arguments: list[str] | None) -> int:
    try:
        code = app(arguments, prog_name="dancfr", standalone_mode=False)
        sys.stdout.flush()
        if code == _INTERRUPTED:
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except DancfrError as error:
        return _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _fail("aborted", 1)
    except BrokenPipeError:  # the reader has closed the pipe, as in `dancfr presets | head -1`
        sys.stderr.close()
        return 1
    except Exception as error:
        if hasattr(error, "format_message"):  # usage errors of the parser, and the help of a command without arguments
            text, context = error.format_message(), getattr(error, "ctx", None)
            command = "dancfr" if context is None else context.command_path
            warn(text if "\n" in text else f"dancfr: {text.removesuffix('.')} (see {command} --help)")
            return 2
        raise


def _fail(message: str, code: int) -> int:
    warn(f"dancfr: {' '.join(message.split())}")
    return code
