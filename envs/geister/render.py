"""One game of Geister as text and as a picture of simple shapes, drawn with NumPy alone.

Both show player 0 at the bottom to a spectator, who sees every colour; to one of the players they show that
player's own side at the bottom and hide the colours of the opponent's ghosts that are still on the board,
until the game ends.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from envs.geister import rules

UNKNOWN = 2  # beside the colours rules.BLUE and rules.RED
CELL = 48  # pixels a square

_PAPER, _LINE, _DARK, _LIGHT = (233, 228, 216), (170, 162, 146), (52, 50, 46), (250, 249, 245)
_COLOURS = {rules.BLUE: (66, 120, 196), rules.RED: (204, 74, 62), UNKNOWN: (140, 140, 146)}

Picture = NDArray[np.uint8]


@dataclass(frozen=True)
class Piece:
    """A ghost as somebody sees it.

    Attributes:
        owner: Player who moves it.
        ghost: Its number, 0 .. 7.
        colour: rules.BLUE, rules.RED, or UNKNOWN to the viewer.
        cell: Column and row on the drawn board; None off the board.
        escaped: Whether it left through an exit (otherwise, off the board, it was taken).
    """

    owner: int
    ghost: int
    colour: int
    cell: tuple[int, int] | None
    escaped: bool


def seen(state: np.void, size: int, view: int | None) -> list[Piece]:
    """All ghosts of one game as the spectator (None) or a player sees them; player 0's first."""
    if view not in (None, 0, 1):
        raise ValueError(f"view must be None, 0 or 1, not {view!r}")
    bottom = view or 0
    pieces = []
    for owner in (0, 1):
        for ghost in range(len(rules.start_squares(size))):
            square = int(state["square"][owner, ghost])
            on_board = square >= 0
            colour = (int(state["red"][owner]) >> ghost) & 1
            hidden = view == 1 - owner and on_board and state["ending"] == rules.RUNNING
            if hidden or state["placed"] <= owner:  # layouts are chosen in the order of the players
                colour = UNKNOWN
            drawn = square if owner == bottom else size * size - 1 - square
            cell = (drawn % size, drawn // size) if on_board else None
            pieces.append(Piece(owner, ghost, colour, cell, square == rules.ESCAPED))
    return pieces


def headline(state: np.void, ply_limit: int) -> str:
    """What there is to say of a game in one line."""
    ply = f"ply {state['ply']} of {ply_limit}"
    if state["ending"] != rules.RUNNING:
        winner = f"player_{state['winner']} wins" if state["winner"] >= 0 else "a draw"
        return f"{ply}: {winner} ({rules.ENDINGS[state['ending']]})"
    return f"{ply}, player_{state['to_move']} {'moves' if state['placed'] == 2 else 'chooses a layout'}"


def ansi(state: np.void, size: int, ply_limit: int, view: int | None = None) -> str:
    """Text of one game.

    A ghost is its letter, upper case for the player at the bottom, and its colour, ``b``, ``r`` or ``?``.
    Empty exits are ``^^`` (of the player at the bottom) and ``vv``.
    """
    bottom = view or 0
    board = [[" ."] * size for _ in range(size)]
    board[0][0] = board[0][-1] = "^^"
    board[-1][0] = board[-1][-1] = "vv"
    lost: tuple[list[str], list[str]] = ([], [])
    escaped = ""
    for piece in seen(state, size, view):
        letter = "ABCDEFGH"[piece.ghost]
        text = (letter if piece.owner == bottom else letter.lower()) + "br?"[piece.colour]
        if piece.cell is not None:
            board[piece.cell[1]][piece.cell[0]] = text
        elif piece.escaped:
            escaped = f"  {text} escaped"
        else:
            lost[piece.owner].append(text)
    lines = [headline(state, ply_limit) + escaped, "    " + " ".join(f" {x}" for x in range(size))]
    lines += [f"  {y} " + " ".join(row) for y, row in enumerate(board)]
    for player in (1 - bottom, bottom):
        side = "below" if player == bottom else "above"
        lines.append(f"  player_{player} ({side}) lost {' '.join(lost[player]) or '-'}")
    return "\n".join(lines) + "\n"


def _pawn(pixels: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Body and outline of an upright figure, `bool[pixels, pixels]` each: a head on a widening body."""
    y, x = (np.mgrid[:pixels, :pixels] + 0.5) / pixels - 0.5

    def shape(grow: float) -> NDArray[np.bool_]:
        head = x**2 + (y + 0.17) ** 2 < (0.17 + grow) ** 2
        body = (y > -0.1 - grow) & (y < 0.34 + grow) & (np.abs(x) < 0.14 + 0.28 * (y + 0.1) + grow)
        return head | body

    return shape(0.0), shape(0.05)


def _draw_piece(picture: Picture, piece: Piece, top: int, left: int, pixels: int, upright: bool) -> None:
    """Draws into the square of `pixels` at (top, left); the side above is upside down, its outline light."""
    body, outline = _pawn(pixels)
    if not upright:
        body, outline = body[::-1], outline[::-1]
    area = picture[top : top + pixels, left : left + pixels]
    area[outline] = _DARK if upright else _LIGHT
    area[body] = _COLOURS[piece.colour]


def _draw_board(picture: Picture, top: int, size: int) -> None:
    """Squares, and an arrow in each corner that points off the board."""
    picture[top : top + size * CELL] = _PAPER
    for i in range(size + 1):
        edge = min(i * CELL, size * CELL - 1)
        picture[top : top + size * CELL, edge] = _LINE
        picture[min(top + edge, top + size * CELL - 1)] = _LINE
    y, x = (np.mgrid[:CELL, :CELL] + 0.5) / CELL
    arrow = (y > 0.08) & (y < 0.3) & (np.abs(x - 0.5) < y - 0.08)
    for left in (0, (size - 1) * CELL):
        picture[top : top + CELL, left : left + CELL][arrow] = _LINE
        last = top + (size - 1) * CELL
        picture[last : last + CELL, left : left + CELL][arrow[::-1]] = _LINE


def rgb_array(state: np.void, size: int, ply_limit: int, view: int | None = None) -> Picture:
    """Picture of one game, `uint8[(size + 1) * CELL + 4, size * CELL, 3]`.

    Strips above and below the board show the ghosts that each side lost; that of the player to move is lit.
    The line at the foot grows with the plies.
    """
    bottom = view or 0
    strip = CELL // 2
    width = size * CELL
    picture = np.empty((width + 2 * strip + 4, width, 3), np.uint8)
    picture[:] = _DARK
    running = state["ending"] == rules.RUNNING
    strips = {1 - bottom: 0, bottom: strip + width}
    for player, top in strips.items():
        picture[top : top + strip] = _LINE if running and state["to_move"] == player else (96, 93, 86)
    _draw_board(picture, strip, size)
    lost = [0, 0]
    for piece in seen(state, size, view):
        upright = piece.owner == bottom
        if piece.cell is not None:
            x, y = piece.cell
            _draw_piece(picture, piece, strip + y * CELL, x * CELL, CELL, upright)
        else:
            _draw_piece(picture, piece, strips[piece.owner], lost[piece.owner] * strip, strip, upright)
            lost[piece.owner] += 1
    picture[-4:, : round(width * min(1.0, int(state["ply"]) / ply_limit))] = _LIGHT
    return picture
