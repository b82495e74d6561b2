"""Games as files: every line of both players, as ``0<`` from the server to player 0 and ``0>`` from player 0."""

import re
from collections.abc import Sequence
from pathlib import Path

from dancfr.errors import UsageError, reason, warn

_NAME = re.compile(r"game-(\d{4,})\.txt", re.ASCII)


class Recorder:
    """Writes games into a folder, numbered on from those that are there.

    Args:
        folder: Made if it is not there; None writes nothing.

    Raises:
        UsageError: no folder can be made there, or nothing be written into it.
    """

    def __init__(self, folder: str | Path | None) -> None:
        self._folder = None if folder is None else Path(folder)
        self._number = 0
        if self._folder is None:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            taken = [_NAME.fullmatch(entry.name) for entry in self._folder.iterdir()]
            probe = self._folder / ".writable"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise UsageError(f"--records {folder}: {reason(error)}: name a folder that can be written") from None
        self._number = max((int(match[1]) for match in taken if match), default=0)

    def write(self, lines: Sequence[str]) -> str | None:
        """Writes a game; the file, or None where none was written. A full disk ends no game: it is told."""
        if self._folder is None:
            return None
        self._number += 1
        file = self._folder / f"game-{self._number:04d}.txt"
        try:
            with file.open("x", encoding="ascii", newline="\n") as out:
                out.writelines(f"{line}\n" for line in lines)
        except OSError as error:
            warn(f"{file}: {reason(error)}: this game is not recorded")
            return None
        return str(file)
