"""The folder of a league.

league.json     game, options, seed, size of a batch, and members
games.jsonl     the results, one batch of games of a pair a line; lines are only ever added
ratings.json    ratings, win rates of all pairs, and the pairs that play next
matrix.png      the win rates as a picture
run.lock        locked by the process that plays
"""

import json
from pathlib import Path
from typing import Any, Self

from dancfr.agents.league.config import LeagueConfig, Result
from dancfr.errors import RunError, UsageError, reason, warn
from dancfr.runs.folder import write_json
from dancfr.runs.lock import is_lock, take_lock
from dancfr.runs.metrics import MetricsLog, plain

CONFIG, GAMES, RATINGS = "league.json", "games.jsonl", "ratings.json"


class LeagueFolder:
    """The folder of a league, locked until `close` or the end of a `with` block.

    Args:
        path: The folder, which is made if it does not exist.

    Raises:
        UsageError: another process has locked the folder, or it cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._lock = take_lock(path)
        except OSError as error:
            raise UsageError(f"cannot write to the folder {path}: {reason(error)}") from None
        self._log = MetricsLog(path / GAMES)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Unlocks the folder."""
        self._lock.release()

    def write(self, name: str, content: dict[str, Any]) -> Path:
        """Writes a JSON file in one atomic step and returns its path.

        Raises:
            RunError: the file cannot be written; an earlier file of that name is unchanged.
        """
        path = self.path / name
        try:
            write_json(path, plain(content))
        except OSError as error:
            raise RunError(f"cannot write {path}: {reason(error)}") from None
        return path

    def write_config(self, config: LeagueConfig) -> None:
        """Writes `league.json`; see `write`."""
        self.write(CONFIG, config.model_dump(mode="json"))

    def append(self, result: Result) -> None:
        """Adds a result to `games.jsonl`, which is in the file when the call returns.

        Raises:
            RunError: the file cannot be written.
        """
        self._log.append(result.model_dump(mode="json"))
        if self._log.waiting:
            raise RunError(f"cannot write {self._log.path}: make room and run the same command again")

    def results(self) -> list[Result]:
        """Returns all results in the order of play, without lines that are incomplete; says how many these are.

        A kill may leave one.

        Raises:
            UsageError: the file cannot be read, or a line is not a result.
        """
        source = str(self._log.path)
        try:
            if torn := self._log.unreadable():
                warn(f"warning: {source}: {torn} lines cannot be read, and their games do not count")
            return [Result.from_json(row, source, ignore_unknown=True) for row in self._log.rows()]
        except OSError as error:
            raise UsageError(f"cannot read {source}: {reason(error)}") from None


def read_config(path: Path) -> LeagueConfig | None:
    """Reads `league.json` of a folder; None if it does not exist, and the folder is new or empty.

    Raises:
        UsageError: the file cannot be read or is damaged, or the folder contains something else.
    """
    file = path / CONFIG
    try:
        content = json.loads(file.read_bytes())
    except FileNotFoundError:
        if path.is_dir() and any(not is_lock(entry.name) for entry in path.iterdir()):
            raise UsageError(f"{path} holds no league and is not empty: choose another folder") from None
        return None
    except NotADirectoryError:
        raise UsageError(f"{path} is a file: choose another folder") from None
    except OSError as error:
        raise UsageError(f"cannot read {file}: {reason(error)}") from None
    except ValueError:
        raise UsageError(f"{file} is damaged: it is not JSON") from None
    return LeagueConfig.from_json(content, str(file))
