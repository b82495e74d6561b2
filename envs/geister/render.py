"""One game of Geister as text and as a picture.

A spectator sees every colour, with player 0 at the bottom. A player sees their own side at the bottom; the colours of
the opponent's ghosts on the board are hidden until the game ends.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from PIL import Image, ImageDraw

from envs.drawing import Picture, sprite
from envs.geister import rules

UNKNOWN = 2  # beside the colours rules.BLUE and rules.RED
CELL = 48  # pixels a square

_PAPER, _LINE, _DARK, _LIGHT = (233, 228, 216), (170, 162, 146), (52, 50, 46), (250, 249, 245)
_STRIP = (96, 93, 86)
_COLOURS = {rules.BLUE: (66, 120, 196), rules.RED: (204, 74, 62), UNKNOWN: (140, 140, 146)}


@dataclass(frozen=True)
class Piece:
    """A ghost as the viewer sees it.

    Attributes:
        owner: Player who owns it.
        ghost: Number of the ghost, 0 .. 7.
        colour: rules.BLUE, rules.RED, or UNKNOWN if hidden from the viewer.
        cell: Column and row on the drawn board; None off the board.
        escaped: Whether it left through an exit (otherwise, off the board, it was taken).
    """

    owner: int
    ghost: int
    colour: int
    cell: tuple[int, int] | None
    escaped: bool


def seen(state: np.void, size: int, view: int | None) -> list[Piece]:
    """Lists all ghosts of one game as the spectator (None) or a player sees them; those of player 0 come first."""
    if view not in (None, 0, 1):
        raise ValueError(f"view must be None, 0 or 1, got {view!r}")
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
    """Describes a game in one line: the ply, and the player to move or the result."""
    ply = f"ply {state['ply']} of {ply_limit}"
    if state["ending"] != rules.RUNNING:
        winner = f"player_{state['winner']} wins" if state["winner"] >= 0 else "a draw"
        return f"{ply}: {winner} ({rules.ENDINGS[state['ending']]})"
    return f"{ply}, player_{state['to_move']} {'moves' if state['placed'] == 2 else 'chooses a layout'}"


def ansi(state: np.void, size: int, ply_limit: int, view: int | None = None) -> str:
    """Renders one game as text.

    A ghost is a letter, in upper case for the player at the bottom, and its colour, ``b``, ``r`` or ``?``. Empty exits
    are ``^^`` (of the player at the bottom) and ``vv``.
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


@cache
def _ghost(colour: int, pixels: int, upright: bool) -> Image.Image:
    """Draws a ghost, a head on a widening body; those of the side above are upside down with a light outline."""

    def paint(draw: ImageDraw.ImageDraw, scale: int) -> None:
        unit = pixels * scale
        for grow, ink in ((0.05, _DARK if upright else _LIGHT), (0.0, _COLOURS[colour])):
            draw.circle((0.5 * unit, 0.33 * unit), (0.17 + grow) * unit, fill=ink)
            top, foot, neck, base = 0.4 - grow, 0.84 + grow, 0.14 + 0.72 * grow, 0.264 + 1.28 * grow
            body = [(0.5 - neck, top), (0.5 + neck, top), (0.5 + base, foot), (0.5 - base, foot)]
            draw.polygon([(x * unit, y * unit) for x, y in body], fill=ink)

    shape = sprite(pixels, pixels, paint)
    return shape if upright else shape.transpose(Image.Transpose.FLIP_TOP_BOTTOM)


def _draw_board(draw: ImageDraw.ImageDraw, top: int, size: int) -> None:
    """Draws the squares, and an arrow in each corner that points off the board."""
    edge = size * CELL - 1
    draw.rectangle((0, top, edge, top + edge), fill=_PAPER)
    for line in (min(i * CELL, edge) for i in range(size + 1)):
        draw.line((line, top, line, top + edge), fill=_LINE)
        draw.line((0, top + line, edge, top + line), fill=_LINE)
    tip, wing, length = CELL // 12, CELL // 5, CELL // 5
    for middle in (CELL // 2, edge - CELL // 2):
        for y, down in ((top + tip, length), (top + edge - tip, -length)):
            draw.polygon([(middle, y), (middle - wing, y + down), (middle + wing, y + down)], fill=_LINE)


def rgb_array(state: np.void, size: int, ply_limit: int, view: int | None = None) -> Picture:
    """Draws one game, `uint8[(size + 1) * CELL + 4, size * CELL, 3]`.

    Strips above and below the board show the ghosts that each side lost; the strip of the player to move is lighter.
    The line at the bottom grows with the plies.
    """
    bottom = view or 0
    strip, width = CELL // 2, size * CELL
    image = Image.new("RGB", (width, width + 2 * strip + 4), _DARK)
    draw = ImageDraw.Draw(image)
    running = state["ending"] == rules.RUNNING
    strips = {1 - bottom: 0, bottom: strip + width}
    for player, top in strips.items():
        moving = running and state["to_move"] == player
        draw.rectangle((0, top, width, top + strip - 1), fill=_LINE if moving else _STRIP)
    _draw_board(draw, strip, size)
    lost = [0, 0]
    for piece in seen(state, size, view):
        if piece.cell is not None:
            pixels, left, top = CELL, piece.cell[0] * CELL, strip + piece.cell[1] * CELL
        else:
            pixels, left, top = strip, lost[piece.owner] * strip, strips[piece.owner]
            lost[piece.owner] += 1
        ghost = _ghost(piece.colour, pixels, piece.owner == bottom)
        image.paste(ghost, (left, top), ghost)
    progress = round(width * min(1.0, int(state["ply"]) / ply_limit))
    if progress:
        draw.rectangle((0, image.height - 4, progress - 1, image.height - 1), fill=_LIGHT)
    return np.array(image)
