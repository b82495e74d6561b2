"""The command line: a file for each command, which parses its arguments and calls what does the work.

Heavy imports stay inside the commands, so that help and version are quick.
"""

import os
import sys

from actors.cluster import THREADS

# The order is that of the help.
# isort: off
from dancfr.cli import (  # noqa: F401
    train,
    evaluate,
    tournament,
    report,
    reproduce,
    exploit,
    solve,
    status,
    serve,
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
"""What typer makes of Ctrl-C."""


def main(arguments: list[str] | None = None) -> None:
    """Runs a command and ends the process: exit code 0 done, 1 failed, 2 wrong use."""
    _limit_threads()
    sys.exit(_run(arguments))


def _limit_threads() -> None:
    """Makes NumPy, torch and Numba compute on one thread, unless the environment asks for more.

    Every command computes on one core, or in Ray's actors, which have a core each. BLAS would otherwise start a thread
    for every core, whose waiting costs more than they compute where other processes need the cores too. Must run before
    NumPy is imported.
    """
    wanted = os.environ.get("OMP_NUM_THREADS", "1")  # which BLAS libraries use where their own variable is not set
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
        return _fail("aborted; of a run, what the last checkpoint holds is kept", 1)
    except BrokenPipeError:  # whoever read the output has gone, as in `dancfr presets | head -1`
        sys.stderr.close()
        return 1
    except Exception as error:
        if hasattr(error, "format_message"):  # wrong use that the parser found; help, where nothing was said
            text = error.format_message()
            warn(text if "\n" in text else f"dancfr: {text.removesuffix('.')} (see dancfr --help)")
            return 2
        raise


def _fail(message: str, code: int) -> int:
    warn(f"dancfr: {' '.join(message.split())}")
    return code
