"""Games recorded as text files, one line for each message."""

import re
from collections.abc import Sequence
from pathlib import Path

from dancfr.errors import UsageError, reason, warn

_NAME = re.compile(r"game-(\d{4,})\.txt", re.ASCII)


class Recorder:
    """Writes games into a folder as ``game-0001.txt`` and so on, numbered after the files that are there already.

    Args:
        folder: Created if it does not exist. With None nothing is written.

    Raises:
        UsageError: The folder cannot be created or written.
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
        """Writes a game and returns the name of its file; None, after a warning, if the file cannot be written."""
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
