"""Lines of the Geister competition: the players' lines, and the 48 characters that show a board.

A board string has three characters for each of sixteen ghosts, the receiver's A-H and then the opponent's: column and
row in the receiver's view (``99`` captured, ``88`` escaped), and the colour (``R`` or ``B`` own and hidden, ``r`` or
``b`` known to both, ``u`` unknown).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dancfr.serve.messages import ProtocolError
from envs.geister.rules import CAPTURED, DIRECTIONS, ESCAPED, GHOSTS

SIZE, AREA = 6, 36
LETTERS = "ABCDEFGH"
BOARD_LENGTH = 2 * GHOSTS * 3
MAX_LINE_BYTES = 64
"""Longest line from a player, including its end; the longest of the protocol has 13 bytes."""

SETUP_REQUEST, MOVE_REQUEST = "SET?", "MOV?"
ACCEPTED, REFUSED = "OK ", "NG "
WON, LOST, DRAWN = "WON:", "LST:", "DRW:"

_SET = re.compile(r"SET:([A-H]{4})", re.IGNORECASE | re.ASCII)
_MOVE = re.compile(r"MOV:([A-H]),(NORTH|EAST|WEST|SOUTH|[NEWS])", re.IGNORECASE | re.ASCII)
_GHOST = re.compile(r"(?:([0-5])([0-5])|(99)|(88))([RrBbu])", re.ASCII)
_OFF = {CAPTURED: "99", ESCAPED: "88"}


def read_set(text: str) -> int | None:
    """The red ghosts named by ``SET:ABCD``, as bits; None if the line does not name four different ghosts."""
    match = _SET.fullmatch(text)
    letters = set(match[1].upper()) if match else set()
    return sum(1 << LETTERS.index(letter) for letter in letters) if len(letters) == 4 else None


def write_set(reds: int) -> str:
    """The line that chooses the red ghosts, given as bits."""
    return "SET:" + "".join(letter for ghost, letter in enumerate(LETTERS) if reds >> ghost & 1)


def is_move(text: str) -> bool:
    """Whether a line looks like a move, even a malformed one."""
    return text[:4].upper() == "MOV:"


def read_move(text: str) -> tuple[int, int] | None:
    """Ghost and direction of ``MOV:A,NORTH`` or ``mov:a,n``; None if the line is not a move."""
    match = _MOVE.fullmatch(text)
    if match is None:
        return None
    direction = match[2].upper()[0]
    return LETTERS.index(match[1].upper()), next(i for i, name in enumerate(DIRECTIONS) if name[0] == direction)


def write_move(action: int) -> str:
    """The line for an action of the rules."""
    return f"MOV:{LETTERS[action // 4]},{DIRECTIONS[action % 4]}"


def write_board(state: np.void, player: int, chosen: Sequence[bool] = (True, True), reveal: bool = False) -> str:
    """The board as a player sees it.

    Args:
        state: A record of `envs.geister.rules.STATE`.
        player: The receiver.
        chosen: Which players have chosen their colours; the ghosts of the others are shown as unknown.
        reveal: Show the opponent's colours too, as at the end of a game.
    """
    parts = []
    for owner in (player, 1 - player):
        for ghost in range(GHOSTS):
            square = int(state["square"][owner, ghost])
            colour = "br"[int(state["red"][owner]) >> ghost & 1] if chosen[owner] else "u"
            if square < 0:
                parts.append(_OFF[square] + colour)
                continue
            if owner == player:
                colour = colour.upper() if chosen[owner] else colour
            else:
                square = AREA - 1 - square
                colour = colour if reveal else "u"
            parts.append(f"{square % SIZE}{square // SIZE}{colour}")
    return "".join(parts)


@dataclass(frozen=True)
class Board:
    """A board string that has been read and checked.

    Attributes:
        squares: Squares of the receiver's and the opponent's ghosts in the receiver's view, or CAPTURED, `int8[2, 8]`.
        red: Which of the receiver's ghosts are red, `bool[8]`.
        taken_red: Which of the opponent's ghosts are captured and red, `bool[8]`.
    """

    squares: NDArray[np.int8]
    red: NDArray[np.bool_]
    taken_red: NDArray[np.bool_]

    @classmethod
    def read(cls, text: str) -> "Board":
        """Reads the board of a running game.

        Colours of the opponent's ghosts that are still on the board are ignored, in case the server reveals them.

        Raises:
            ProtocolError: The text is not such a board.
        """
        if len(text) != BOARD_LENGTH:
            raise ProtocolError("board", f"{BOARD_LENGTH} characters were expected, got {len(text)}")
        squares = np.empty((2, GHOSTS), np.int8)
        red = np.zeros((2, GHOSTS), np.bool_)
        for place in range(2 * GHOSTS):
            owner, ghost = divmod(place, GHOSTS)
            part = text[3 * place : 3 * place + 3]
            match = _GHOST.fullmatch(part)
            if match is None or match[4]:
                raise ProtocolError(f"ghost {place + 1} of the board", f"{part!r} is not a ghost of a running game")
            colour = match[5].lower()
            squares[owner, ghost] = CAPTURED if match[3] else SIZE * int(match[2]) + int(match[1])
            if colour == "u" and (owner == 0 or match[3]):
                raise ProtocolError(f"ghost {place + 1} of the board", f"the colour of {part!r} is missing")
            red[owner, ghost] = colour == "r" and (owner == 0 or squares[owner, ghost] == CAPTURED)
        board = cls(squares, red[0], red[1])
        board._check()
        return board

    def _check(self) -> None:
        taken = self.squares == CAPTURED
        standing = self.squares[~taken]
        if len(set(standing.tolist())) < len(standing):
            raise ProtocolError("board", "two ghosts stand on one square")
        if self.red.sum() != 4:
            raise ProtocolError("board", f"four own red ghosts were expected, got {self.red.sum()}")
        for reds, gone in ((self.red & taken[0], taken[0]), (self.taken_red, taken[1])):
            if reds.sum() > 3 or gone.sum() - reds.sum() > 3:
                raise ProtocolError("board", "all ghosts of a colour are captured, so the game has ended")
