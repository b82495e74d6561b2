"""Runs Weights & Biases in a process of its own, which reads the run's record.

The training starts the process and waits for its end; there is no other communication. Rows reach W&B through
`metrics.jsonl` (see `dancfr.watch.wandb_reader`), so W&B can neither block nor end a training. In the same process it
could: `wandb.Run.log` does not return while W&B's service hangs.
"""

import os
import subprocess
import sys
import tempfile
from typing import IO, Literal

from actors.packages import python_path
from dancfr.errors import reason, warn
from dancfr.runs.run import Run
from dancfr.watch.progress import Speed

FINISH_TIMEOUT_S = 60.0
"""The end of a training waits at most this long for W&B."""


class WandbSink:
    """The process that sends a run to W&B. If it fails, one line of warning is printed and the training continues.

    Args:
        run: The run, locked by this process.
        mode: ``online`` or ``offline``.
        speed: The speed of the method, from which the speed per worker is computed.
    """

    def __init__(self, run: Run, mode: Literal["online", "offline"], speed: Speed | None = None) -> None:
        self._record = run.metrics.path
        self._process: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        command = [sys.executable, "-P", "-m", "dancfr.watch.wandb_reader", str(run.path.absolute()), mode]
        command += [] if speed is None else [speed.key, speed.unit]
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
        """Ends the W&B run; waits at most `FINISH_TIMEOUT_S` until everything is sent."""
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

    def _give_up(self, why: str) -> None:
        self._process = None
        warn(f"warning: W&B failed ({why}); the run continues, {self._record} has everything")

    def _last_line(self) -> str:
        """Returns the last line that the process wrote to standard error, which says why it ended."""
        if self._errors is not None:
            self._errors.seek(0)
            lines = self._errors.read().decode(errors="replace").strip().splitlines()
            if lines:
                return lines[-1]
        return "its process ended"
