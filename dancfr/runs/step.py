"""The file `step.json` of a run: the step of the start, or of a recovery, that its process takes now."""

import json
import time
from contextlib import suppress
from pathlib import Path

from dancfr.runs.folder import write_json

FILE = "step.json"


def write_step(path: Path, name: str | None) -> None:
    """Notes in the folder of a run that its process begins a step; None removes the note.

    A note that cannot be written is left out: a training does not end for it.
    """
    with suppress(OSError):
        if name is None:
            (path / FILE).unlink(missing_ok=True)
        else:
            write_json(path / FILE, {"step": name, "since": time.time()})


def read_step(path: Path) -> tuple[str, float] | None:
    """Returns the step that was begun last, and seconds since then; None if there is no readable note.

    The note of a process that was killed stays until the run is resumed.
    """
    try:
        found = json.loads((path / FILE).read_bytes())
        return str(found["step"]), max(0.0, time.time() - float(found["since"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
