"""Starts a program that reads the record of a run beside its training, such as the one for Weights & Biases.

The training starts the process and waits for its end; there is no other communication. Rows reach the program through
`metrics.jsonl` (see `dancfr.watch.beside`), so it can neither block nor end a training. In the same process W&B
could: `wandb.Run.log` does not return while W&B's service hangs.
"""

import os
import subprocess
import sys
import tempfile
from typing import IO

from actors.packages import python_path
from dancfr.errors import reason, warn
from dancfr.runs.run import Run

NOTE = "note: "
"""Begins the lines on standard error that the training is to show as warnings, although the program has not failed."""

FINISH_TIMEOUT_S = 60.0
"""The end of a training waits at most this long for each of its readers."""


class ReaderProcess:
    """A process that reads a run. If it fails, one line of warning is printed and the training continues.

    Args:
        name: Name of what it feeds, for the warning.
        module: Its program, a module that is called with the run's folder and the arguments.
        run: The run, locked by this process.
        arguments: Further arguments.
    """

    def __init__(self, name: str, module: str, run: Run, *arguments: str) -> None:
        self._name = name
        self._record = run.metrics.path
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        command = [sys.executable, "-P", "-m", module, str(run.path.absolute()), *arguments]
        try:
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (a pipe would have to be read meanwhile)
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,  # its end is the end of the training, even of one that is killed
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env=os.environ | python_path(),
                start_new_session=True,  # Ctrl-C is for the training
            )
        except OSError as error:
            self._give_up(reason(error))

    def check(self) -> None:
        """Warns once if the process has ended before the training."""
        if self._process is not None and self._process.poll() is not None:
            self._give_up(self._last_line())

    def finish(self, exit_code: int) -> None:
        """Ends the process; waits at most `FINISH_TIMEOUT_S` until it has read and sent everything."""
        if self._process is None:
            return
        try:
            self._process.communicate(str(exit_code).encode(), timeout=FINISH_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            self._give_up(f"no answer within {FINISH_TIMEOUT_S:g} s")
        else:
            if self._process.returncode != 0:
                self._give_up(self._last_line())
            for line in self._lines():
                if line.startswith(NOTE):
                    warn(f"warning: {self._name}: {line.removeprefix(NOTE)}; {self._record} has everything")

    def _give_up(self, why: str) -> None:
        self._process = None
        warn(f"warning: {self._name} failed ({why}); the run continues, {self._record} has everything")

    def _last_line(self) -> str:
        """Returns the last line that the process wrote to standard error, which says why it ended."""
        return (self._lines() or ["its process ended"])[-1]

    def _lines(self) -> list[str]:
        """Returns the lines that the process has written to standard error."""
        if self._errors is None:
            return []
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace").strip().splitlines()
