"""Games as JSON Lines: a header, a line for each move as it is made, and the result.

```
{"format": "dancfr-game", "version": 1, "game": "leduc", "options": {}, "seed": 7, "players": [...], ...}
{"ply": 0, "player": 0, "action": 1, "label": "call", "ms": 812}
{"end": "over", "returns": [-1.0, 1.0], "plies": 4}
```

The seed and the actions determine the game. A game that was not finished has no last line.
"""

import json
import stat
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dancfr import __version__
from dancfr.errors import UsageError, reason, warn

MOST_BYTES = 64 * 2**20
"""Largest file that is read."""


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class Player(_Line):
    """Who sat in a seat; `version` is that of an agent's program and weights."""

    kind: Literal["user", "agent"]
    name: str = Field(max_length=1000)
    version: str = Field("", max_length=200)


class Header(_Line):
    """The first line: the rules, the seeds of all chance (see `dancfr.serve.position`), and the players by seat."""

    format: Literal["dancfr-game"]
    version: Literal[1]
    game: str = Field(max_length=1000)
    options: dict[str, Any]
    seed: int = Field(ge=0)
    deal: int | None = Field(None, ge=0, lt=2**64)
    players: list[Player] = Field(min_length=1, max_length=16)
    started: str = Field("", max_length=100)
    dancfr: str = Field("", max_length=100)


class MoveLine(_Line):
    """A move, with the milliseconds that it took."""

    ply: int
    player: int
    action: int | dict[str, int]
    ms: int = 0


class EndLine(_Line):
    """The last line: how the game has ended, and the return of each player."""

    end: str
    returns: list[float]
    plies: int


class Recording:
    """A game that was read.

    Attributes:
        header: Its first line.
        moves: Its moves.
        damage: What is wrong with the lines after these moves; empty if nothing is.
        end: Its last line; None if the game was not finished, or was not recorded to its end.
    """

    def __init__(self, header: Header, moves: list[MoveLine], damage: str = "", end: EndLine | None = None) -> None:
        self.header, self.moves, self.damage, self.end = header, moves, damage, end


class Writer:
    """Appends a game to a file of its own, line by line, so that a stopped server has lost nothing.

    Args:
        folder: Where to write, made if need be; None writes nothing.

    Attributes:
        path: The file; None if nothing is written.
    """

    def __init__(
        self,
        folder: Path | None,
        game: str,
        options: dict[str, Any],
        seed: int,
        players: Sequence[Player],
        deal: int | None = None,
    ) -> None:
        self.path: Path | None = None
        if folder is None:
            return
        now = datetime.now(UTC)
        stem = "".join(c if c.isalnum() or c in "-_" else "-" for c in game)[:60]
        for attempt in range(1, 10_000):
            path = folder / f"{stem}-{now:%Y%m%d-%H%M%S}-{attempt}.jsonl"
            try:
                path.touch(exist_ok=False)
            except FileExistsError:
                continue
            except OSError as error:
                warn(f"{path}: {reason(error)}: this game is not recorded")
                return
            self.path = path
            break
        header = Header(
            format="dancfr-game",
            version=1,
            game=game,
            options=options,
            seed=seed,
            deal=deal,
            players=list(players),
            started=now.isoformat(timespec="seconds"),
            dancfr=__version__,
        )
        self._append(header.model_dump())

    def move(self, ply: int, player: int, action: int | dict[str, int], label: str, ms: int) -> None:
        """Writes a move."""
        self._append({"ply": ply, "player": player, "action": action, "label": label, "ms": ms})

    def end(self, ending: str, returns: Sequence[float], plies: int) -> None:
        """Writes the result."""
        self._append({"end": ending, "returns": list(returns), "plies": plies})

    def _append(self, line: dict[str, Any]) -> None:
        if self.path is None:
            return
        try:
            with self.path.open("a", encoding="utf-8", newline="\n") as out:
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
        except OSError as error:
            warn(f"{self.path}: {reason(error)}: the rest of this game is not recorded")
            self.path = None


def check_folder(folder: Path | None) -> None:
    """Makes the folder of the records.

    Raises:
        UsageError: it cannot be made or written to.
    """
    if folder is None:
        return
    probe = folder / ".writable"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise UsageError(f"--records {folder}: {reason(error)}: name a folder that can be written") from None


def is_record(path: Path) -> bool:
    """Whether a file begins like a record of this kind."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return b'"dancfr-game"' in file.readline(4096)
    except OSError:
        return False


def check_size(path: Path, most: int) -> None:
    """Checks that a path is a file of at most `most` bytes. Reading a pipe or a device might never end.

    Raises:
        UsageError: it is not.
    """
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {reason(error) if isinstance(error, OSError) else error}") from None
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(f"{path} is not a file: name the file of a recorded game")
    if found.st_size > most:
        raise UsageError(f"{path} is larger than {most // 2**20} MiB: it is not a recorded game")


def read_record(path: Path) -> Recording:
    """Reads a file of `Writer`, up to the first damaged line.

    Raises:
        UsageError: there is no such file, or its first line is not that of a game.
    """
    check_size(path, MOST_BYTES)
    try:
        lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")  # a text may contain other ends of lines
    except OSError as error:
        raise UsageError(f"{path}: {reason(error)}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not a recorded game: it is not text") from None
    try:
        header = Header.model_validate_json(lines[0])
    except ValidationError as error:
        raise UsageError(f"{path} is not a recorded game: line 1: {_first(error)}") from None
    moves: list[MoveLine] = []
    for number, line in enumerate(lines[1:], 2):
        try:
            if line.startswith('{"end"'):
                return Recording(header, moves, end=EndLine.model_validate_json(line))
            moves.append(MoveLine.model_validate_json(line))
        except ValidationError as error:
            return Recording(header, moves, f"line {number}: {_first(error)}")
    return Recording(header, moves)


def _first(error: ValidationError) -> str:
    found = error.errors()[0]
    return f"{'.'.join(map(str, found['loc']))}: {found['msg']}" if found["loc"] else str(found["msg"])


__all__ = [
    "EndLine",
    "Header",
    "MoveLine",
    "Player",
    "Recording",
    "Writer",
    "check_folder",
    "check_size",
    "is_record",
    "read_record",
]
