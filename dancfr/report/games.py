"""Recorded games of a run's agents, as rows of a table."""

import os
import shlex
from pathlib import Path

from dancfr.errors import UsageError
from dancfr.methods.agent_name import parse_name
from dancfr.runs.recorded_games import Recording, is_record, read_record

MOST_GAMES = 20

FOLDER = "games"
"""Folder of the records, beside the runs or within one."""


def games_of(run: Path) -> list[tuple[str, ...]]:
    """Returns the newest recorded games in which agents of a run have played: date, players, result, moves, command."""
    files = {file.resolve(): file for folder in (run, run.parent) for file in (folder / FOLDER).glob("*.jsonl")}
    rows: list[tuple[str, ...]] = []
    for file in sorted(files.values(), key=_written_at, reverse=True):
        if len(rows) == MOST_GAMES:
            break
        if not is_record(file):
            continue
        try:
            recording = read_record(file)
        except UsageError:  # a damaged file, which `dancfr replay` reports
            continue
        if any(_is_of(player.name, run) for player in recording.header.players if player.kind == "agent"):
            rows.append(_row(file, recording))
    return rows


def _written_at(file: Path) -> float:
    """When a file was written; 0 if it is gone, or a link to a file that is."""
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _is_of(agent: str, run: Path) -> bool:
    """Whether the name of an agent, such as ``runs/x@40``, is that of a strategy of a run."""
    try:
        base = parse_name(agent).base
    except UsageError:
        return False
    return os.path.realpath(base) == os.path.realpath(run)


def _row(file: Path, recording: Recording) -> tuple[str, ...]:
    header, end = recording.header, recording.end
    players = ", ".join(f"{seat}: {player.name}" for seat, player in enumerate(header.players))
    result = "not finished" if end is None else f"{end.end}: {', '.join(f'{each:g}' for each in end.returns)}"
    return header.started, players, result, str(len(recording.moves)), shlex.join(["dancfr", "replay", str(file)])
