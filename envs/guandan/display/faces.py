"""Pictures of single playing cards."""

from functools import cache
from math import cos, pi, sin

from PIL import Image, ImageDraw

from envs.drawing import Colour, font, sprite

WIDTH, HEIGHT = 62, 88
"""Size of a card in pixels."""
STEP, STEP_DOWN = 34, 22
"""Offset to the next card of an overlapping row or column; that much of a card shows its rank and suit."""

_PAPER, _GOLDEN, _EDGE = (252, 251, 246), (255, 224, 130), (88, 88, 92)
_RED, _BLACK, _STAR_INK = (200, 36, 44), (28, 30, 36), (176, 112, 0)
_BACK, _BACK_LINE = (58, 88, 148), (104, 134, 192)

Point = tuple[float, float]
Box = tuple[float, float, float]  # left, top, size


def _heart_outline() -> list[Point]:
    """The outline of a heart in the unit square (the well-known curve with x = sin^3 t)."""
    turns = [2 * pi * i / 72 for i in range(72)]
    heights = [13 * cos(t) - 5 * cos(2 * t) - 2 * cos(3 * t) - cos(4 * t) for t in turns]
    return [(0.5 + 0.5 * sin(t) ** 3, (12 - height) / 29) for t, height in zip(turns, heights, strict=True)]


def _star_outline() -> list[Point]:
    """The outline of a five-pointed star in the unit square."""
    radii = [0.5 if corner % 2 == 0 else 0.2 for corner in range(10)]
    return [(0.5 + r * sin(pi * i / 5), 0.5 - r * cos(pi * i / 5)) for i, r in enumerate(radii)]


_HEART, _STAR = _heart_outline(), _star_outline()
_DIAMOND = [(0.5, 0.0), (0.9, 0.5), (0.5, 1.0), (0.1, 0.5)]
_SPADE_LEAF = [(x, 0.82 * (1 - y)) for x, y in _HEART]
_FOOT = [(0.46, 0.5), (0.54, 0.5), (0.56, 0.8), (0.68, 1.0), (0.32, 1.0), (0.44, 0.8)]  # of spades and clubs
_LEAVES = [(0.5, 0.2), (0.21, 0.6), (0.79, 0.6)]  # centres of the three circles of a club


def _draw_symbol(draw: ImageDraw.ImageDraw, name: str, box: Box, ink: Colour) -> None:
    """Draws a suit, ``S``, ``H``, ``C`` or ``D``, or a star, ``*``, into a square."""
    left, top, size = box

    def fill(outline: list[Point]) -> None:
        draw.polygon([(left + size * x, top + size * y) for x, y in outline], fill=ink)

    if name == "C":
        for x, y in _LEAVES:
            draw.circle((left + size * x, top + size * y), 0.21 * size, fill=ink)
        fill([(0.35, 0.4), (0.65, 0.4), (0.5, 0.75)])  # between the leaves
    else:
        fill({"H": _HEART, "D": _DIAMOND, "S": _SPADE_LEAF, "*": _STAR}[name])
    if name in "SC":
        fill(_FOOT)


def _draw_blank(draw: ImageDraw.ImageDraw, scale: int, paper: Colour) -> None:
    """Draws a card without a face: rounded paper with a thin edge."""
    corner = WIDTH * scale - 1, HEIGHT * scale - 1
    draw.rounded_rectangle((0, 0, *corner), 7 * scale, fill=paper, outline=_EDGE, width=scale)


@cache
def face(card: str, wild: bool) -> Image.Image:
    """The face of a card such as ``H9``, an image of `WIDTH` x `HEIGHT` pixels; golden and with a star if it is wild.

    The upper left corner alone identifies the card.
    """
    ink = _RED if card[0] in "HD" else _BLACK

    def paint(draw: ImageDraw.ImageDraw, scale: int) -> None:
        _draw_blank(draw, scale, _GOLDEN if wild else _PAPER)
        joker = card in ("SB", "HR")
        label, size = (card, 18) if joker else (card[1], 21)
        draw.text((4 * scale, 19 * scale), label, fill=ink, font=font(size * scale), anchor="ls", stroke_width=2)
        if joker:
            _draw_symbol(draw, "*", (11 * scale, 36 * scale, 40 * scale), ink)
            return
        _draw_symbol(draw, card[0], (18 * scale, 5 * scale, 15 * scale), ink)
        _draw_symbol(draw, card[0], (13 * scale, 40 * scale, 36 * scale), ink)
        if wild:
            _draw_symbol(draw, "*", (43 * scale, 5 * scale, 14 * scale), _STAR_INK)

    return sprite(WIDTH, HEIGHT, paint)


@cache
def back() -> Image.Image:
    """The back of every card: a white margin around a woven pattern."""
    card = sprite(WIDTH, HEIGHT, lambda draw, scale: _draw_blank(draw, scale, _PAPER))
    woven = Image.new("RGB", (WIDTH - 8, HEIGHT - 8), _BACK)
    draw = ImageDraw.Draw(woven)
    for left in range(-HEIGHT, WIDTH, 8):
        draw.line((left, 0, left + HEIGHT, HEIGHT), _BACK_LINE)
        draw.line((left, HEIGHT, left + HEIGHT, 0), _BACK_LINE)
    card.paste(woven, (4, 4))
    return card


def lay(picture: Image.Image, card: str | None, top: int, left: int, wild: bool = False) -> None:
    """Puts a card onto a picture, face down if `card` is None."""
    shown = back() if card is None else face(card, wild)
    picture.paste(shown, (left, top), shown)


__all__ = ["HEIGHT", "STEP", "STEP_DOWN", "WIDTH", "face", "lay"]
