"""Games that `dancfr serve geister` has recorded, both players' conversations, as recordings of this program."""

import re
from pathlib import Path

from dancfr.errors import UsageError, reason
from dancfr.runs.recorded_games import MOST_BYTES as LARGEST
from dancfr.runs.recorded_games import Header, MoveLine, Player, Recording, check_size, is_record, read_record
from dancfr.serve.geister.protocol import REFUSED, read_move, read_set
from dancfr.serve.geister.referee import PLY_LIMIT, SIDEWAYS
from dancfr.serve.position import Position
from envs.game import IllegalAction
from envs.geister import Geister
from envs.geister.rules import ESCAPE_DIRECTION, layouts

MOST_BYTES = 2**20
"""Largest file that is read."""

_LINE = re.compile(r"([01])([<>]) ?(.*)", re.ASCII)


def read_any_record(path: Path) -> Recording:
    """Reads a recorded game, whichever command has written it.

    Raises:
        UsageError: the file is no recorded game.
    """
    check_size(path, LARGEST)
    if is_record(path) or not _is_conversation(path):
        return read_record(path)
    return read_conversation(path)


def _is_conversation(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return re.match(rb"[01][<>] ", file.readline(80)) is not None
    except OSError:
        return False


def read_conversation(path: Path) -> Recording:
    """Reads a game of Geister in the lines of the competition's protocol, from the choice of colours on.

    Raises:
        UsageError: the file cannot be read, or a player has not chosen colours.
    """
    check_size(path, MOST_BYTES)
    try:
        lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError as error:
        raise UsageError(f"{path}: {reason(error)}") from None
    reds: list[int | None] = [None, None]
    moves: list[tuple[int, int, int]] = []  # player, ghost, direction
    for player, text in _accepted(lines):
        if (move := read_move(text)) is not None:
            moves.append((player, *move))
        elif reds[player] is None:
            reds[player] = read_set(text)
    if None in reds:
        raise UsageError(f"{path} is no recorded game: a player has not chosen colours")
    options = {"ply_limit": max(PLY_LIMIT, len(moves)), "random_setup": False, "forced_escape": False}
    header = Header(
        format="dancfr-game",
        version=1,
        game="geister",
        options=options,
        seed=0,
        players=[Player(kind="user", name=f"player {player}") for player in (0, 1)],
    )
    chosen = layouts(6).tolist()
    setup = [MoveLine(ply=player, player=player, action=chosen.index(reds[player])) for player in (0, 1)]
    return Recording(header, *_played(Geister(**options), setup, moves))  # type: ignore[arg-type]


def _accepted(lines: list[str]) -> list[tuple[int, str]]:
    """What the players have sent, in this order, without what the server has refused.

    The answer to a player may come after the next line of the other.
    """
    sent: list[tuple[int, str] | None] = []
    last = [-1, -1]  # place of each player's line that has no answer yet
    for line in lines:
        if (found := _LINE.fullmatch(line)) is None:
            continue
        player, text = int(found[1]), found[3]
        if found[2] == ">":
            last[player] = len(sent)
            sent.append((player, text))
        elif last[player] >= 0:
            if text[:2] == REFUSED[:2]:
                sent[last[player]] = None
            last[player] = -1
    return [each for each in sent if each is not None]


def _played(game: Geister, setup: list[MoveLine], moves: list[tuple[int, int, int]]) -> tuple[list[MoveLine], str]:
    """The moves as actions of the rules, which have one way off the board at an exit; what is wrong with the rest."""
    position, found = Position(game, 0), list(setup)
    for line in setup:
        position.play(line.action)
    for player, ghost, direction in moves:
        if (int(position.states["square"][0, player, ghost]), direction) in SIDEWAYS:
            direction = ESCAPE_DIRECTION
        try:
            if player != position.mover:
                raise IllegalAction(f"player {player} is not to move")
            position.play(4 * ghost + direction)
        except IllegalAction as error:
            return found, str(error)
        found.append(MoveLine(ply=position.ply - 1, player=player, action=4 * ghost + direction))
    return found, ""


__all__ = ["read_any_record", "read_conversation"]
